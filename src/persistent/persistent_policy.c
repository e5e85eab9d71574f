#include "persistent/persistent_policy.h"

bool gi_persistent_is_worthwhile(uint64_t step_ns)
{
    return step_ns > 0 && step_ns <= 5000000;
}

bool gi_persistent_has_large_groups(uint64_t layer_bytes, uint32_t n_groups)
{
    return layer_bytes / n_groups >= 256u << 10;
}

bool gi_persistent_has_room_to_sample(uint32_t head_dim)
{
    return head_dim <= 128;
}
