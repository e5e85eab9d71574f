// An answer in progress, from its parameters to its last token. answer_submit.c submits its batches
// and chains; answer.c waits for them and delivers tokens, one step of work at a time, so that a
// blocking call and one with a budget run the same code; answer_begin.c begins and ends it.
#ifndef GI_ENGINE_ANSWER_H
#define GI_ENGINE_ANSWER_H

#include "engine/answer/adjust.h"
#include "engine/answer/host_sample.h"
#include "engine/answer/speculate.h"
#include "engine/api/text_stream.h"
#include "engine/run/session.h"
#include "gpu/dispatch/dispatch_replay.h"

// A batch of the prompt or a chain that is being submitted, whole in one call or in several.
struct gi_open_chain {
    struct gi_executor *executor; // NULL: no chain is open
    uint32_t n_past, n_tokens, n_steps;
    uint32_t n_entries;                 // of the ring that it writes; 0: one a step
    const struct gi_joint_place *joint; // of a list with slots
    bool is_batch, is_boxed;
    bool is_logits;    // a step without its choice
    uint64_t begin_ns; // time of the clock
    struct gi_replay_cursor cursor;
};

// The next work of an answer.
enum gi_answer_state {
    GI_ANSWER_DECODES,  // submits its prompt and chains, and delivers tokens
    GI_ANSWER_REBUILDS, // computes a cache that was lost or shifted, then decodes
    GI_ANSWER_SHIFTS,   // makes room in a full context (engine/state/context_full.h)
    GI_ANSWER_ENDS,     // has delivered its last token; text may be held back
    GI_ANSWER_IS_OVER,
};

// Times of the clock, in nanoseconds, and what is derived from them.
struct gi_answer_clock {
    uint64_t start_ns, first_ns, last_ns; // the call, the first token, the end of the latest chain
    uint64_t start_cpu_ns, first_cpu_ns, last_cpu_ns; // CPU time of the process at these
    uint64_t waits;                                   // for the GPU before the call
    uint64_t rested_ns;                               // duration since the end of the latest chain
    uint64_t landing_ns;                              // duration of the latest chain; 0: unknown
    uint64_t polled_ns;                               // the GPU was last seen at work
    uint64_t rest_until;                              // in steps: nothing is submitted before
    bool is_end_seen; // the latest chain was taken soon after its end
};

struct gi_answer {
    struct glinfer_session *session;
    struct glinfer_generate_params params; // a copy; the prompt and the stop strings are not ours
    char **stop;                           // (params.n_stop) copies, owned
    enum gi_answer_state state;
    struct glinfer_error failure; // the answer ends with it; another answer's turn may set it
    struct glinfer_error *err;    // &failure
    struct glinfer_stats stats;
    struct gi_text_stream text;
    struct gi_host_sample host;
    struct gi_adjusting adjusting;
    struct gi_speculation speculation;
    struct gi_answer_clock clock;
    enum gi_step_end end;
    uint32_t *tokens;         // (n_prompt) owned; NULL: a broken answer goes on
    uint32_t n_prompt;        // tokens to process, a pending one included
    uint32_t n_processed;     // of them, that were submitted
    uint32_t base;            // n_past after the prompt
    uint32_t max_steps;       // tokens at most
    uint32_t n_submitted;     // steps
    uint32_t n_rebuilt;       // tokens of a lost cache that are submitted, or sound
    uint32_t n_keep;          // tokens that shifts keep
    uint32_t n_shifts;        // shifts so far
    struct gi_executor *step; // of decode steps, borrowed; NULL: not asked for yet
    // With a mask, steps come in two pieces: the executor of logits, then `step`, which chooses.
    struct gi_executor *logits; // borrowed; NULL: not asked for yet
    uint64_t logits_ns; // time when the submission of the next step's logits began; 0: it did not
    struct gi_open_chain open;
    struct gi_landing landing; // entries [next, n_live) of which are to be delivered
    uint32_t n_live, next;
    bool is_waiting; // in steps: for the GPU or the end of a rest, since the latest advance
    int watched_fd;  // of a chain that the device's descriptor waits for; -1: none
    // Set by the latest advance if it delivered something:
    struct glinfer_event event;
    struct glinfer_token token;
    struct glinfer_prob probs[GI_MAX_PROBS];
};

//-- its life (answer_begin.c)
//-----------------------------------------------------------------------

// Creates the answer to params, which are copied. Returns NULL on the errors of glinfer_generate
// that need no GPU.
struct gi_answer *gi_answer_create(struct glinfer_session *session,
                                   const struct glinfer_generate_params *params,
                                   struct glinfer_error *err);
// Compiles the programs that it needs, including joint steps if it joins other answers
// (joint_run.h), and begins to compute. The GPU is entered.
bool gi_answer_start(struct gi_answer *answer, bool joins);
// Returns which of a session's executors run the steps.
enum gi_step_end gi_answer_step_kind(const struct gi_answer *answer);
// Fills the figures of the stats that are known at the end.
void gi_answer_fill_stats(struct gi_answer *answer);
// Notes whether the answer broke off, and frees the answer, which may be NULL.
void gi_answer_destroy(struct gi_answer *answer, bool is_whole);

// True if the answer advances by glinfer_step: nothing waits or sleeps.
static inline bool gi_answer_is_stepped(const struct gi_answer *answer)
{
    return answer->session->answer == answer;
}

// True if no more tokens come.
static inline bool gi_answer_is_finished(const struct gi_answer *answer)
{
    return answer->state >= GI_ANSWER_ENDS;
}

//-- its way (answer.c) --------------------------------------------------------------------------

// Ends the answer after the token that was delivered last.
void gi_answer_finish(struct gi_answer *answer, enum glinfer_stop stop);

// Continues after the last token that was delivered: finds the executor and writes step_state.
bool gi_answer_go_on(struct gi_answer *answer);
// Returns the bytes of a token's text; empty for a control token.
struct gi_text gi_answer_bytes(const struct gi_answer *answer, int32_t id);
// Does the next thing: submits, or waits for a chain, or delivers a token. Stepped, it sets
// is_waiting in place of waiting, and submits until the runner's box pauses. Fails with
// answer->failure.
bool gi_answer_advance(struct gi_answer *answer);
// True if the next advance delivers a token, which needs no GPU.
bool gi_answer_has_token(const struct gi_answer *answer);

//-- what it submits (answer_submit.c) -----------------------------------------------------------

// True if the host needs each token before the next step: it chooses tokens, or the mask of a
// grammar depends on them. Chains then have one step, and wait for each other.
bool gi_answer_needs_tokens(const struct gi_answer *answer);
// Begins to compute the cache anew if it was lost, in the batches and steps that its tokens were
// computed in, so that it has the same bits. Goes on with the answer if it was not.
bool gi_answer_rebuild(struct gi_answer *answer);
// Submits the next batch or step of the rebuild or, after the last, continues the answer.
bool gi_answer_submit_rebuild(struct gi_answer *answer);
// Returns the step_state, but for the epoch, of a step of n_tokens at n_past, token being what it
// begins with; writes it.
struct gi_step_state gi_answer_state(const struct gi_answer *answer, uint32_t token,
                                     uint32_t n_past, uint32_t n_tokens);
bool gi_answer_write_state(const struct gi_answer *answer, uint32_t token, uint32_t n_past,
                           uint32_t n_tokens);
// Submits the next batch of the prompt or, after the last, the first chain: the token that follows
// the prompt.
bool gi_answer_submit_prompt(struct gi_answer *answer);
// Finds the executors of decode steps.
bool gi_answer_find_executors(struct gi_answer *answer);
// True if the logits of the next step can be submitted and were not, as they are with a mask.
bool gi_answer_wants_logits(const struct gi_answer *answer);
bool gi_answer_submit_logits(struct gi_answer *answer);
// True if the next chain of decode steps is submitted in pieces, looking at its time.
bool gi_answer_is_boxed(const struct gi_answer *answer);
// Submits the next chain of decode steps.
bool gi_answer_submit_chain(struct gi_answer *answer);
// Continues the submission of the open chain.
bool gi_answer_submit_open(struct gi_answer *answer);
// Leaves the GPU to others for their share of the time, after busy_ns of work: sleeps, until the
// session is cancelled, or notes until when.
void gi_answer_rest(struct gi_answer *answer, uint64_t busy_ns);

// Returns the tokens of the next batch of a prompt, of n_left behind n_past: few of the first on a
// slow device, and at any time so many that no dispatch that cannot run in pieces outlasts the box.
uint32_t gi_session_choose_batch(const struct glinfer_session *session,
                                 const struct gi_dispatch_table *list,
                                 const struct gi_time_box *box, uint32_t n_past, uint32_t n_left,
                                 bool is_first);

#endif
