// Compares the tokens of every sequence, and the time, of a persistent executor with those of the
// multi-dispatch executor of the same steps. It runs in the places of the cache after n_past, which
// the next step overwrites, so the sequence loses nothing. One depth decides for all
// (glsl/measurements.md).
#pragma once

#include "gpu/dispatch/runner.h"
#include "persistent/persistent_executor.h"
#include "persistent/persistent_verdict.h"

// Places in the cache that a check takes at most.
#define GI_PERSISTENT_TRIED_STEPS 8

struct gi_persistent_check {
    struct gi_runner *runner;           // nobody waits for a chain in flight
    struct gi_executor *multi;          // of the same steps
    struct gi_persistent *persistent;   // built
    uint32_t n_past, n_free;            // keys in the cache, and free places after them
    uint32_t token, n_vocab;            // token of the first step; size of the vocabulary
    const struct gi_joint_place *joint; // of joint steps: live and n_past; NULL: of one sequence
    struct gi_range slots; // of joint steps: the states of their slots, and the list's own
    uint64_t end_ns;       // time of the clock after which nothing is begun; 0: unlimited
    bool is_cold; // warm the GPU up for 0.3 s first: it was idle and may have lowered its clock
};

// Sets *verdict, which a failure does not change; without is_timed it compares tokens alone, and
// kind is FASTER or WRONG. The caller must write step_state and the ring again. Continues for at
// most four steps of each executor after end_ns. Fails with GPU_FAULT if workgroups did not run
// together and UNSUPPORTED if end_ns came first, both without a verdict, and with GPU_LOST.
bool gi_persistent_check(const struct gi_persistent_check *check, bool is_timed,
                         struct gi_verdict *verdict, struct glinfer_error *err);
