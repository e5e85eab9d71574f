// Submits the work of an answer (engine/answer/answer.h): batches of the prompt, then chains of
// decode steps.
#include "base/clock.h"
#include "engine/answer/answer.h"
#include "engine/session/saved/checkpoints.h"
#include "engine/session/step_executors.h"
#include "gpu/dispatch/multi_executor.h"

//-- step_state ----------------------------------------------------------------------------------

struct gi_step_state gi_answer_state(const struct gi_answer *answer, uint32_t token,
                                     uint32_t n_past, uint32_t n_tokens)
{
    const struct glinfer_generate_params *params = &answer->params;
    const struct glinfer_session *session = answer->session;
    // Makes every end of a joint step greedy, too.
    const bool is_greedy =
        answer->end % GI_STEP_END_ADJUSTED == GI_STEP_END_GREEDY && session->group->n_slots > 1;
    struct gi_step_state state = {
        .token = token,
        .n_past = n_past,
        .n_tokens = n_tokens,
        .step = answer->n_submitted,
        .max_steps = answer->max_steps,
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
    if (answer->state != GI_ANSWER_REBUILDS) {
        gi_adjust_set(&answer->adjusting, &state);
    }
    return state;
}

bool gi_answer_write_state(struct gi_answer *answer, uint32_t token, uint32_t n_past,
                           uint32_t n_tokens)
{
    const struct gi_step_state state = gi_answer_state(answer, token, n_past, n_tokens);
    return gi_runner_write(&answer->session->runner, &state, &answer->err);
}

static bool write_pending(struct gi_answer *answer)
{
    return gi_answer_write_state(answer, (uint32_t)answer->session->sequence.pending,
                                 answer->base + answer->n_submitted - 1, 1);
}

bool gi_answer_write_input(struct gi_answer *answer)
{
    const bool is_needed = answer->speculation.is_behind || gi_host_sample_is_on(answer);
    answer->speculation.is_behind = false;
    return !is_needed || write_pending(answer);
}

// Finds the executors of decode steps.
static bool find_executors(struct gi_answer *answer)
{
    struct glinfer_session *session = answer->session;
    if (gi_adjust_is_masked(answer)) {
        answer->logits = gi_step_executors_find_logits(session, &answer->err);
        answer->step = answer->logits ? gi_tables_find(&session->tables,
                                                       GI_LIST_CHOICE + answer->end, &answer->err)
                                      : NULL;
    } else {
        answer->step = gi_step_executors_find(session, answer->end, &answer->err);
    }
    return answer->step != NULL;
}

bool gi_answer_go_on(struct gi_answer *answer)
{
    answer->logits_ns = 0;
    return find_executors(answer) &&
           gi_adjust_write(answer, answer->base + answer->n_submitted - 1) && write_pending(answer);
}

//-- chains --------------------------------------------------------------------------------------

static bool reserve_box(struct gi_answer *answer)
{
    return gi_time_box_reserve(&answer->session->runner.box,
                               answer->session->model->device->programs, &answer->err);
}

// Begins to submit n_steps from n_past on, starting with the answer's next step. Steps that are
// known to fit the budget are submitted without checking the time of each dispatch.
static bool submit(struct gi_answer *answer, struct gi_executor *executor, uint32_t n_past,
                   uint32_t n_steps, bool is_boxed)
{
    answer->open =
        (struct gi_open_chain){.executor = executor,
                               .n_past = n_past,
                               .n_tokens = 1,
                               .n_steps = n_steps,
                               .is_boxed = is_boxed,
                               .begin_ns = answer->logits_ns ? answer->logits_ns : gi_clock_ns()};
    return executor && gi_answer_submit_open(answer);
}

// Returns the steps of the next chain: as configured, or as many as fit the time budget. The first
// chains are short, so that the first token is not delayed by the submission of a long one.
static uint32_t choose_length(const struct gi_answer *answer)
{
    enum { LONGEST = 64 };
    const struct glinfer_session *session = answer->session;
    const bool is_alone = gi_answer_needs_tokens(answer);
    uint64_t length = is_alone ? 1 : session->chain_length;
    if (length == 0) {
        const struct gi_runner *runner = &session->runner;
        length = runner->step_ns ? runner->budget_ns / runner->step_ns : 1;
        length = length < 1 ? 1 : length > LONGEST ? LONGEST : length;
    }
    const struct gi_lookup *lookup = &answer->speculation.lookup;
    length = lookup->is_on && length > lookup->n_match ? lookup->n_match : length;
    const uint32_t left = answer->max_steps - answer->n_submitted;
    const uint32_t ramp = 2 * answer->n_submitted;
    length = length < ramp ? length : ramp;
    return length < left ? (uint32_t)length : left;
}

bool gi_answer_is_boxed(const struct gi_answer *answer)
{
    const struct gi_runner *runner = &answer->session->runner;
    return runner->step_ns == 0 || runner->step_ns > runner->budget_ns ||
           answer->session->has_company;
}

bool gi_answer_wants_logits(const struct gi_answer *answer)
{
    return gi_adjust_is_masked(answer) && answer->logits_ns == 0 && answer->n_submitted > 0 &&
           answer->n_submitted < answer->max_steps;
}

bool gi_answer_submit_logits(struct gi_answer *answer)
{
    if (!answer->step && !find_executors(answer)) {
        return false;
    }
    answer->open = (struct gi_open_chain){.executor = answer->logits,
                                          .n_past = answer->base + answer->n_submitted - 1,
                                          .n_tokens = 1,
                                          .n_steps = 1,
                                          .is_logits = true,
                                          .is_boxed = gi_answer_is_boxed(answer),
                                          .begin_ns = gi_clock_ns()};
    return gi_answer_submit_open(answer);
}

bool gi_answer_submit_chain(struct gi_answer *answer)
{
    answer->speculation.is_alone = answer->speculation.lookup.is_on;
    return (answer->step || find_executors(answer)) && gi_answer_write_input(answer) &&
           gi_adjust_write_mask(answer) &&
           submit(answer, answer->step, answer->base + answer->n_submitted - 1,
                  choose_length(answer), gi_answer_is_boxed(answer));
}

void gi_answer_rest(struct gi_answer *answer, uint64_t busy_ns)
{
    enum { SLICE_NS = 10000000 };
    struct glinfer_session *session = answer->session;
    uint64_t left = busy_ns / session->gpu_duty * (100 - session->gpu_duty);
    const uint64_t begin = gi_clock_ns();
    if (gi_answer_is_stepped(answer)) {
        answer->clock.rest_until = begin + left;
        return;
    }
    while (left > 0 && !atomic_load(&session->is_cancelled)) {
        const uint64_t slice = left < SLICE_NS ? left : SLICE_NS;
        gi_clock_sleep(slice);
        left -= slice;
    }
}

//-- the prompt ----------------------------------------------------------------------------------

static bool report_prompt(struct gi_answer *answer, uint32_t done, uint32_t total)
{
    const struct glinfer_generate_params *params = &answer->params;
    answer->delivery.event.kind = GLINFER_EVENT_PROMPT;
    answer->delivery.event.done = done;
    answer->delivery.event.total = total;
    if (params->progress &&
        !params->progress(params->progress_user, GLINFER_PHASE_PROMPT, done, total)) {
        return gi_error_set(&answer->err, GLINFER_STATUS_CANCELLED, "the answer was cancelled");
    }
    return gi_session_check_cancel(answer->session, "the answer", &answer->err);
}

// Begins to submit tokens whose results are not read: a batch, or a step of a lost cache. An
// incomplete submission is flushed at once if no later call has to complete it.
static bool submit_unread(struct gi_answer *answer, struct gi_executor *executor, uint32_t n_past,
                          uint32_t count)
{
    answer->open = (struct gi_open_chain){.executor = executor,
                                          .n_past = n_past,
                                          .n_tokens = count,
                                          .n_steps = 1,
                                          .is_batch = true,
                                          .is_boxed = true,
                                          .begin_ns = gi_clock_ns()};
    return gi_answer_submit_open(answer);
}

static bool submit_batch(struct gi_answer *answer, const uint32_t *tokens, uint32_t n_past,
                         uint32_t count)
{
    struct glinfer_session *session = answer->session;
    struct gi_executor *executor = gi_tables_prompt(&session->tables, count, &answer->err);
    return executor &&
           gi_runner_fill(&session->runner, &session->tables.ranges[GI_SESSION_TOKENS], tokens,
                          count * sizeof(tokens[0]), &answer->err) &&
           gi_answer_write_state(answer, tokens[count - 1], n_past, count) &&
           submit_unread(answer, executor, n_past, count);
}

// Ends the submission of a batch of the prompt: records its tokens, and rests.
static bool end_batch(struct gi_answer *answer)
{
    struct glinfer_session *session = answer->session;
    const uint32_t done = answer->prompt.n_processed, count = answer->open.n_tokens;
    if (answer->state == GI_ANSWER_REBUILDS) { // its tokens are already recorded
        answer->n_rebuilt += count;
        return report_prompt(answer, answer->n_rebuilt, session->sequence.n_past);
    }
    gi_sequence_note_batch(&session->sequence, answer->open.n_past, answer->prompt.tokens + done,
                           count);
    session->has_batch = true;
    answer->prompt.n_processed += count;
    if (session->gpu_duty < 100) {
        if (!gi_runner_wait(&session->runner, &answer->err)) {
            return false;
        }
        gi_answer_rest(answer, gi_clock_ns() - answer->open.begin_ns);
    }
    return report_prompt(answer, answer->prompt.n_processed, answer->prompt.n_tokens);
}

// Ends the submission of a step's logits and flushes it, so that the GPU begins at once.
static bool end_logits(struct gi_answer *answer)
{
    struct glinfer_session *session = answer->session;
    answer->logits_ns = answer->open.begin_ns;
    if (answer->open.is_boxed && !gi_answer_is_stepped(answer)) {
        return gi_time_box_close(&session->runner.box, &answer->err);
    }
    gi_gpu_flush(gi_session_gpu(session));
    return true;
}

// Returns the number of tokens in the recurrent states after the open chain. The end of a prompt
// has no layers, so it does not change them.
static uint32_t count_state(const struct gi_answer *answer)
{
    const struct gi_open_chain *open = &answer->open;
    const bool is_prompt_end = !open->is_batch && !open->is_logits && answer->n_submitted == 0 &&
                               answer->prompt.n_tokens != 1;
    return is_prompt_end ? answer->base
                         : open->n_past + (open->is_batch ? open->n_tokens : open->n_steps);
}

bool gi_answer_submit_open(struct gi_answer *answer)
{
    struct gi_open_chain *open = &answer->open;
    struct gi_runner *runner = &answer->session->runner;
    struct gi_sequence *sequence = &answer->session->sequence;
    const uint32_t n_state = count_state(answer);
    const struct gi_chain chain = {.n_past = open->n_past,
                                   .n_tokens = open->n_tokens,
                                   .n_steps = open->n_steps,
                                   .n_entries = open->n_entries,
                                   .joint = open->joint,
                                   .begin_ns = open->begin_ns,
                                   .box = open->is_boxed ? &runner->box : NULL,
                                   .cursor = &open->cursor,
                                   .is_without_tail = open->is_logits,
                                   .before = answer->logits_ns ? answer->logits : NULL};
    sequence->n_state = GI_NO_STATE;
    if ((open->is_boxed && !reserve_box(answer)) ||
        !(open->is_batch || open->is_logits
              ? gi_runner_run(runner, open->executor, &chain, &answer->err)
              : gi_runner_submit(runner, open->executor, &chain, answer->n_submitted,
                                 &answer->err))) {
        return false;
    }
    if (open->cursor.is_paused) {
        answer->is_waiting = true;
        return true;
    }
    open->executor = NULL;
    sequence->n_state = n_state;
    const bool is_draft = gi_speculation_advance(answer);
    if (open->is_batch) {
        return is_draft ||
               ((gi_answer_is_stepped(answer) || gi_time_box_close(&runner->box, &answer->err)) &&
                end_batch(answer));
    }
    if (open->is_logits) {
        return end_logits(answer);
    }
    answer->logits_ns = 0;
    answer->n_submitted += open->n_entries > 0 ? open->n_entries : open->n_steps;
    if (open->n_steps > answer->stats.chain_length) {
        answer->stats.chain_length = open->n_steps;
    }
    return gi_host_sample_request(answer, &answer->session->tables.graph.logits.range);
}

//-- a cache that was lost -------------------------------------------------------------------------

// Submits again the step that computed the token at n_past. Its sampled token is ignored.
static bool repeat_step(struct gi_answer *answer, uint32_t n_past)
{
    struct glinfer_session *session = answer->session;
    struct gi_executor *step =
        gi_tables_find(&session->tables, GI_LIST_STEP + answer->end, &answer->err);
    return step && gi_answer_write_state(answer, session->sequence.tokens[n_past], n_past, 1) &&
           submit_unread(answer, step, n_past, 1);
}

// Sets the position and the number of steps after a shift: step n computes the token at base + n
// - 1.
static void count_anew(struct gi_answer *answer)
{
    const struct gi_sequence *sequence = &answer->session->sequence;
    const uint32_t wanted = (uint32_t)answer->params.n_predict;
    const uint32_t room = sequence->n_ctx - sequence->n_past;
    answer->base = sequence->n_past + 1 - answer->n_submitted;
    answer->max_steps = wanted - answer->n_submitted > room ? answer->n_submitted + room : wanted;
    answer->clock.last_ns = gi_clock_ns();
}

// Continues the answer with the rebuilt cache: after a shift, or at the beginning.
static bool use_cache(struct gi_answer *answer)
{
    answer->state = GI_ANSWER_DECODES;
    if (answer->n_shifts > 0) {
        count_anew(answer);
    } else if (answer->prompt.tokens) {
        return true;
    }
    return gi_answer_go_on(answer);
}

bool gi_answer_submit_rebuild(struct gi_answer *answer)
{
    const struct gi_sequence *sequence = &answer->session->sequence;
    const uint32_t done = answer->n_rebuilt;
    if (done >= sequence->n_past) {
        return (gi_answer_is_stepped(answer) ||
                gi_runner_wait(&answer->session->runner, &answer->err)) &&
               use_cache(answer);
    }
    if (!reserve_box(answer)) {
        return false;
    }
    return sequence->origins[done] == GI_ORIGIN_STEP
               ? repeat_step(answer, done)
               : submit_batch(answer, sequence->tokens + done, done,
                              gi_sequence_batch_at(sequence, done));
}

bool gi_answer_rebuild(struct gi_answer *answer)
{
    struct gi_sequence *sequence = &answer->session->sequence;
    gi_checkpoints_return(answer->session);
    gi_sequence_settle(sequence);
    answer->n_rebuilt = sequence->is_stale ? sequence->n_sound : sequence->n_past;
    if (answer->n_rebuilt >= sequence->n_past) {
        return use_cache(answer);
    }
    answer->state = GI_ANSWER_REBUILDS;
    return true;
}

//-- the whole of a prompt -------------------------------------------------------------------------

// Stores the checkpoint that is wanted of the tokens that are processed, if there is one. Returns
// the number of tokens up to the next one, or to the end.
static uint32_t keep_checkpoint(const struct gi_answer *answer)
{
    const struct gi_answer_prompt *prompt = &answer->prompt;
    struct glinfer_session *session = answer->session;
    for (uint32_t i = 0; session->sequence.is_recurrent && i < prompt->n_checkpoints; i++) {
        if (prompt->checkpoints[i] == prompt->n_processed) {
            gi_checkpoints_add(session, session->sequence.n_past + prompt->n_processed);
        } else if (prompt->checkpoints[i] > prompt->n_processed) {
            return prompt->checkpoints[i] - prompt->n_processed;
        }
    }
    return prompt->n_tokens - prompt->n_processed;
}

static bool submit_next_batch(struct gi_answer *answer)
{
    struct glinfer_session *session = answer->session;
    const uint32_t done = answer->prompt.n_processed, n_left = keep_checkpoint(answer);
    const uint32_t n_past = session->sequence.n_past + done;
    const struct gi_executor *executor = gi_tables_prompt(&session->tables, n_left, &answer->err);
    if (!executor || !reserve_box(answer)) {
        return false;
    }
    const uint32_t count =
        gi_tables_choose_batch(&session->tables, gi_multi_executor_list(executor),
                               &session->runner.box, n_past, n_left, !session->has_batch);
    if (done + count == answer->prompt.n_tokens) { // a retry or the next turn rewinds to about here
        gi_checkpoints_copy(session, n_past);
    }
    return submit_batch(answer, answer->prompt.tokens + done, n_past, count);
}

// The last row of the last batch gives the first token. A prompt of one token is a decode step.
bool gi_answer_submit_prompt(struct gi_answer *answer)
{
    struct glinfer_session *session = answer->session;
    struct gi_tables *tables = &session->tables;
    const uint32_t n_past = session->sequence.n_past;
    if (answer->prompt.n_tokens == 1) {
        gi_sequence_note_step(&session->sequence, n_past, answer->prompt.tokens[0]);
        return gi_answer_write_state(answer, answer->prompt.tokens[0], n_past, 1) &&
               gi_adjust_write_mask(answer) &&
               submit(answer, gi_tables_find(tables, GI_LIST_STEP + answer->end, &answer->err),
                      n_past, 1, true);
    }
    return answer->prompt.n_processed < answer->prompt.n_tokens
               ? submit_next_batch(answer)
               : gi_adjust_write_mask(answer) &&
                     submit(answer,
                            gi_tables_find(tables, GI_LIST_PROMPT_END + answer->end, &answer->err),
                            n_past, 1, true);
}
