// Decisions about persistent programs.
#ifndef GI_PERSISTENT_POLICY_H
#define GI_PERSISTENT_POLICY_H

#include "gpu/device/gpu.h"

// Parameters of the dispatch that runs a whole chain of steps.
struct gi_persistent_params {
    uint32_t group_size; // invocations of every group of the list
    uint32_t n_groups;   // at most; as many are used as run together
    uint32_t max_spins;  // that a wait takes before it is a fault
};

// The answers of the device's class and GLINFER_DISPATCH.
struct gi_persistent_policy {
    bool is_off;
    bool is_at_once;   // compiled before the first answer, taken where it is right
    bool is_asked;     // by GLINFER_DISPATCH, on whatever device: taken where it is slower, too
    bool is_unchecked; // tests: a wait of no spins faults at once, but not before it is used
    struct gi_persistent_params params;
    // group_size for models whose steps are bound by memory: more loads are in flight. A size that
    // GLINFER_DISPATCH gives holds for all models.
    uint32_t large_group_size;
    uint32_t large_from;  // bytes of a layer for each group, from which groups are large
    uint64_t max_step_ns; // of steps that may gain
};
// Warns of a size of groups that is not possible on the device.
struct gi_persistent_policy gi_persistent_policy(const struct gi_gpu *gpu);

// True if the device may have a persistent executor: its class, its limits and GLINFER_DISPATCH.
bool gi_persistent_is_allowed(const struct gi_gpu *gpu);
// Warns of groups that GLINFER_DISPATCH asks for and the device does not have.
void gi_persistent_check_settings(const struct gi_gpu *gpu);

// True if steps of this length (ns, by many dispatches; 0: not known, then false) may gain and can
// be tried out within a time box: longer ones are not held up by their dispatches.
bool gi_persistent_is_worthwhile(const struct gi_persistent_policy *policy, uint64_t step_ns);
// Returns true if workgroups should be large (large_group_size) for layers of this many bytes.
// Large ones were measured to be faster from policy->large_from bytes per workgroup on, and slower
// at long contexts below that (glsl/measurements.md).
bool gi_persistent_has_large_groups(const struct gi_persistent_policy *policy,
                                    uint64_t layer_bytes);
// True if large groups have shared memory for steps that sample from a top-k list too. What the
// kernels share there is a fact of theirs: attention 64 bytes for each element of a head or, where
// that is not a power of two or is over 256, 36 for each invocation, x 20 KiB, sums 4, reductions 4
// and the top-k list 7.
bool gi_persistent_has_room_to_sample(const struct gi_limits *limits, uint32_t head_dim);

#endif
