// Tries a persistent program out against the ordinary dispatches of its session: whether its tokens are the same, and
// which of the two is faster. It runs in the places of the cache behind n_past, which whoever goes on from n_past
// writes anew, so that nothing a session holds is lost.
//
// One depth, wherever the session is, decides for all: on an H200 one dispatch is at 2,048 keys 2.23, 1.71, 1.28 and
// 1.23 times as fast as many with SmolLM2's shape, Qwen3's of 0.6B, Llama's of 1B and of 8B, and with none 2.03, 1.71,
// 1.26 and 1.27 times. A second depth would have programs of its own to compile while an answer waits.
#ifndef GI_ENGINE_PERSISTENT_CHECK_H
#define GI_ENGINE_PERSISTENT_CHECK_H

#include "engine/run/session.h"

struct gi_persistent_check {
    struct gi_persistent *persistent; // built, of the session's buffers
    enum gi_step_end end;             // that both end in
    uint32_t n_past;                  // with GI_PERSISTENT_TRIED_STEPS places behind them
    uint32_t token;                   // that the first step begins with
    bool is_cold;                     // the GPU had nothing to do, and may have slowed down
};

// Sets *verdict, which a failure leaves alone. No chain is in flight; step_state, the ring and the counts of grids are
// to be written again afterwards. Takes some milliseconds on what it is worth while for. Fails with GPU_FAULT if groups
// did not run together, which is no verdict, and with GPU_LOST.
bool gi_persistent_check(struct glinfer_session *session, const struct gi_persistent_check *check,
                         struct gi_verdict *verdict, struct glinfer_error *err);
// Compares tokens alone; kind is FASTER or WRONG.
bool gi_persistent_check_tokens(struct glinfer_session *session,
                                const struct gi_persistent_check *check, struct gi_verdict *verdict,
                                struct glinfer_error *err);

#endif
