// An answer in progress, from its parameters to its last token. answer_submit.c submits its batches
// and chains; answer.c waits for them and delivers tokens, one step of work at a time, so that a
// blocking call and one with a budget run the same code; answer_begin.c begins and ends it.
#pragma once

#include "engine/answer/adjust.h"
#include "engine/answer/host_sample.h"
#include "engine/answer/speculate.h"
#include "engine/answer/text_stream.h"
#include "engine/session/session.h"
#include "gpu/dispatch/dispatch_replay.h"

// A batch of the prompt or a chain that is being submitted, whole in one call or in several.
struct gi_open_chain {
    struct gi_executor *executor; // NULL: no chain is open
    uint32_t n_past, n_tokens, n_steps;
    uint32_t n_entries;                 // entries that it writes to the ring; 0: one per step
    const struct gi_joint_place *joint; // slots of the list; NULL: a list without slots
    bool is_batch, is_boxed;
    bool is_logits;    // a step up to its logits
    uint64_t begin_ns; // time of the clock
    struct gi_replay_cursor cursor;
};

// The next work of an answer.
enum gi_answer_state {
    GI_ANSWER_DECODES,  // submits its prompt and chains, and delivers tokens
    GI_ANSWER_REBUILDS, // computes a cache that was lost or shifted, then decodes
    GI_ANSWER_SHIFTS,   // makes room in a full context (engine/answer/context_full.h)
    GI_ANSWER_ENDS,     // all tokens are delivered; text may be held back
    GI_ANSWER_IS_OVER,
};

// Clock times and durations in nanoseconds.
struct gi_answer_clock {
    uint64_t start_ns, first_ns, last_ns; // the call, the first token, the end of the latest chain
    uint64_t start_cpu_ns, first_cpu_ns, last_cpu_ns; // CPU time of the process at these
    uint64_t waits;                                   // number of waits for the GPU before the call
    uint64_t landing_ns;                              // duration of the latest chain; 0: unknown
    uint64_t rest_until;                              // with glinfer_step: end of the rest
};

// The prompt, a pending token of the session included.
struct gi_answer_prompt {
    uint32_t *tokens;                         // (n_tokens) owned; NULL: resumes a broken answer
    uint32_t n_tokens, n_processed;           // n_processed: tokens that were submitted
    uint32_t checkpoints[GI_MAX_CHECKPOINTS]; // (n_checkpoints) tokens of `tokens`, ascending
    uint32_t n_checkpoints;
};

// The delivery of the latest advance. event.kind is GLINFER_EVENT_NONE if it delivered nothing.
struct gi_delivery {
    struct glinfer_event event;              // event.token: the next field
    struct glinfer_token token;              // token.probs: the next field
    struct glinfer_prob probs[GI_MAX_PROBS]; // (token.n_probs)
};

struct gi_answer {
    struct glinfer_session *session;
    struct glinfer_generate_params params; // a copy; prompt and stop strings are the caller's
    enum gi_answer_state state;
    struct glinfer_error err; // valid if a function of the answer fails, or if has_failed
    bool has_failed;          // a joint chain failed in another answer's turn
    struct glinfer_stats stats;
    struct gi_text_stream text;
    struct gi_host_sample host;
    struct gi_adjusting adjusting;
    struct gi_speculation speculation;
    struct gi_answer_clock clock;
    enum gi_step_end end;
    struct gi_answer_prompt prompt;
    uint32_t base;            // n_past after the prompt
    uint32_t max_steps;       // maximum number of generated tokens
    uint32_t n_submitted;     // number of submitted steps
    uint32_t n_rebuilt;       // tokens of a lost cache that are submitted or valid
    uint32_t n_shifts;        // shifts so far
    struct gi_executor *step; // executor of decode steps, borrowed; NULL: not found yet
    // With a mask, a step has two lists: the executor of logits, then `step`, which chooses.
    struct gi_executor *logits; // borrowed; NULL: not found yet
    uint64_t logits_ns; // time when the submission of the next step's logits began; 0: it did not
    struct gi_open_chain open;
    struct gi_landing landing; // readback; entries [next, n_live) are not delivered yet
    uint32_t n_live, next;
    bool is_waiting; // with glinfer_step: waits for the GPU or the end of a rest
    int watched_fd;  // fence that the device's descriptor waits for; -1: none
    struct gi_delivery delivery;
};

//-- life (answer_begin.c) -------------------------------------------------------------------------

// Creates the answer to params, which are copied. Returns NULL on the errors of glinfer_generate
// that need no GPU.
struct gi_answer *gi_answer_create(struct glinfer_session *session,
                                   const struct glinfer_generate_params *params,
                                   struct glinfer_error *err);
// Compiles the programs that it needs, including joint steps if it joins other answers
// (joint_run.h), and begins to compute. The GPU is entered.
bool gi_answer_start(struct gi_answer *answer, bool joins);
// Returns the end of the answer's steps, which selects the session's executor.
enum gi_step_end gi_answer_step_kind(const struct gi_answer *answer);
// Fills the fields of the stats that are known at the end.
void gi_answer_fill_stats(struct gi_answer *answer);
// Stores whether the answer broke off, and frees it. Accepts NULL.
void gi_answer_destroy(struct gi_answer *answer, bool is_whole);

// Returns true if the answer advances by glinfer_step, which never waits or sleeps.
static inline bool gi_answer_is_stepped(const struct gi_answer *answer)
{
    return answer->session->answer == answer;
}

// Returns true if the answer has delivered its last token.
static inline bool gi_answer_is_finished(const struct gi_answer *answer)
{
    return answer->state >= GI_ANSWER_ENDS;
}

// Ends the answer after the token that was delivered last.
static inline void gi_answer_finish(struct gi_answer *answer, enum glinfer_stop stop)
{
    answer->stats.stop = stop;
    answer->state = GI_ANSWER_ENDS;
}

// Returns true if tokens are chosen on the host.
static inline bool gi_host_sample_is_on(const struct gi_answer *answer)
{
    return answer->host.chain != NULL;
}

// Returns true if the host needs each token before the next step: it chooses tokens, or a grammar's
// mask depends on them. A chain then has one step and waits for the previous one.
static inline bool gi_answer_needs_tokens(const struct gi_answer *answer)
{
    return gi_host_sample_is_on(answer) || gi_adjust_is_masked(answer);
}

//-- work (answer.c) -----------------------------------------------------------------------------

// Returns the bytes of a token's text; empty for a control token.
struct gi_text gi_answer_bytes(const struct gi_answer *answer, int32_t id);
// Does the next piece of work: submits a batch or chain, waits for one, or delivers a token. With
// glinfer_step, it sets is_waiting instead of waiting, and submits until the time box ends. Fails
// with answer->err.
bool gi_answer_advance(struct gi_answer *answer);
// Returns true if the next advance delivers a token, which needs no GPU.
bool gi_answer_has_token(const struct gi_answer *answer);

//-- submission (answer_submit.c) ----------------------------------------------------------------

// Begins to recompute the cache if it was lost, in the same batches and steps as before, so that it
// has the same bits. Continues the answer if the cache was not lost.
bool gi_answer_rebuild(struct gi_answer *answer);
// Submits the next batch or step of the rebuild or, after the last, continues the answer.
bool gi_answer_submit_rebuild(struct gi_answer *answer);
// Return or write the step_state, except its epoch, of a step of n_tokens at n_past whose first
// input is `token`.
struct gi_step_state gi_answer_state(const struct gi_answer *answer, uint32_t token,
                                     uint32_t n_past, uint32_t n_tokens);
bool gi_answer_write_state(struct gi_answer *answer, uint32_t token, uint32_t n_past,
                           uint32_t n_tokens);
// Writes the step_state of the next step if the GPU does not have its token: the host chose it, or
// a draft did.
bool gi_answer_write_input(struct gi_answer *answer);
// Continues after the last token that was delivered: finds the executor and writes step_state.
bool gi_answer_go_on(struct gi_answer *answer);
// Submits the next batch of the prompt or, after the last, the first chain: the token that follows
// the prompt.
bool gi_answer_submit_prompt(struct gi_answer *answer);
// Returns true if a mask applies and the logits of the next step can be submitted.
bool gi_answer_wants_logits(const struct gi_answer *answer);
bool gi_answer_submit_logits(struct gi_answer *answer);
// Returns true if the next chain of decode steps is submitted in pieces, each within the time box.
bool gi_answer_is_boxed(const struct gi_answer *answer);
// Submits the next chain of decode steps.
bool gi_answer_submit_chain(struct gi_answer *answer);
// Continues the submission of the open chain.
bool gi_answer_submit_open(struct gi_answer *answer);
// Leaves the GPU idle for its share of the time after busy_ns of work: sleeps until then or until
// the session is cancelled, or, with glinfer_step, stores the time.
void gi_answer_rest(struct gi_answer *answer, uint64_t busy_ns);
