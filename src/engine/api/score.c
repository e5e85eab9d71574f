// glinfer_score: log-probabilities of the tokens of a text, for perplexity. After a batch of the
// prompt, the output projection runs on all of its rows, and a kernel looks up the logits of the
// targets.
#include "engine/api/score.h"

#include "base/arguments.h"
#include "base/array.h"
#include "engine/api/call.h"
#include "gpu/dispatch/multi_executor.h"
#include "gpu/dispatch/time_box.h"
#include "ops/sample/logprob.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROWS = 64, MAX_LOGITS_BYTES = 96 << 20 };

enum score_range {
    SCORE_LOGITS,
    SCORE_TARGETS,
    SCORE_RESULT,
    SCORE_RANGE_COUNT,
};

struct gi_scorer {
    struct gi_owned owned;
    struct glinfer_session *session; // borrowed
    struct gi_arena arena;
    struct gi_range ranges[SCORE_RANGE_COUNT];
    struct gi_executor *executor;
    uint32_t n_rows; // maximum tokens of a batch
};

static void destroy(struct gi_owned *owned)
{
    struct gi_scorer *scorer = (struct gi_scorer *)owned;
    scorer->session->scorer = NULL;
    gi_executor_destroy(scorer->executor);
    gi_arena_finish(&scorer->arena, gi_session_gpu(scorer->session));
    free(scorer);
}

void gi_scorer_close(struct glinfer_session *session)
{
    gi_owned_destroy(&session->on_gpu, (struct gi_owned *)session->scorer);
}

//-- set-up ----------------------------------------------------------------------------------------

static uint32_t logits_stride(const struct glinfer_session *session)
{
    const uint32_t n_rows = session->model->weights.output->n_rows;
    return (n_rows + GI_QUANT_BLOCK - 1) / GI_QUANT_BLOCK * GI_QUANT_BLOCK;
}

static uint32_t choose_rows(const struct glinfer_session *session)
{
    const uint32_t fit = MAX_LOGITS_BYTES / (logits_stride(session) * (uint32_t)sizeof(float));
    uint32_t n_rows = fit < MAX_ROWS ? fit : MAX_ROWS;
    n_rows = n_rows < session->tables.n_batch ? n_rows : session->tables.n_batch;
    return n_rows > 0 ? n_rows : 1;
}

static bool allocate(struct gi_scorer *scorer, const struct glinfer_session *session,
                     struct glinfer_error *err)
{
    const uint64_t row = logits_stride(session) * sizeof(float);
    const uint64_t sizes[SCORE_RANGE_COUNT] = {[SCORE_LOGITS] = scorer->n_rows * row,
                                               [SCORE_TARGETS] = scorer->n_rows * sizeof(int32_t),
                                               [SCORE_RESULT] = scorer->n_rows * sizeof(float)};
    const struct gi_arena_request request = {
        .sizes = sizes, .n = SCORE_RANGE_COUNT, .label = "score"};
    return gi_arena_place(&scorer->arena, gi_session_gpu(session), &request, scorer->ranges, err);
}

static void record(void *user, struct gi_recorder *recorder)
{
    struct glinfer_session *session = user;
    const struct gi_range *ranges = session->scorer->ranges;
    const struct gi_hparams *hparams = &session->model->hparams;
    struct gi_graph *graph = &session->tables.graph;
    const struct gi_rows logits = {ranges[SCORE_LOGITS], logits_stride(session), false};
    gi_graph_norm_rows(graph, recorder, "output_norm", hparams->n_layer - 1, GI_NORM_NEXT,
                       &graph->norm);
    gi_op_gemm(recorder, "output", session->model->weights.output, &graph->norm, false, 1.0f,
               &logits);
    gi_op_logprob(recorder, &logits, hparams->n_vocab, hparams->logit_scale, hparams->logit_softcap,
                  ranges[SCORE_TARGETS], ranges[SCORE_RESULT]);
}

bool gi_scorer_open(struct glinfer_session *session, struct glinfer_error *err)
{
    if (session->scorer) {
        return true;
    }
    struct gi_scorer *scorer = gi_array_zeroed(1, sizeof(*scorer), "scoring", err);
    if (!scorer) {
        return false;
    }
    session->scorer = scorer;
    scorer->session = session;
    gi_owned_add(&session->on_gpu, &scorer->owned, destroy);
    scorer->n_rows = choose_rows(session);
    scorer->executor =
        allocate(scorer, session, err)
            ? gi_tables_create_rows(&session->tables, scorer->n_rows, record, session, err)
            : NULL;
    if (!scorer->executor) {
        gi_scorer_close(session);
    }
    return session->scorer != NULL;
}

//-- scoring ---------------------------------------------------------------------------------------

// Submits ids[0..n) at n_past; targets[i] is the id that follows ids[i].
static bool submit(struct glinfer_session *session, const int32_t *ids, const int32_t *targets,
                   uint32_t n, struct glinfer_error *err)
{
    const struct gi_scorer *scorer = session->scorer;
    struct gi_runner *runner = &session->runner;
    struct gi_executor *prompt = gi_tables_prompt(&session->tables, n, err);
    const struct gi_step_state state = {.n_past = session->sequence.n_past, .n_tokens = n};
    const struct gi_chain chain = {
        .n_past = state.n_past, .n_tokens = n, .n_steps = 1, .box = &runner->box};
    return prompt && gi_time_box_reserve(&runner->box, session->model->device->programs, err) &&
           gi_runner_fill(runner, &session->tables.ranges[GI_SESSION_TOKENS], ids,
                          n * sizeof(ids[0]), err) &&
           gi_runner_fill(runner, &scorer->ranges[SCORE_TARGETS], targets, n * sizeof(ids[0]),
                          err) &&
           gi_runner_write(runner, &state, err) && gi_runner_run(runner, prompt, &chain, err) &&
           gi_runner_run(runner, scorer->executor, &chain, err) &&
           gi_time_box_close(&runner->box, err);
}

static bool collect(struct glinfer_session *session, uint32_t n, float *logprobs,
                    struct glinfer_error *err)
{
    if (!gi_runner_read(&session->runner, &session->scorer->ranges[SCORE_RESULT], logprobs,
                        n * sizeof(float), err)) {
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (!isfinite(logprobs[i])) {
            return gi_error_set(err, GLINFER_STATUS_GPU_FAULT,
                                "the GPU computed a log-probability that is not a number at "
                                "position %u",
                                session->sequence.n_past + i);
        }
    }
    return true;
}

//-- the likeliest tokens --------------------------------------------------------------------------

// Receives the likeliest tokens; n_top 0: none requested.
struct top_list {
    struct glinfer_prob *items; // n_top per token
    uint32_t n_top;
    float *logits; // logits of a batch, read back; owned
};

static double shape_logit(const struct gi_hparams *hparams, float logit)
{
    const double value = (double)hparams->logit_scale * (double)logit, cap = hparams->logit_softcap;
    return cap > 0 ? cap * tanh(value / cap) : value;
}

// Sets top[0..n_top) to the likeliest tokens of a row of logits. The log-probability of one token
// gives the logarithm of the sum.
static void pick_top(const struct gi_hparams *hparams, const float *logits, int32_t target,
                     float logprob, struct glinfer_prob *top, uint32_t n_top)
{
    uint32_t n = 0;
    for (uint32_t id = 0; id < hparams->n_vocab; id++) {
        if (n == n_top && logits[id] <= top[n - 1].logprob) {
            continue;
        }
        uint32_t at = n < n_top ? n++ : n - 1;
        for (; at > 0 && top[at - 1].logprob < logits[id]; at--) {
            top[at] = top[at - 1];
        }
        top[at] = (struct glinfer_prob){(int32_t)id, logits[id]};
    }
    const double log_sum = shape_logit(hparams, logits[target]) - (double)logprob;
    for (uint32_t i = 0; i < n; i++) {
        top[i].logprob = (float)(shape_logit(hparams, top[i].logprob) - log_sum);
    }
}

// Stores the likeliest tokens of the first n rows of a batch whose rows begin at `first`.
static bool collect_top(struct glinfer_session *session, size_t first, uint32_t n,
                        const int32_t *targets, const float *values, struct top_list *list,
                        struct glinfer_error *err)
{
    const struct gi_range *range = &session->scorer->ranges[SCORE_LOGITS];
    const uint32_t stride = logits_stride(session);
    if (list->n_top == 0 || n == 0) {
        return true;
    }
    if (!gi_buffer_read(range->buffer, gi_session_gpu(session), range->offset, list->logits,
                        (uint64_t)n * stride * sizeof(float), err)) {
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        pick_top(&session->model->hparams, list->logits + (size_t)i * stride, targets[i], values[i],
                 list->items + (first + i) * list->n_top, list->n_top);
    }
    return true;
}

static bool score(struct glinfer_session *session, const int32_t *ids, size_t n, float *logprobs,
                  struct top_list *list, struct glinfer_error *err)
{
    int32_t targets[MAX_ROWS];
    float values[MAX_ROWS];
    if (!gi_scorer_open(session, err) || !gi_runner_begin(&session->runner, err)) {
        return false;
    }
    if (list->n_top > 0) {
        list->logits = gi_array_zeroed((size_t)session->scorer->n_rows * logits_stride(session),
                                       sizeof(float), "logits", err);
        if (!list->logits) {
            return false;
        }
    }
    for (size_t done = 0; done < n;) {
        const size_t left = n - done;
        const uint32_t count =
            left < session->scorer->n_rows ? (uint32_t)left : session->scorer->n_rows;
        for (uint32_t i = 0; i < count; i++) {
            targets[i] = done + i + 1 < n ? ids[done + i + 1] : 0;
        }
        session->sequence.n_state = GI_NO_STATE; // unknown until the batch has run
        if (!submit(session, ids + done, targets, count, err) ||
            !collect(session, count, values, err)) {
            return false;
        }
        const uint32_t n_known = left == count ? count - 1 : count;
        if (!collect_top(session, done, n_known, targets, values, list, err)) {
            return false;
        }
        memcpy(logprobs + done, values, n_known * sizeof(float));
        gi_sequence_note_batch(&session->sequence, session->sequence.n_past,
                               (const uint32_t *)ids + done, count);
        session->sequence.n_past += count;
        session->sequence.n_state = session->sequence.n_past;
        done += count;
        if (!gi_session_check_cancel(session, "the scoring", err)) {
            return false;
        }
    }
    return gi_gpu_check(gi_session_gpu(session), "scoring", err);
}

static bool check(const struct glinfer_session *session, const int32_t *ids, size_t n,
                  const float *logprobs, struct glinfer_error *err)
{
    if (!GI_CHECK_SET(session, err) || !GI_CHECK_ARRAY(ids, n, err) ||
        !GI_CHECK_ARRAY(logprobs, n, err)) {
        return false;
    }
    if (!gi_model_check_decoder(session->model, err)) {
        return false;
    }
    if (n < 2) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "scoring takes at least two tokens");
    }
    if (n > session->sequence.n_ctx) {
        return gi_error_set(err, GLINFER_STATUS_CONTEXT_FULL,
                            "%zu tokens do not fit the context of %u", n, session->sequence.n_ctx);
    }
    for (size_t i = 0; i < n; i++) {
        if (ids[i] < 0 || (uint32_t)ids[i] >= session->model->hparams.n_vocab) {
            return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                                "token %zu is %d, the vocabulary has %u", i, ids[i],
                                session->model->hparams.n_vocab);
        }
    }
    return true;
}

bool glinfer_score_top(struct glinfer_session *session, const int32_t *ids, size_t n,
                       uint32_t n_top, float *logprobs, struct glinfer_prob *top,
                       struct glinfer_error *err)
{
    struct gi_platform_saved saved;
    struct top_list list = {.items = top, .n_top = n_top};
    if (!check(session, ids, n, logprobs, err) || !GI_CHECK_ARRAY(top, n_top, err) ||
        !GI_CHECK_ENUM(n_top, session->model->hparams.n_vocab, err) ||
        !gi_call_begin(session, &saved, err)) {
        return false;
    }
    gi_session_reset(session);
    gi_gpu_watch(gi_session_gpu(session), &session->is_cancelled);
    const bool ok = score(session, ids, n, logprobs, &list, err);
    free(list.logits);
    gi_gpu_watch(gi_session_gpu(session), NULL);
    gi_call_leave(session, &saved);
    return ok;
}

bool glinfer_score(struct glinfer_session *session, const int32_t *ids, size_t n, float *logprobs,
                   struct glinfer_error *err)
{
    return glinfer_score_top(session, ids, n, 0, logprobs, NULL, err);
}
