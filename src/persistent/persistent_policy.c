#include "persistent/persistent_policy.h"

#include "gpu/device/device_class.h"
#include "gpu/device/settings.h"

// Returns true if groups may have this size. Without subgroups, attention has groups of 128 alone.
static bool is_possible_size(const struct gi_limits *limits, uint32_t size)
{
    return limits->subgroup_size ? size <= limits->max_invocations : size == 128;
}

static uint32_t usual_size(const struct gi_gpu *gpu)
{
    const uint32_t wanted = gi_gpu_class(gpu)->persistent.group_size;
    return is_possible_size(gi_gpu_limits(gpu), wanted) ? wanted : 128;
}

// By default what was seen to be right and faster, and can be kept once it is compiled.
bool gi_persistent_is_allowed(const struct gi_gpu *gpu)
{
    const struct gi_dispatch_setting *setting = &gi_gpu_settings(gpu)->dispatch;
    const struct gi_device_class *class = gi_gpu_class(gpu);
    const struct gi_limits *limits = gi_gpu_limits(gpu);
    const bool is_suited = class->persistent.is_default && limits->subgroup_size > 0 &&
                           limits->max_invocations >= class->persistent.group_size &&
                           limits->n_binary_formats > 0;
    return setting->is_set ? setting->takeover != GI_TAKEOVER_NEVER : is_suited;
}

void gi_persistent_check_settings(const struct gi_gpu *gpu)
{
    const struct gi_limits *limits = gi_gpu_limits(gpu);
    const uint32_t asked = gi_gpu_settings(gpu)->dispatch.group_size;
    if (gi_persistent_is_allowed(gpu) && asked > 0 && !is_possible_size(limits, asked)) {
        gi_log_write(gi_gpu_log(gpu), GLINFER_LOG_WARN,
                     "GLINFER_DISPATCH: groups of %u are not possible here and ignored: expected "
                     "%s%u",
                     asked, limits->subgroup_size ? "at most " : "",
                     limits->subgroup_size ? limits->max_invocations : usual_size(gpu));
    }
}

struct gi_persistent_policy gi_persistent_policy(const struct gi_gpu *gpu)
{
    const struct gi_dispatch_setting *setting = &gi_gpu_settings(gpu)->dispatch;
    const struct gi_device_class *class = gi_gpu_class(gpu);
    const uint32_t large = class->persistent.large_group_size;
    struct gi_persistent_policy policy = {
        .large_from = class->persistent.large_from,
        .max_step_ns = UINT64_C(1000) * class->persistent.max_step_us,
        .is_off = !gi_persistent_is_allowed(gpu),
        .is_at_once = setting->takeover == GI_TAKEOVER_AT_ONCE,
        .is_asked = setting->is_set,
        .is_unchecked = setting->has_spins && setting->max_spins == 0,
    };
    if (policy.is_off) {
        return policy;
    }
    const bool is_asked =
        setting->group_size > 0 && is_possible_size(gi_gpu_limits(gpu), setting->group_size);
    policy.params = (struct gi_persistent_params){
        .group_size = is_asked ? setting->group_size : usual_size(gpu),
        .n_groups = setting->n_groups ? setting->n_groups : class->persistent.n_groups,
        .max_spins = setting->has_spins ? setting->max_spins : class->persistent.max_spins,
    };
    const bool has_larger = setting->group_size == 0 && is_possible_size(gi_gpu_limits(gpu), large);
    policy.large_group_size = has_larger ? large : policy.params.group_size;
    return policy;
}

bool gi_persistent_is_worthwhile(const struct gi_persistent_policy *policy, uint64_t step_ns)
{
    return step_ns > 0 && step_ns <= policy->max_step_ns;
}

bool gi_persistent_has_large_groups(const struct gi_persistent_policy *policy, uint64_t layer_bytes)
{
    return layer_bytes / policy->params.n_groups >= policy->large_from;
}

bool gi_persistent_has_room_to_sample(const struct gi_limits *limits, uint32_t head_dim)
{
    const bool is_vec8 = head_dim <= 256 && (head_dim & (head_dim - 1)) == 0;
    const uint32_t attention = is_vec8 ? 64 * head_dim : 36 * 512;
    return attention + (35u << 10) <= limits->max_shared_size;
}
