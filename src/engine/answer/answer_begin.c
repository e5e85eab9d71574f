// Begins and ends an answer: checks and copies its parameters, compiles the programs that it needs,
// and fills its statistics.
#include "base/arguments.h"
#include "base/array.h"
#include "base/clock.h"
#include "engine/answer/answer.h"
#include "engine/answer/constraint.h"
#include "engine/answer/context_full.h"
#include "engine/answer/joint_run.h"
#include "engine/session/samplers.h"
#include "engine/session/step_executors.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

//-- parameters ------------------------------------------------------------------------------------

static bool check_fit(const struct glinfer_session *session, size_t n_prompt,
                      struct glinfer_error *err)
{
    const size_t room = session->sequence.n_ctx - session->sequence.n_past;
    char taken[40] = "";
    if (n_prompt <= room) {
        return true;
    }
    if (session->sequence.n_past > 0) {
        snprintf(taken, sizeof(taken), ", %u of which are taken", session->sequence.n_past);
    }
    return gi_error_set(err, GLINFER_STATUS_CONTEXT_FULL,
                        "the prompt has %zu tokens, the context %u%s: shorten it or ask for a "
                        "larger context",
                        n_prompt, session->sequence.n_ctx, taken);
}

// Checks the places of checkpoints: at most GI_MAX_CHECKPOINTS, ascending, within the prompt.
static bool check_checkpoints(const struct glinfer_generate_params *params,
                              struct glinfer_error *err)
{
    const size_t n = params->n_checkpoints;
    bool ok = n <= GI_MAX_CHECKPOINTS && (n == 0 || params->checkpoints);
    for (size_t i = 0; ok && i < n; i++) {
        ok = params->checkpoints[i] < params->n_prompt &&
             (i == 0 || params->checkpoints[i] > params->checkpoints[i - 1]);
    }
    return ok || gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                              "invalid checkpoints: expected at most %u ascending numbers of "
                              "tokens below that of the prompt",
                              GI_MAX_CHECKPOINTS);
}

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
    if (!check_checkpoints(params, err) || !gi_samplers_check(params, (uint32_t)n_vocab, err) ||
        !gi_constraint_check(params, err) ||
        !GI_CHECK(err, GI_STRINGS(params->stop, params->n_stop),
                  GI_ENUM(params->context_full, GLINFER_CONTEXT_FULL_SHIFT))) {
        return false;
    }
    if (params->resume && !session->broken.is_there) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "the session has no answer that broke off");
    }
    if (!params->resume && !check_fit(session, params->n_prompt, err)) {
        return false;
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

// Sets the prompt after the pending token, if there is one, and the places of its checkpoints.
static bool gather_prompt(const struct glinfer_session *session,
                          const struct glinfer_generate_params *params,
                          struct gi_answer_prompt *prompt, struct glinfer_error *err)
{
    const size_t n_pending = session->sequence.pending != GI_NO_TOKEN;
    const size_t total = params->n_prompt + n_pending;
    if (!check_fit(session, total, err)) {
        return false;
    }
    assert(total > 0);
    uint32_t *tokens = malloc(total * sizeof(tokens[0]));
    if (!tokens) {
        return gi_error_no_memory(err, total * sizeof(tokens[0]), "the prompt");
    }
    if (n_pending) {
        tokens[0] = (uint32_t)session->sequence.pending;
    }
    for (size_t i = 0; i < params->n_prompt; i++) {
        tokens[n_pending + i] = (uint32_t)params->prompt[i];
    }
    for (size_t i = 0; i < params->n_checkpoints; i++) {
        const uint32_t at = params->checkpoints[i];
        prompt->checkpoints[prompt->n_checkpoints++] = at + (at > 0 ? (uint32_t)n_pending : 0);
    }
    prompt->tokens = tokens;
    prompt->n_tokens = (uint32_t)total;
    return true;
}

static bool read_params(struct gi_answer *answer)
{
    struct glinfer_session *session = answer->session;
    const struct glinfer_generate_params *params = &answer->params;
    const struct gi_broken_answer *broken = &session->broken;
    const bool goes_on = params->resume && broken->stats.predicted_n > 0;
    if (goes_on) {
        answer->prompt.n_tokens = answer->prompt.n_processed = broken->n_prompt;
        answer->base = broken->base;
        answer->stats = broken->stats;
    } else {
        if (!gather_prompt(session, params, &answer->prompt, &answer->err)) {
            return false;
        }
        answer->base = session->sequence.n_past + answer->prompt.n_tokens;
    }
    const uint32_t room =
        session->sequence.n_ctx - answer->base + 1;      // the last token is not cached
    const uint32_t wanted = (uint32_t)params->n_predict; // negative: no limit
    answer->max_steps = wanted > room ? room : wanted;
    answer->end = gi_samplers_choose_end(params);
    answer->adjusting.bits = params->n_predict == 0 ? 0 : gi_samplers_adjust(params);
    return gi_text_stream_init(&answer->text, params->stop, params->n_stop, session->max_token_size,
                               &answer->err);
}

struct gi_answer *gi_answer_create(struct glinfer_session *session,
                                   const struct glinfer_generate_params *params,
                                   struct glinfer_error *err)
{
    struct glinfer_generate_params own = {0};
    if (!GI_CHECK(err, GI_COPY(&own, params)) || !check_params(session, &own, err)) {
        return NULL;
    }
    struct gi_answer *answer = gi_array_zeroed(1, sizeof(*answer), "an answer", err);
    if (!answer) {
        return NULL;
    }
    answer->session = session;
    answer->watched_fd = -1;
    answer->params = own;
    answer->clock.start_ns = gi_clock_ns();
    answer->clock.start_cpu_ns = gi_clock_cpu_ns();
    if (!read_params(answer)) {
        gi_error_pass(err, &answer->err);
        gi_text_stream_finish(&answer->text);
        free(answer->prompt.tokens);
        free(answer);
        return NULL;
    }
    return answer;
}

enum gi_step_end gi_answer_step_kind(const struct gi_answer *answer)
{
    return gi_adjust_is_masked(answer) ? GI_STEP_LOGITS : answer->end;
}

//-- the beginning ---------------------------------------------------------------------------------

// Prepares the lists that the answer needs and that are not ready.
static bool prepare(struct gi_answer *answer, bool joins)
{
    struct glinfer_session *session = answer->session;
    struct gi_tables *tables = &session->tables;
    const bool has_steps = answer->max_steps > 1;
    const uint32_t pieces = 1u << GI_LIST_LOGITS | 1u << (GI_LIST_CHOICE + answer->end);
    const uint32_t lists =
        gi_tables_choose(tables, answer->end, gi_answer_prompt_size(answer), has_steps) |
        (has_steps && gi_adjust_is_masked(answer) ? pieces : 0);
    const bool is_new_kind = tables->ready != 0 && (lists & ~tables->ready) != 0;
    return gi_tables_prepare(tables, lists, answer->params.progress, answer->params.progress_user,
                             &answer->err) &&
           gi_tables_list(tables, GI_LIST_STEP + answer->end, &answer->err) &&
           (!is_new_kind || gi_tables_prepare_rest(tables, &answer->err)) &&
           (!has_steps || gi_step_executors_prepare(session, gi_answer_step_kind(answer), false,
                                                    answer->params.progress,
                                                    answer->params.progress_user, &answer->err)) &&
           (!has_steps || !joins || gi_joint_run_prepare(answer));
}

// Resumes a broken answer: the tokens that it delivered are not delivered again. It may have
// delivered all of them.
static void take_up(struct gi_answer *answer)
{
    const struct glinfer_session *session = answer->session;
    const uint32_t n = answer->stats.predicted_n;
    for (uint32_t i = 0; i < n; i++) {
        const int32_t id = (int32_t)session->sequence.tokens[answer->base + i];
        gi_text_stream_push(&answer->text, gi_answer_bytes(answer, id));
    }
    answer->n_submitted = n;
    answer->clock.first_ns = answer->clock.last_ns = gi_clock_ns();
    if (session->broken.is_finished) {
        gi_answer_finish(answer, answer->stats.stop);
    } else if (n >= answer->max_steps) {
        gi_answer_reach_limit(answer);
    }
}

bool gi_answer_start(struct gi_answer *answer, bool joins)
{
    struct glinfer_session *session = answer->session;
    answer->clock.waits = gi_gpu_counts(gi_session_gpu(session))->n_waits;
    const bool ok = prepare(answer, joins) && gi_host_sample_begin(answer) &&
                    gi_adjust_begin(answer) && gi_speculation_begin(answer);
    answer->params.samplers = NULL; // valid only during the call that begins the answer
    answer->params.grammar = NULL;
    if (!ok) {
        return false;
    }
    if (!answer->prompt.tokens) {
        take_up(answer);
    }
    return gi_runner_begin(&session->runner, &answer->err) &&
           gi_session_check_cancel(session, "the answer", &answer->err) &&
           (answer->state != GI_ANSWER_DECODES || gi_answer_rebuild(answer));
}

//-- the end ---------------------------------------------------------------------------------------

void gi_answer_fill_stats(struct gi_answer *answer)
{
    struct glinfer_stats *stats = &answer->stats;
    const struct gi_dispatch_table *step =
        gi_tables_list(&answer->session->tables, GI_LIST_STEP + answer->end, NULL);
    const uint64_t first = answer->clock.first_ns ? answer->clock.first_ns : gi_clock_ns();
    // A prompt of one token is a decode step, which is not counted as processed.
    stats->prompt_n =
        answer->prompt.n_tokens > 1 ? answer->prompt.n_processed : answer->prompt.n_tokens;
    stats->prompt_ms = (double)(first - answer->clock.start_ns) / 1e6;
    stats->prompt_cpu_ms =
        (double)((answer->clock.first_ns ? answer->clock.first_cpu_ns : gi_clock_cpu_ns()) -
                 answer->clock.start_cpu_ns) /
        1e6;
    stats->predicted_cpu_ms =
        (double)(answer->clock.last_cpu_ns - answer->clock.first_cpu_ns) / 1e6;
    stats->predicted_ms = answer->clock.first_ns
                              ? (double)(answer->clock.last_ns - answer->clock.first_ns) / 1e6
                              : 0.0;
    stats->gpu_waits =
        (uint32_t)(gi_gpu_counts(gi_session_gpu(answer->session))->n_waits - answer->clock.waits);
    stats->dispatches_per_token = step ? gi_dispatch_table_count(step) : 0;
    stats->weight_bytes_per_token = step ? gi_dispatch_table_weight_bytes(step) : 0;
    stats->n_past = answer->session->sequence.n_past;
    const struct gi_executor *executor = answer->logits ? answer->logits : answer->step;
    stats->dispatch = executor                                      ? executor->class->dispatch
                      : step && gi_dispatch_table_is_indirect(step) ? GLINFER_DISPATCH_INDIRECT
                                                                    : GLINFER_DISPATCH_DIRECT;
    struct rusage usage;
    stats->peak_memory = getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_maxrss * 1024 : 0;
}

void gi_answer_destroy(struct gi_answer *answer, bool is_whole)
{
    if (!answer) {
        return;
    }
    answer->session->broken =
        (struct gi_broken_answer){.is_there = !is_whole && answer->n_shifts == 0,
                                  .n_prompt = answer->prompt.n_tokens,
                                  .base = answer->base,
                                  .stats = answer->stats,
                                  .is_finished = gi_answer_is_finished(answer)};
    gi_text_stream_finish(&answer->text);
    gi_adjust_finish(&answer->adjusting);
    free(answer->prompt.tokens);
    free(answer);
}
