// A generation as generate.c and generate_submit.c see it: what is submitted there is waited for
// and delivered here. Private to the two.
#ifndef GI_ENGINE_GENERATE_H
#define GI_ENGINE_GENERATE_H

#include "engine/api/text_stream.h"
#include "engine/run/host_sample.h"
#include "engine/run/session.h"

struct gi_generation {
    struct glinfer_session *session;
    const struct glinfer_generate_params *params;
    struct glinfer_error *err;
    struct glinfer_stats *stats;
    struct gi_text_stream text;
    struct gi_host_sample host;
    enum gi_step_end end;
    uint32_t n_prompt;        // tokens to process, a pending one included
    uint32_t base;            // n_past after the prompt
    uint32_t max_steps;       // tokens at most
    uint32_t n_submitted;     // steps
    uint32_t n_delivered;     // tokens
    struct gi_executor *step; // of decode steps, borrowed; NULL: not asked for yet
    // Times of the clock: the call, the first token, the latest chain's end.
    uint64_t start_ns, first_ns, last_ns;
    uint64_t start_cpu_ns, first_cpu_ns, last_cpu_ns; // likewise, of the CPU
    uint64_t rested_ns;                               // since the latest chain's end
    bool is_finished;
};

// Computes the cache anew if it was lost, in the batches and steps that its tokens were computed
// in, so that it has the same bits.
bool gi_generation_rebuild(struct gi_generation *run);
// Writes step_state for a step of n_tokens at n_past, token being what it begins with.
bool gi_generation_write_state(const struct gi_generation *run, uint32_t token, uint32_t n_past,
                               uint32_t n_tokens);
// Submits the batches of the prompt, and the first chain: the token that the prompt itself gives.
bool gi_generation_submit_prompt(struct gi_generation *run, const uint32_t *tokens);
// Sleeps for the share of the time that the session leaves the GPU to others, after busy_ns of
// work; ends early when the session is cancelled.
void gi_generation_rest(struct gi_generation *run, uint64_t busy_ns);
// Submits the next chain of decode steps.
bool gi_generation_submit_chain(struct gi_generation *run);

// Returns the tokens of the next batch of a prompt, of n_left behind n_past: few of the first on a
// slow device, and at any time so many that no dispatch that cannot run in pieces outlasts the box.
uint32_t gi_session_choose_batch(const struct glinfer_session *session,
                                 const struct gi_dispatch_table *list,
                                 const struct gi_time_box *box, uint32_t n_past, uint32_t n_left,
                                 bool is_first);

#endif
