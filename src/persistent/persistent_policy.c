#include "persistent/persistent_policy.h"

#define MS UINT64_C(1000000) // ns

bool gi_persistent_may_look(const struct gi_persistent_scene *scene)
{
    return scene->phase == GI_PERSISTENT_UNKNOWN &&
           (scene->is_hurried || scene->session_ns >= 50 * MS);
}

bool gi_persistent_may_delegate(const struct gi_persistent_scene *scene)
{
    const bool is_worth_while =
        scene->process_ns >= 1000 * MS && scene->step_ns > 0 && scene->step_ns < 10 * MS;
    return scene->phase == GI_PERSISTENT_MISSING && scene->has_delegate &&
           (scene->is_hurried || is_worth_while);
}

bool gi_persistent_may_look_again(const struct gi_persistent_scene *scene)
{
    return scene->phase == GI_PERSISTENT_DELEGATED && scene->waited_ns >= 100 * MS;
}

bool gi_persistent_may_try(const struct gi_persistent_scene *scene)
{
    const uint64_t take_ns = scene->take_ns > 0 ? scene->take_ns : 100 * MS;
    return scene->phase == GI_PERSISTENT_LOADED &&
           (scene->is_hurried || scene->session_ns >= take_ns) &&
           (scene->is_tried || scene->n_free >= GI_PERSISTENT_TRIED_STEPS);
}

bool gi_persistent_has_large_groups(uint64_t layer_bytes, uint32_t n_groups)
{
    return layer_bytes / n_groups >= 256u << 10;
}

bool gi_persistent_has_room_to_draw(uint32_t head_dim)
{
    return head_dim <= 128;
}
