// Decisions about persistent programs.
#pragma once

#include "gpu/device/gpu.h"

// Parameters of the dispatch that runs a whole chain of steps.
struct gi_persistent_params {
    uint32_t group_size; // invocations of every group of the list
    uint32_t n_groups;   // maximum number of groups; fewer are used if fewer run together
    uint32_t max_spins;  // polls of a wait before it is a fault
};

// Settings of the device's class and of GLINFER_DISPATCH.
struct gi_persistent_policy {
    bool is_off;
    bool is_at_once;   // compile before the first answer and use it if it is right
    bool is_asked;     // GLINFER_DISPATCH requests it on any device, even if it is slower
    bool is_unchecked; // for tests: skips the check, so that max_spins 0 faults in use
    struct gi_persistent_params params;
    // group_size for models whose steps are bound by memory: more loads are in flight. A size that
    // GLINFER_DISPATCH gives holds for all models.
    uint32_t large_group_size;
    uint32_t large_from;  // bytes of a layer for each group, from which groups are large
    uint64_t max_step_ns; // longest step that may become faster
};
// Logs a warning if the size of groups is not possible on the device.
struct gi_persistent_policy gi_persistent_policy(const struct gi_gpu *gpu);

// Returns true if class, limits and GLINFER_DISPATCH allow a persistent executor on the device.
bool gi_persistent_is_allowed(const struct gi_gpu *gpu);
// Logs a warning if GLINFER_DISPATCH asks for more groups than the device has.
void gi_persistent_check_settings(const struct gi_gpu *gpu);

// Returns true if steps of step_ns (with many dispatches; 0: unknown, returns false) may become
// faster and can be tested within a time box: dispatches do not delay longer steps.
bool gi_persistent_is_worthwhile(const struct gi_persistent_policy *policy, uint64_t step_ns);
// Returns true if workgroups should be large (large_group_size) for layers of this many bytes.
// Large ones were measured to be faster from policy->large_from bytes per workgroup on, and slower
// at long contexts below that (glsl/measurements.md).
bool gi_persistent_has_large_groups(const struct gi_persistent_policy *policy,
                                    uint64_t layer_bytes);
// Returns true if large groups also have enough shared memory for steps that sample from a top-k
// list. The kernels use: attention 64 bytes for each element of a head or, for sizes that are not a
// power of two or over 256, 36 for each invocation; x 20 KiB, sums 4, reductions 4, the top-k
// list 7.
bool gi_persistent_has_room_to_sample(const struct gi_limits *limits, uint32_t head_dim);
