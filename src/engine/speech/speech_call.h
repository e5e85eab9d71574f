// A call of a speech model's network, whose lists several steps of a transcription may submit: each
// submits pieces until its time is over, and the next goes on once the GPU has done them, so that
// neither waits long. At most one call is in progress. The context is entered.
#pragma once

#include "engine/session/session.h"
#include "gpu/dispatch/dispatch_replay.h"
#include "speech/speech_net.h"

struct gi_speech_call {
    struct glinfer_error *failure; // borrowed; what a function that fails writes
    // Set by the caller for each step.
    uint64_t pause_ns;  // time of the clock at which the step ends; 0: a call is not divided
    uint64_t budget_ns; // GPU time of a submission at most; 0: the session's

    struct glinfer_session *session; // borrowed; NULL: no call is in progress
    uint32_t stage;                  // of the call, as its function counts them; begins with 0
    uint32_t n_done;                 // tokens of lists that were submitted, in this stage
    uint32_t n_step;                 // of a chain
    bool is_divided;                 // a step ended inside a list
    bool is_open;                    // a list is submitted in part
    struct gi_replay_cursor cursor;
    bool is_fetching;     // session->logits is being read back
    uint32_t n_submitted; // dispatches before it
    uint64_t since_ns;    // time of the clock when it began
};

// Begins a call, or continues the call in progress. Returns BUSY until the GPU has completed the
// submissions of the last step. Fails with GPU_LOST, NO_MEMORY, DRIVER.
enum gi_net_result gi_speech_call_enter(struct gi_speech_call *call,
                                        struct glinfer_session *session);
// Submit a list up to its end, or to the cursor's stop: then the cursor is paused, and is_open. run
// writes the step_state first; submit takes the places and the tokens of the chain. Return BUSY if
// the time of the step is over before. Fail as gi_runner_run does, and with DRIVER.
enum gi_net_result gi_speech_call_submit(struct gi_speech_call *call, struct gi_executor *executor,
                                         const struct gi_chain *chain);
enum gi_net_result gi_speech_call_run(struct gi_speech_call *call, uint32_t list,
                                      const struct gi_step_state *state);
// Ends the step after all that was submitted, before the end of a list. Returns BUSY. Fails with
// GPU_LOST, NO_MEMORY, DRIVER.
enum gi_net_result gi_speech_call_pause(struct gi_speech_call *call);
// Reads the first `size` bytes of n ranges to session->logits.data after all that was submitted.
// All dispatches ran then. Returns BUSY if the time of the step is over before:
// gi_speech_call_enter ends it then. Fails with GPU_LOST, NO_MEMORY, DRIVER.
enum gi_net_result gi_speech_call_fetch(struct gi_speech_call *call, const struct gi_range *ranges,
                                        uint32_t n, uint64_t size);
// Waits for the chain in flight, in a divided call no longer than the step may: then returns BUSY.
// Fails with GPU_LOST.
enum gi_net_result gi_speech_call_wait(struct gi_speech_call *call);
// Ends the step, and the call unless the result is BUSY. Returns the result.
enum gi_net_result gi_speech_call_leave(struct gi_speech_call *call, enum gi_net_result result);
