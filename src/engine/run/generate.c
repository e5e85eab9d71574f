// glinfer_generate: batches of the prompt, then chains of decode steps, two in flight. A chain is
// read while the next one runs; the first "chain" is the token that the prompt itself gives.
#include "engine/run/generate.h"

#include "base/clock.h"
#include "engine/api/arguments.h"
#include "engine/api/samplers.h"
#include "engine/run/step_executors.h"
#include "gpu/device/fence.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

//-- delivery ------------------------------------------------------------------------------------

static bool is_stop_id(const struct gi_generation *run, uint32_t id)
{
    for (uint32_t i = 0; !run->params->ignore_eos && i < run->session->n_stop_ids; i++) {
        if ((uint32_t)run->session->stop_ids[i] == id) {
            return true;
        }
    }
    return false;
}

static void finish(struct gi_generation *run, enum glinfer_stop stop)
{
    run->stats->stop = stop;
    run->is_finished = true;
}

static void deliver_text(struct gi_generation *run, int32_t id, struct gi_text text,
                         const struct gi_ring_entry *entry)
{
    struct glinfer_prob probs[GI_MAX_PROBS];
    struct glinfer_token token = {
        .id = id, .text = text.data, .text_size = text.size, .probs = probs};
    for (uint32_t i = 0; entry && i < run->params->n_probs; i++) {
        probs[i] = (struct glinfer_prob){(int32_t)entry->probs[i].id, entry->probs[i].logprob};
        token.n_probs++;
    }
    if (run->n_delivered == 0) {
        run->stats->ttft_ms = (double)(gi_clock_ns() - run->start_ns) / 1e6;
    }
    if (run->params->on_token && !run->params->on_token(run->params->token_user, &token)) {
        finish(run, GLINFER_STOP_CALLBACK);
    }
}

static struct gi_text find_bytes(const struct gi_generation *run, int32_t id)
{
    const struct gi_tokenizer *tokenizer = run->session->model->tokenizer.core;
    return gi_tokenizer_is_control(tokenizer, id) ? (struct gi_text){NULL, 0}
                                                  : gi_tokenizer_bytes(tokenizer, id);
}

static void deliver(struct gi_generation *run, const struct gi_ring_entry *entry)
{
    struct gi_sequence *sequence = &run->session->sequence;
    const int32_t id = (int32_t)entry->token;
    run->stats->predicted_n++;
    sequence->pending = id;
    gi_sequence_note_step(sequence, sequence->n_past, entry->token);
    if (is_stop_id(run, entry->token)) {
        finish(run, GLINFER_STOP_EOS);
        return;
    }
    deliver_text(run, id, gi_text_stream_push(&run->text, find_bytes(run, id)), entry);
    run->n_delivered++;
    if (run->text.is_stopped) {
        finish(run, GLINFER_STOP_WORD);
    } else if (!run->is_finished && run->stats->predicted_n == run->max_steps) {
        finish(run, GLINFER_STOP_LIMIT);
    }
}

static void learn_time(struct gi_generation *run, const struct gi_landing *landing)
{
    const uint64_t now = gi_clock_ns();
    run->last_cpu_ns = gi_clock_cpu_ns();
    if (landing->first == 0) {
        run->first_ns = now;
        run->first_cpu_ns = run->last_cpu_ns;
    } else {
        run->session->runner.step_ns = (now - run->last_ns - run->rested_ns) / landing->n_steps;
    }
    run->last_ns = now;
    run->rested_ns = 0;
}

// Goes on behind the last token that was delivered.
static bool go_on(struct gi_generation *run)
{
    struct glinfer_session *session = run->session;
    run->step = gi_step_executors_find(session, run->end, run->err);
    return run->step && gi_generation_write_state(run, (uint32_t)session->sequence.pending,
                                                  run->base + run->n_submitted - 1, 1);
}

// Drops the chains behind one that its executor gave up, which did nothing, and goes on by many
// dispatches from the last token that was delivered.
static bool recover(struct gi_generation *run, const struct gi_landing *landing)
{
    struct glinfer_session *session = run->session;
    run->n_submitted = landing->first;
    run->step = NULL;                            // it may be destroyed
    gi_gpu_watch(gi_session_gpu(session), NULL); // half a recovery would leave half a state
    if (!gi_step_executors_settle(session, true, run->err)) {
        return false;
    }
    gi_gpu_watch(gi_session_gpu(session), &session->is_cancelled);
    return gi_runner_begin(&session->runner, run->err) && go_on(run);
}

// Returns the steps of a chain up to the one that ends the answer.
static uint32_t count_live(const struct gi_generation *run, const struct gi_landing *landing)
{
    uint32_t n = 1;
    while (n < landing->n_steps && !is_stop_id(run, landing->entries[n - 1].token)) {
        n++;
    }
    return n;
}

// True if all that the chain did up to its n_live'th step can be believed.
static bool check_chain(const struct gi_generation *run, const struct gi_landing *landing,
                        uint32_t n_live)
{
    const struct glinfer_session *session = run->session;
    for (uint32_t i = 0; i < n_live; i++) {
        if (!gi_runner_check_entry(&session->runner, &landing->entries[i], landing->first + i,
                                   session->model->hparams.n_vocab, run->err)) {
            return false;
        }
    }
    return gi_runner_check_count(&session->runner, landing, n_live, run->err);
}

// Waits for the oldest chain and delivers its tokens.
static bool take_chain(struct gi_generation *run)
{
    struct glinfer_session *session = run->session;
    struct gi_landing landing;
    if (!gi_runner_take(&session->runner, &landing, run->err)) {
        return false;
    }
    if (landing.is_faulty) {
        return recover(run, &landing);
    }
    learn_time(run, &landing);
    const uint32_t n_live = count_live(run, &landing);
    if (!check_chain(run, &landing, n_live) || !gi_host_sample_choose(run, &landing)) {
        return false;
    }
    session->sequence.is_stale = false;
    for (uint32_t i = 0; i < n_live && !run->is_finished; i++) {
        session->sequence.n_past = run->base + landing.first + i;
        deliver(run, &landing.entries[i]);
    }
    if (!run->is_finished && landing.first > 0) {
        gi_generation_rest(run, session->runner.step_ns * landing.n_steps);
    }
    return true;
}

//-- the whole -----------------------------------------------------------------------------------

static bool check_params(const struct glinfer_session *session,
                         const struct glinfer_generate_params *params, struct glinfer_error *err)
{
    const size_t n_vocab = session->model->hparams.n_vocab;
    if (params->n_prompt == 0 || !params->prompt) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT, "the prompt has no tokens");
    }
    if (params->n_probs > GI_MAX_PROBS) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "%u log-probabilities a token are too many: %u are the most",
                            params->n_probs, GI_MAX_PROBS);
    }
    if (isnan(params->temperature) || isnan(params->top_p) || isnan(params->min_p)) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "temperature, top_p or min_p is not a number");
    }
    if (!gi_samplers_check(params, (uint32_t)n_vocab, err)) {
        return false;
    }
    if (!GI_CHECK_ARRAY(params->stop, params->n_stop, err)) {
        return false;
    }
    for (size_t i = 0; i < params->n_stop; i++) {
        if (!GI_CHECK_SET(params->stop[i], err)) {
            return false;
        }
    }
    if (params->resume && !session->broken.is_there) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "the session has no answer that broke off");
    }
    for (size_t i = 0; i < params->n_prompt; i++) {
        if (params->prompt[i] < 0 || (size_t)params->prompt[i] >= n_vocab) {
            return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                                "prompt token %zu is %d, the vocabulary has %zu", i,
                                params->prompt[i], n_vocab);
        }
    }
    return true;
}

static bool check_fit(const struct glinfer_session *session, size_t n_prompt,
                      struct glinfer_error *err)
{
    const size_t room = session->sequence.n_ctx - session->sequence.n_past;
    if (n_prompt <= room) {
        return true;
    }
    return gi_error_set(err, GLINFER_STATUS_CONTEXT_FULL,
                        "the prompt has %zu tokens, the context of %u has room for %zu: shorten "
                        "it or ask for a larger context",
                        n_prompt, session->sequence.n_ctx, room);
}

// The prompt with the token that is pending in front; freed by the caller.
static uint32_t *gather_prompt(const struct glinfer_session *session,
                               const struct glinfer_generate_params *params, uint32_t *n,
                               struct glinfer_error *err)
{
    const size_t n_pending = session->sequence.pending != GI_NO_TOKEN;
    const size_t total = params->n_prompt + n_pending;
    if (!check_fit(session, total, err)) {
        return NULL;
    }
    assert(total > 0);
    uint32_t *tokens = malloc(total * sizeof(tokens[0]));
    if (!tokens) {
        gi_error_no_memory(err, total * sizeof(tokens[0]), "the prompt");
        return NULL;
    }
    if (n_pending) {
        tokens[0] = (uint32_t)session->sequence.pending;
    }
    for (size_t i = 0; i < params->n_prompt; i++) {
        tokens[n_pending + i] = (uint32_t)params->prompt[i];
    }
    *n = (uint32_t)total;
    return tokens;
}

// Submits a chain or takes one: whichever comes next. A software renderer computes while we submit,
// so a second chain would only hold the first one back; behind one that rests the GPU is idle, and
// where the host chooses tokens there is nothing to submit.
static bool advance(struct gi_generation *run)
{
    const bool is_alone = gi_gpu_platform(gi_session_gpu(run->session))->is_software ||
                          run->session->gpu_duty < 100 || gi_host_sample_is_on(run);
    const bool is_full = run->session->runner.n_flights == (is_alone ? 1 : GI_CHAINS_IN_FLIGHT);
    return is_full || run->n_submitted == run->max_steps ? take_chain(run)
                                                         : gi_generation_submit_chain(run);
}

// Waits for the prompt where nothing follows, and throws its token away.
static bool end_prompt(struct gi_generation *run)
{
    struct gi_sequence *sequence = &run->session->sequence;
    struct gi_landing landing;
    if (!gi_runner_take(&run->session->runner, &landing, run->err) ||
        !check_chain(run, &landing, 1)) {
        return false;
    }
    sequence->pending = GI_NO_TOKEN;
    sequence->n_past = run->base;
    sequence->is_stale = false;
    return true;
}

// Looks for errors behind a whole answer. One that comes too late to touch it shows the next time.
static bool check_end(const struct gi_generation *run)
{
    struct glinfer_error own = {0};
    return gi_gpu_check(gi_session_gpu(run->session), "generating", &own) ||
           own.status == GLINFER_STATUS_GPU_LOST ||
           gi_error_set(run->err, own.status, "%s", own.message);
}

static bool run_to_end(struct gi_generation *run, const uint32_t *tokens)
{
    struct glinfer_session *session = run->session;
    if (!gi_session_check_cancel(session, "the generation", run->err) ||
        !gi_generation_rebuild(run) ||
        !(tokens ? gi_generation_submit_prompt(run, tokens) : go_on(run))) {
        return false;
    }
    if (run->params->n_predict == 0) {
        return end_prompt(run);
    }
    while (!run->is_finished) {
        if (!advance(run) ||
            (!run->is_finished && !gi_session_check_cancel(session, "the generation", run->err))) {
            return false;
        }
    }
    const struct gi_text rest = gi_text_stream_flush(&run->text);
    if (rest.size > 0 && run->stats->stop != GLINFER_STOP_CALLBACK) {
        deliver_text(run, GI_NO_TOKEN, rest, NULL);
    }
    return check_end(run);
}

static void fill_stats(struct gi_generation *run, uint64_t waits_before)
{
    struct glinfer_stats *stats = run->stats;
    const struct gi_dispatch_table *step =
        gi_tables_list(&run->session->tables, GI_LIST_STEP + run->end, NULL);
    const uint64_t first = run->first_ns ? run->first_ns : gi_clock_ns();
    stats->prompt_n = run->n_prompt;
    stats->prompt_ms = (double)(first - run->start_ns) / 1e6;
    stats->prompt_cpu_ms =
        (double)((run->first_ns ? run->first_cpu_ns : gi_clock_cpu_ns()) - run->start_cpu_ns) / 1e6;
    stats->predicted_cpu_ms = (double)(run->last_cpu_ns - run->first_cpu_ns) / 1e6;
    stats->predicted_ms = run->first_ns ? (double)(run->last_ns - run->first_ns) / 1e6 : 0.0;
    stats->gpu_waits = (uint32_t)(gi_gpu_wait_count(gi_session_gpu(run->session)) - waits_before);
    stats->dispatches_per_token = step ? gi_dispatch_table_count(step) : 0;
    stats->weight_bytes_per_token = step ? gi_dispatch_table_weight_bytes(step) : 0;
    stats->n_past = run->session->sequence.n_past;
    stats->dispatch = run->step                                     ? run->step->class->dispatch
                      : step && gi_dispatch_table_is_indirect(step) ? GLINFER_DISPATCH_INDIRECT
                                                                    : GLINFER_DISPATCH_DIRECT;
    struct rusage usage;
    stats->peak_memory = getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_maxrss * 1024 : 0;
}

// Compiles what no generation needed before.
static bool prepare(struct gi_generation *run)
{
    struct glinfer_session *session = run->session;
    struct gi_tables *tables = &session->tables;
    const bool has_steps = run->max_steps > 1;
    const uint32_t lists = gi_tables_choose(tables, run->end, run->n_prompt, has_steps);
    const bool is_new_kind = tables->ready != 0 && (lists & ~tables->ready) != 0;
    return gi_tables_prepare(tables, lists, run->params->progress, run->params->progress_user,
                             run->err) &&
           gi_tables_list(tables, GI_LIST_STEP + run->end, run->err) &&
           (!is_new_kind || gi_tables_prepare_rest(tables, run->err)) &&
           (!has_steps || gi_step_executors_prepare(session, run->end, false, run->params->progress,
                                                    run->params->progress_user, run->err));
}

// Takes a broken answer up again: what it delivered is known and not delivered anew.
static void take_up(struct gi_generation *run)
{
    const struct glinfer_session *session = run->session;
    const uint32_t n = session->broken.n_delivered;
    for (uint32_t i = 0; i < n; i++) {
        const int32_t id = (int32_t)session->sequence.tokens[run->base + i];
        gi_text_stream_push(&run->text, find_bytes(run, id));
    }
    run->n_submitted = run->n_delivered = n;
    run->first_ns = run->last_ns = gi_clock_ns();
}

// tokens is NULL if a broken answer goes on.
static bool generate(struct gi_generation *run, const uint32_t *tokens)
{
    struct glinfer_session *session = run->session;
    const struct glinfer_generate_params *params = run->params;
    struct gi_platform_saved saved;
    run->base = tokens ? session->sequence.n_past + run->n_prompt : session->broken.base;
    const uint32_t room = session->sequence.n_ctx - run->base + 1; // the last token needs no place
    const uint32_t wanted = (uint32_t)params->n_predict;           // below 0: all that there is
    run->max_steps = wanted > room ? room : wanted;
    run->end = gi_tables_choose_end(params);
    if (!gi_text_stream_init(&run->text, params->stop, params->n_stop, session->max_token_size,
                             run->err)) {
        return false;
    }
    if (!gi_session_enter(session, &saved, run->err)) {
        return false;
    }
    const uint64_t waits = gi_gpu_wait_count(gi_session_gpu(run->session));
    gi_gpu_watch(gi_session_gpu(session), &session->is_cancelled);
    bool ok = prepare(run) && gi_host_sample_begin(run, tokens);
    if (!tokens) {
        take_up(run);
    }
    ok = ok && gi_runner_begin(&session->runner, run->err);
    ok = ok && run_to_end(run, tokens);
    gi_gpu_watch(gi_session_gpu(session), NULL);
    gi_host_sample_end(run, ok);
    fill_stats(run, waits);
    if (ok) {
        gi_step_executors_request(session, run->end);
    }
    gi_session_leave(run->session, &saved);
    return ok;
}

bool glinfer_generate(struct glinfer_session *session, const struct glinfer_generate_params *params,
                      struct glinfer_stats *stats, struct glinfer_error *err)
{
    struct glinfer_generate_params own = {0};
    struct glinfer_stats full = {0};
    struct gi_generation run = {.session = session,
                                .params = &own,
                                .err = err,
                                .stats = &full,
                                .start_ns = gi_clock_ns(),
                                .start_cpu_ns = gi_clock_cpu_ns()};
    if (!GI_CHECK_SET(session, err) || !GI_TAKE(&own, params, err) || !GI_CHECK_SIZED(stats, err) ||
        !check_params(session, &own, err)) {
        return false;
    }
    const bool goes_on = own.resume && session->broken.n_delivered > 0;
    uint32_t *tokens = goes_on ? NULL : gather_prompt(session, &own, &run.n_prompt, err);
    if (!tokens && !goes_on) {
        return false;
    }
    if (goes_on) {
        run.n_prompt = session->broken.n_prompt;
        full.predicted_n = session->broken.n_delivered;
    }
    const bool ok = generate(&run, tokens);
    session->broken = (struct gi_broken_answer){!ok, run.n_prompt, run.base, full.predicted_n};
    gi_text_stream_finish(&run.text);
    free(tokens);
    if (stats) {
        gi_sized_give(stats, &full, sizeof(full));
    }
    gi_device_end_call(session->model->device);
    return ok;
}
