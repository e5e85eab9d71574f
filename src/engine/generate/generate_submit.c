// Submits what a generation takes: batches of the prompt, then chains of decode steps
// (engine/generate/generate.h).
#include "base/clock.h"
#include "engine/generate/generate.h"
#include "engine/run/step_executors.h"
#include "engine/state/cache_rows.h"
#include "engine/state/context_full.h"
#include "gpu/dispatch/dispatch_replay.h"
#include "gpu/dispatch/multi_executor.h"

//-- step_state ----------------------------------------------------------------------------------

struct gi_step_state gi_generation_state(const struct gi_generation *run, uint32_t token,
                                         uint32_t n_past, uint32_t n_tokens)
{
    const struct glinfer_generate_params *params = &run->params;
    const struct glinfer_session *session = run->session;
    // Any end of a joint step then takes the likeliest token, too.
    const bool is_greedy =
        run->end % GI_STEP_END_ADJUSTED == GI_STEP_END_GREEDY && session->group->n_slots > 1;
    struct gi_step_state state = {
        .token = token,
        .n_past = n_past,
        .n_tokens = n_tokens,
        .step = run->n_submitted,
        .max_steps = run->max_steps,
        .n_stop = session->n_stop_ids,
        .seed_lo = (uint32_t)params->seed,
        .seed_hi = (uint32_t)(params->seed >> 32),
        .top_k = is_greedy ? 1 : params->top_k,
        .n_probs = params->n_probs,
        .temperature = is_greedy ? 0.0f : params->temperature,
        .top_p = params->top_p > 0.0f && params->top_p < 1.0f ? params->top_p : 1.0f,
        .min_p = params->min_p,
        .ban_stop = params->ignore_eos,
        .n_shifted = session->sequence.n_shifted,
    };
    for (uint32_t i = 0; i < session->n_stop_ids; i++) {
        state.stop[i] = (uint32_t)session->stop_ids[i];
    }
    if (run->state != GI_GENERATION_REBUILDS) {
        gi_adjust_set(&run->adjusting, &state);
    }
    return state;
}

bool gi_generation_write_state(const struct gi_generation *run, uint32_t token, uint32_t n_past,
                               uint32_t n_tokens)
{
    const struct gi_step_state state = gi_generation_state(run, token, n_past, n_tokens);
    return gi_runner_write(&run->session->runner, &state, run->err);
}

//-- chains --------------------------------------------------------------------------------------

static bool reserve_box(const struct gi_generation *run)
{
    return gi_time_box_reserve(&run->session->runner.box, run->session->model->device->programs,
                               run->err);
}

// Begins to submit n_steps from n_past on, the first of which is the next of the answer. Steps that
// are known to keep to the budget are submitted without looking at the time of each dispatch.
static bool submit(struct gi_generation *run, struct gi_executor *executor, uint32_t n_past,
                   uint32_t n_steps, bool is_boxed)
{
    run->open = (struct gi_open_chain){.executor = executor,
                                       .n_past = n_past,
                                       .n_tokens = 1,
                                       .n_steps = n_steps,
                                       .is_boxed = is_boxed,
                                       .begin_ns = run->logits_ns ? run->logits_ns : gi_clock_ns()};
    return executor && gi_generation_submit_open(run);
}

// Steps that the next chain takes: as asked for, or as many as fit the time budget; the first
// chains are short, so that the first token is not held back while a long one is submitted.
static uint32_t choose_length(const struct gi_generation *run)
{
    enum { LONGEST = 64 };
    const struct glinfer_session *session = run->session;
    const bool is_alone = gi_generation_needs_tokens(run);
    uint64_t length = is_alone ? 1 : session->chain_length;
    if (length == 0) {
        const struct gi_runner *runner = &session->runner;
        length = runner->step_ns ? runner->budget_ns / runner->step_ns : 1;
        length = length < 1 ? 1 : length > LONGEST ? LONGEST : length;
    }
    const struct gi_lookup *lookup = &run->speculation.lookup;
    length = lookup->is_on && length > lookup->n_match ? lookup->n_match : length;
    const uint32_t left = run->max_steps - run->n_submitted;
    const uint32_t ramp = 2 * run->n_submitted;
    length = length < ramp ? length : ramp;
    return length < left ? (uint32_t)length : left;
}

bool gi_generation_find_executors(struct gi_generation *run)
{
    struct glinfer_session *session = run->session;
    if (gi_adjust_is_masked(run)) {
        run->logits = gi_step_executors_find_logits(session, run->err);
        run->step = run->logits ? gi_tables_choice(&session->tables, run->end, run->err) : NULL;
    } else {
        run->step = gi_step_executors_find(session, run->end, run->err);
    }
    return run->step != NULL;
}

bool gi_generation_is_boxed(const struct gi_generation *run)
{
    const struct gi_runner *runner = &run->session->runner;
    return runner->step_ns == 0 || runner->step_ns > runner->budget_ns || run->session->has_company;
}

bool gi_generation_wants_logits(const struct gi_generation *run)
{
    return gi_adjust_is_masked(run) && run->logits_ns == 0 && run->n_submitted > 0 &&
           run->n_submitted < run->max_steps;
}

bool gi_generation_submit_logits(struct gi_generation *run)
{
    if (!run->step && !gi_generation_find_executors(run)) {
        return false;
    }
    run->open = (struct gi_open_chain){.executor = run->logits,
                                       .n_past = run->base + run->n_submitted - 1,
                                       .n_tokens = 1,
                                       .n_steps = 1,
                                       .is_logits = true,
                                       .is_boxed = gi_generation_is_boxed(run),
                                       .begin_ns = gi_clock_ns()};
    return gi_generation_submit_open(run);
}

// Writes what steps begin with behind a draft.
static bool catch_up(struct gi_generation *run)
{
    const bool is_behind = run->speculation.is_behind;
    run->speculation.is_behind = false;
    return !is_behind || gi_generation_write_state(run, (uint32_t)run->session->sequence.pending,
                                                   run->base + run->n_submitted - 1, 1);
}

bool gi_generation_submit_chain(struct gi_generation *run)
{
    run->speculation.is_alone = run->speculation.lookup.is_on;
    return (run->step || gi_generation_find_executors(run)) && gi_host_sample_write(run) &&
           gi_adjust_write_mask(run) && catch_up(run) &&
           submit(run, run->step, run->base + run->n_submitted - 1, choose_length(run),
                  gi_generation_is_boxed(run));
}

void gi_generation_rest(struct gi_generation *run, uint64_t busy_ns)
{
    enum { SLICE_NS = 10000000 };
    struct glinfer_session *session = run->session;
    uint64_t left = busy_ns / session->gpu_duty * (100 - session->gpu_duty);
    const uint64_t begin = gi_clock_ns();
    if (gi_generation_is_stepped(run)) {
        run->clock.rest_until = begin + left;
        return;
    }
    while (left > 0 && !atomic_load(&session->is_cancelled)) {
        const uint64_t slice = left < SLICE_NS ? left : SLICE_NS;
        gi_clock_sleep(slice);
        left -= slice;
    }
    run->clock.rested_ns = gi_clock_ns() - begin;
}

//-- the prompt ----------------------------------------------------------------------------------

uint32_t gi_session_choose_batch(const struct glinfer_session *session,
                                 const struct gi_dispatch_table *list,
                                 const struct gi_time_box *box, uint32_t n_past, uint32_t n_left,
                                 bool is_first)
{
    const uint32_t first = gi_gpu_class(gi_session_gpu(session))->first_batch;
    uint32_t most = session->tables.n_batch;
    most = is_first && first > 0 && first < most ? first : most;
    while (most > 1 &&
           gi_dispatch_table_longest(list, n_past, most, box) > (double)box->budget_ns) {
        most /= 2;
    }
    return n_left < most ? n_left : most;
}

static bool report_prompt(struct gi_generation *run, uint32_t done, uint32_t total)
{
    const struct glinfer_generate_params *params = &run->params;
    run->event.kind = GLINFER_EVENT_PROMPT;
    run->event.done = done;
    run->event.total = total;
    if (params->progress &&
        !params->progress(params->progress_user, GLINFER_PHASE_PROMPT, done, total)) {
        return gi_error_set(run->err, GLINFER_STATUS_CANCELLED, "the generation was cancelled");
    }
    return gi_session_check_cancel(run->session, "the generation", run->err);
}

// Begins to submit tokens whose results nobody reads: a batch, or a step of a lost cache. What its
// chain leaves open in the box is flushed at once where nobody has to come back for it.
static bool submit_unread(struct gi_generation *run, struct gi_executor *executor, uint32_t n_past,
                          uint32_t count)
{
    run->open = (struct gi_open_chain){.executor = executor,
                                       .n_past = n_past,
                                       .n_tokens = count,
                                       .n_steps = 1,
                                       .is_batch = true,
                                       .is_boxed = true,
                                       .begin_ns = gi_clock_ns()};
    return gi_generation_submit_open(run);
}

static bool submit_batch(struct gi_generation *run, const uint32_t *tokens, uint32_t n_past,
                         uint32_t count)
{
    struct glinfer_session *session = run->session;
    struct gi_executor *executor = gi_tables_prompt(&session->tables, count, run->err);
    return executor &&
           gi_runner_fill(&session->runner, &session->tables.ranges[GI_SESSION_TOKENS], tokens,
                          count * sizeof(tokens[0]), run->err) &&
           gi_generation_write_state(run, tokens[count - 1], n_past, count) &&
           submit_unread(run, executor, n_past, count);
}

// Ends a batch of the prompt that was submitted: notes its tokens, and rests.
static bool end_batch(struct gi_generation *run)
{
    struct glinfer_session *session = run->session;
    const uint32_t done = run->n_processed, count = run->open.n_tokens;
    if (run->state == GI_GENERATION_REBUILDS) { // its tokens are known
        run->n_rebuilt += count;
        return report_prompt(run, run->n_rebuilt, session->sequence.n_past);
    }
    gi_sequence_note_batch(&session->sequence, run->open.n_past, run->tokens + done, count);
    session->has_batch = true;
    run->n_processed += count;
    if (session->gpu_duty < 100) {
        if (!gi_runner_wait(&session->runner, run->err)) {
            return false;
        }
        gi_generation_rest(run, gi_clock_ns() - run->open.begin_ns);
    }
    return report_prompt(run, run->n_processed, run->n_prompt);
}

// Ends the submission of a step's logits, which the GPU begins with at once.
static bool end_logits(struct gi_generation *run)
{
    struct glinfer_session *session = run->session;
    run->logits_ns = run->open.begin_ns;
    if (run->open.is_boxed && !gi_generation_is_stepped(run)) {
        return gi_time_box_close(&session->runner.box, run->err);
    }
    gi_gpu_flush(gi_session_gpu(session));
    return true;
}

// Returns the tokens that the states of recurrent layers are of behind the open chain. The end of a
// prompt, which has no layers, leaves them as its batches did.
static uint32_t count_state(const struct gi_generation *run)
{
    const struct gi_open_chain *open = &run->open;
    const bool is_prompt_end =
        !open->is_batch && !open->is_logits && run->n_submitted == 0 && run->n_prompt != 1;
    return is_prompt_end ? run->base
                         : open->n_past + (open->is_batch ? open->n_tokens : open->n_steps);
}

bool gi_generation_submit_open(struct gi_generation *run)
{
    struct gi_open_chain *open = &run->open;
    struct gi_runner *runner = &run->session->runner;
    struct gi_sequence *sequence = &run->session->sequence;
    const uint32_t n_state = count_state(run);
    const struct gi_chain chain = {.n_past = open->n_past,
                                   .n_tokens = open->n_tokens,
                                   .n_steps = open->n_steps,
                                   .n_entries = open->n_entries,
                                   .joint = open->joint,
                                   .begin_ns = open->begin_ns,
                                   .box = open->is_boxed ? &runner->box : NULL,
                                   .cursor = &open->cursor,
                                   .is_without_tail = open->is_logits,
                                   .before = run->logits_ns ? run->logits : NULL};
    sequence->n_state = GI_NO_STATE;
    if ((open->is_boxed && !reserve_box(run)) ||
        !(open->is_batch || open->is_logits
              ? gi_runner_run(runner, open->executor, &chain, run->err)
              : gi_runner_submit(runner, open->executor, &chain, run->n_submitted, run->err))) {
        return false;
    }
    if (open->cursor.is_paused) {
        run->is_waiting = true;
        return true;
    }
    open->executor = NULL;
    sequence->n_state = n_state;
    const bool is_draft = gi_speculation_advance(run);
    if (open->is_batch) {
        return is_draft ||
               ((gi_generation_is_stepped(run) || gi_time_box_close(&runner->box, run->err)) &&
                end_batch(run));
    }
    if (open->is_logits) {
        return end_logits(run);
    }
    run->logits_ns = 0;
    run->n_submitted += open->n_entries > 0 ? open->n_entries : open->n_steps;
    if (open->n_steps > run->stats.chain_length) {
        run->stats.chain_length = open->n_steps;
    }
    return gi_host_sample_request(run, &run->session->tables.graph.logits.range);
}

//-- a cache that was lost -------------------------------------------------------------------------

// Submits the step that computed the token at n_past. What it samples is not looked at.
static bool repeat_step(struct gi_generation *run, uint32_t n_past)
{
    struct glinfer_session *session = run->session;
    struct gi_executor *step = gi_tables_step(&session->tables, run->end, run->err);
    return step && gi_generation_write_state(run, session->sequence.tokens[n_past], n_past, 1) &&
           submit_unread(run, step, n_past, 1);
}

// Goes on where the cache was needed: behind a shift, or at the beginning.
static bool use_cache(struct gi_generation *run)
{
    run->state = GI_GENERATION_DECODES;
    if (run->n_shifts > 0) {
        gi_generation_count_anew(run);
    } else if (run->tokens) {
        return true;
    }
    return gi_generation_go_on(run);
}

bool gi_generation_submit_rebuild(struct gi_generation *run)
{
    const struct gi_sequence *sequence = &run->session->sequence;
    const uint32_t done = run->n_rebuilt;
    if (done >= sequence->n_past) {
        return (gi_generation_is_stepped(run) || gi_runner_wait(&run->session->runner, run->err)) &&
               use_cache(run);
    }
    if (!reserve_box(run)) {
        return false;
    }
    return sequence->origins[done] == GI_ORIGIN_STEP
               ? repeat_step(run, done)
               : submit_batch(run, sequence->tokens + done, done,
                              gi_sequence_batch_at(sequence, done));
}

bool gi_generation_rebuild(struct gi_generation *run)
{
    struct gi_sequence *sequence = &run->session->sequence;
    gi_cache_return_states(sequence, &run->session->model->hparams, gi_session_gpu(run->session));
    gi_sequence_settle(sequence);
    run->n_rebuilt = sequence->is_stale ? sequence->n_sound : sequence->n_past;
    if (run->n_rebuilt >= sequence->n_past) {
        return use_cache(run);
    }
    run->state = GI_GENERATION_REBUILDS;
    return true;
}

//-- the whole of a prompt -------------------------------------------------------------------------

static bool submit_next_batch(struct gi_generation *run)
{
    struct glinfer_session *session = run->session;
    const uint32_t done = run->n_processed, n_left = run->n_prompt - done;
    const uint32_t n_past = session->sequence.n_past + done;
    const struct gi_executor *executor = gi_tables_prompt(&session->tables, n_left, run->err);
    if (!executor || !reserve_box(run)) {
        return false;
    }
    const uint32_t count =
        gi_session_choose_batch(session, gi_multi_executor_list(executor), &session->runner.box,
                                n_past, n_left, !session->has_batch);
    if (count == n_left) { // a retry, and what follows in a conversation, go back to about here
        gi_cache_keep_states(&session->sequence, &session->model->hparams, gi_session_gpu(session),
                             n_past);
    }
    return submit_batch(run, run->tokens + done, n_past, count);
}

// The last row of the prompt's last batch gives the first token. One token is a decode step.
bool gi_generation_submit_prompt(struct gi_generation *run)
{
    struct glinfer_session *session = run->session;
    struct gi_tables *tables = &session->tables;
    const uint32_t n_past = session->sequence.n_past;
    if (run->n_prompt == 1) {
        gi_sequence_note_step(&session->sequence, n_past, run->tokens[0]);
        return gi_generation_write_state(run, run->tokens[0], n_past, 1) &&
               gi_adjust_write_mask(run) && catch_up(run) &&
               submit(run, gi_tables_step(tables, run->end, run->err), n_past, 1, true);
    }
    return run->n_processed < run->n_prompt
               ? submit_next_batch(run)
               : gi_adjust_write_mask(run) &&
                     submit(run, gi_tables_prompt_end(tables, run->end, run->err), n_past, 1, true);
}
