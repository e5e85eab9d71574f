// A generation: an answer on its way, from its parameters to its last token. What is submitted in
// generate_submit.c is waited for and delivered in generate.c, one thing at a time, so that a
// blocking call and one with a budget run the same; generation.c begins and ends it.
#ifndef GI_ENGINE_GENERATE_H
#define GI_ENGINE_GENERATE_H

#include "engine/api/text_stream.h"
#include "engine/generate/adjust.h"
#include "engine/generate/host_sample.h"
#include "engine/generate/speculate.h"
#include "engine/run/session.h"
#include "gpu/dispatch/dispatch_replay.h"

// A batch of the prompt or a chain that is being submitted, whole in one call or in several.
struct gi_open_chain {
    struct gi_executor *executor; // NULL: there is none
    uint32_t n_past, n_tokens, n_steps;
    uint32_t n_entries;                 // of the ring that it writes; 0: one a step
    const struct gi_joint_place *joint; // of a list with slots
    bool is_batch, is_boxed;
    bool is_logits;    // a step without its choice
    uint64_t begin_ns; // time of the clock
    struct gi_replay_cursor cursor;
};

// What an answer does next.
enum gi_generation_state {
    GI_GENERATION_DECODES,  // submits its prompt and chains, and delivers tokens
    GI_GENERATION_REBUILDS, // computes a cache that was lost or shifted, then decodes
    GI_GENERATION_SHIFTS,   // makes room in a full context (engine/state/context_full.h)
    GI_GENERATION_ENDS,     // has delivered its last token; text may be held back
    GI_GENERATION_IS_OVER,
};

// Times of the clock, in nanoseconds, and what is derived from them.
struct gi_generation_clock {
    uint64_t start_ns, first_ns, last_ns; // the call, the first token, the end of the latest chain
    uint64_t start_cpu_ns, first_cpu_ns, last_cpu_ns; // CPU time of the process at these
    uint64_t waits;                                   // for the GPU before the call
    uint64_t rested_ns;                               // duration since the end of the latest chain
    uint64_t landing_ns;                              // duration of the latest chain; 0: unknown
    uint64_t polled_ns;                               // the GPU was last seen at work
    uint64_t rest_until;                              // in steps: nothing is submitted before
    bool is_end_seen; // the latest chain was taken soon after its end
};

struct gi_generation {
    struct glinfer_session *session;
    struct glinfer_generate_params params; // a copy; the prompt and the stop strings are not ours
    char **stop;                           // (params.n_stop) copies, owned
    enum gi_generation_state state;
    struct glinfer_error failure; // the answer ends with it; another answer's turn may set it
    struct glinfer_error *err;    // &failure
    struct glinfer_stats stats;
    struct gi_text_stream text;
    struct gi_host_sample host;
    struct gi_adjusting adjusting;
    struct gi_speculation speculation;
    struct gi_generation_clock clock;
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

//-- its life (generation.c) -----------------------------------------------------------------------

// Creates the generation of params, which are copied. NULL with what glinfer_generate fails with
// before it touches the GPU.
struct gi_generation *gi_generation_create(struct glinfer_session *session,
                                           const struct glinfer_generate_params *params,
                                           struct glinfer_error *err);
// Compiles what it needs, steps with other answers too if it joins them (joint_run.h), and begins a
// run. The GPU is entered.
bool gi_generation_start(struct gi_generation *run, bool joins);
// Returns which of a session's executors run the steps.
enum gi_step_end gi_generation_step_kind(const struct gi_generation *run);
// Fills the figures of the stats that are known at the end.
void gi_generation_fill_stats(struct gi_generation *run);
// Notes whether the answer broke off, and frees the generation, which may be NULL.
void gi_generation_destroy(struct gi_generation *run, bool is_whole);

// True if the answer advances by glinfer_step: nothing waits or sleeps.
static inline bool gi_generation_is_stepped(const struct gi_generation *run)
{
    return run->session->generation == run;
}

// True if no more tokens come.
static inline bool gi_generation_is_finished(const struct gi_generation *run)
{
    return run->state >= GI_GENERATION_ENDS;
}

//-- its way (generate.c) --------------------------------------------------------------------------

// Ends the answer after the token that was delivered last.
void gi_generation_finish(struct gi_generation *run, enum glinfer_stop stop);

// Goes on behind the last token that was delivered: finds the executor and writes step_state.
bool gi_generation_go_on(struct gi_generation *run);
// Returns the bytes of a token's text, none of a control token.
struct gi_text gi_generation_bytes(const struct gi_generation *run, int32_t id);
// Does the next thing: submits, or waits for a chain, or delivers a token. Stepped, it sets
// is_waiting in place of waiting, and submits until the runner's box pauses. Fails with
// run->failure.
bool gi_generation_advance(struct gi_generation *run);
// True if that next thing is a token, which takes nothing of the GPU.
bool gi_generation_has_token(const struct gi_generation *run);

//-- what it submits (generate_submit.c) -----------------------------------------------------------

// True if the host has to see each token before the step behind it: it chooses them, or a grammar's
// mask depends on them. Chains then have one step, and wait for each other.
bool gi_generation_needs_tokens(const struct gi_generation *run);
// Begins to compute the cache anew if it was lost, in the batches and steps that its tokens were
// computed in, so that it has the same bits. Goes on with the answer if it was not.
bool gi_generation_rebuild(struct gi_generation *run);
// Submits the next batch or step of that or, behind the last, goes on with the answer.
bool gi_generation_submit_rebuild(struct gi_generation *run);
// Returns the step_state, but for the epoch, of a step of n_tokens at n_past, token being what it
// begins with; writes it.
struct gi_step_state gi_generation_state(const struct gi_generation *run, uint32_t token,
                                         uint32_t n_past, uint32_t n_tokens);
bool gi_generation_write_state(const struct gi_generation *run, uint32_t token, uint32_t n_past,
                               uint32_t n_tokens);
// Submits the next batch of the prompt or, behind the last, the first chain: the token that the
// prompt itself gives.
bool gi_generation_submit_prompt(struct gi_generation *run);
// Finds the executors of decode steps.
bool gi_generation_find_executors(struct gi_generation *run);
// True if the logits of the next step can be submitted and were not, as they are with a mask.
bool gi_generation_wants_logits(const struct gi_generation *run);
bool gi_generation_submit_logits(struct gi_generation *run);
// True if the next chain of decode steps is submitted in pieces, looking at its time.
bool gi_generation_is_boxed(const struct gi_generation *run);
// Submits the next chain of decode steps.
bool gi_generation_submit_chain(struct gi_generation *run);
// Goes on with what is open.
bool gi_generation_submit_open(struct gi_generation *run);
// Leaves the GPU to others for their share of the time, after busy_ns of work: sleeps, until the
// session is cancelled, or notes until when.
void gi_generation_rest(struct gi_generation *run, uint64_t busy_ns);

// Returns the tokens of the next batch of a prompt, of n_left behind n_past: few of the first on a
// slow device, and at any time so many that no dispatch that cannot run in pieces outlasts the box.
uint32_t gi_session_choose_batch(const struct glinfer_session *session,
                                 const struct gi_dispatch_table *list,
                                 const struct gi_time_box *box, uint32_t n_past, uint32_t n_left,
                                 bool is_first);

#endif
