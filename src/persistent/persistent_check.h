// Tries a persistent executor out against the multi-dispatch executor of the same steps: whether
// its tokens are the same, and which of the two is faster. It runs in the places of the cache
// behind n_past, which whoever goes on from n_past writes anew, so that nothing a sequence holds is
// lost. One depth decides for all (glsl/measurements.md).
#ifndef GI_PERSISTENT_CHECK_H
#define GI_PERSISTENT_CHECK_H

#include "gpu/dispatch/runner.h"
#include "persistent/persistent_executor.h"
#include "persistent/persistent_verdict.h"

// Places in the cache that a check takes at most.
#define GI_PERSISTENT_TRIED_STEPS 8

struct gi_persistent_check {
    struct gi_runner *runner;         // no chain is in flight
    struct gi_executor *multi;        // of the same steps
    struct gi_persistent *persistent; // built
    uint32_t n_past, n_free;          // keys in the cache, and places behind them
    uint32_t token, n_vocab;          // that the first step begins with; how many there are
    uint64_t end_ns;                  // of the clock, when no more is begun; 0: none
    bool is_cold; // warms the GPU up first, for 0.3 s: it had nothing to do, and may have slowed
                  // down
};

// Sets *verdict, which a failure leaves alone. step_state and the ring are to be written again
// afterwards. Goes on for four steps of each executor behind end_ns at most. Fails with GPU_FAULT
// if groups did not run together, with UNSUPPORTED if end_ns came first, which are no verdicts, and
// with GPU_LOST.
bool gi_persistent_check(const struct gi_persistent_check *check, struct gi_verdict *verdict,
                         struct glinfer_error *err);
// Compares tokens alone; kind is FASTER or WRONG.
bool gi_persistent_check_tokens(const struct gi_persistent_check *check, struct gi_verdict *verdict,
                                struct glinfer_error *err);

#endif
