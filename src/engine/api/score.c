// glinfer_score: log-probabilities of the tokens of a text, for perplexity. After a batch of the
// prompt, the output projection runs on all of its rows, and a kernel looks up the logits of the
// targets.
#include "engine/api/score.h"

#include "base/arguments.h"
#include "base/array.h"
#include "base/round.h"
#include "engine/api/text_run.h"
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
    return gi_round_up(session->model->weights.output->n_rows, GI_QUANT_BLOCK);
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
    const uint64_t row = logits_stride(session) * sizeof(float);
    const uint32_t fit = (uint32_t)(MAX_LOGITS_BYTES / row);
    const uint32_t n = gi_min_u32(gi_min_u32(fit, MAX_ROWS), session->tables.n_batch);
    const uint32_t n_rows = n > 0 ? n : 1;
    const uint64_t sizes[SCORE_RANGE_COUNT] = {[SCORE_LOGITS] = n_rows * row,
                                               [SCORE_TARGETS] = n_rows * sizeof(int32_t),
                                               [SCORE_RESULT] = n_rows * sizeof(float)};
    const struct gi_arena_request request = {
        .sizes = sizes, .n = SCORE_RANGE_COUNT, .label = "score"};
    scorer->n_rows = n_rows;
    if (gi_arena_place(&scorer->arena, gi_session_gpu(session), &request, scorer->ranges, err)) {
        scorer->executor = gi_tables_create_rows(&session->tables, n_rows, record, session, err);
    }
    if (!scorer->executor) {
        gi_scorer_close(session);
    }
    return session->scorer != NULL;
}

//-- the likeliest tokens --------------------------------------------------------------------------

struct scoring {
    struct gi_text_run run;
    float *logprobs; // (n - 1)
    // The likeliest tokens; n_top 0: not asked for.
    struct glinfer_prob *top; // (n - 1, n_top)
    uint32_t n_top;
    float *logits; // logits of a batch, read back; owned
};

static int32_t target_of(const struct gi_text_run *run, size_t token)
{
    return token + 1 < run->n ? run->ids[token + 1] : 0;
}

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
static bool take_top(struct scoring *scoring, size_t first, uint32_t n)
{
    const struct gi_text_run *run = &scoring->run;
    const struct gi_range *range = &run->session->scorer->ranges[SCORE_LOGITS];
    const uint32_t stride = logits_stride(run->session), n_top = scoring->n_top;
    if (n_top == 0 || n == 0) {
        return true;
    }
    if (!gi_buffer_read(range->buffer, gi_session_gpu(run->session), range->offset, scoring->logits,
                        (uint64_t)n * stride * sizeof(float), run->err)) {
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        pick_top(&run->session->model->hparams, scoring->logits + (size_t)i * stride,
                 target_of(run, first + i), scoring->logprobs[first + i],
                 scoring->top + (first + i) * n_top, n_top);
    }
    return true;
}

//-- batches ---------------------------------------------------------------------------------------

static bool write_targets(struct gi_text_run *run, size_t begin, uint32_t count)
{
    int32_t targets[MAX_ROWS];
    for (uint32_t i = 0; i < count; i++) {
        targets[i] = target_of(run, begin + i);
    }
    return gi_runner_fill(&run->session->runner, &run->session->scorer->ranges[SCORE_TARGETS],
                          targets, count * sizeof(targets[0]), run->err);
}

// The last token of the text has no target.
static bool take_batch(struct gi_text_run *run, size_t begin, uint32_t count)
{
    struct scoring *scoring = (struct scoring *)run;
    float values[MAX_ROWS];
    const uint32_t n = begin + count == run->n ? count - 1 : count;
    if (!gi_runner_read(&run->session->runner, &run->session->scorer->ranges[SCORE_RESULT], values,
                        count * sizeof(float), run->err)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!isfinite(values[i])) {
            return gi_error_set(run->err, GLINFER_STATUS_GPU_FAULT,
                                "the GPU computed a log-probability that is not a number at "
                                "position %zu",
                                begin + i);
        }
    }
    memcpy(scoring->logprobs + begin, values, n * sizeof(float));
    return take_top(scoring, begin, n);
}

static bool score(struct gi_text_run *run)
{
    struct scoring *scoring = (struct scoring *)run;
    if (!gi_scorer_open(run->session, run->err)) {
        return false;
    }
    run->n_batch = run->session->scorer->n_rows;
    run->reader = run->session->scorer->executor;
    if (scoring->n_top > 0) {
        scoring->logits = gi_array_zeroed((size_t)run->n_batch * logits_stride(run->session),
                                          sizeof(float), "logits", run->err);
    }
    const bool ok = (scoring->logits || scoring->n_top == 0) && gi_text_run_batches(run);
    free(scoring->logits);
    return ok;
}

static bool check_and_score(struct glinfer_session *session, const int32_t *ids, size_t n,
                            uint32_t n_top, float *logprobs, struct glinfer_prob *top,
                            struct glinfer_error *err)
{
    struct scoring scoring = {.run = {session, ids, n, "the scoring", .err = err,
                                      .write = write_targets, .take = take_batch},
                              .top = top,
                              .n_top = n_top};
    scoring.logprobs = logprobs;
    if (!GI_CHECK(err, GI_SET(session), GI_ARRAY(ids, n), GI_ARRAY(logprobs, n)) ||
        !gi_model_check_decoder(session->model, err)) {
        return false;
    }
    if (n < 2) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "scoring takes at least two tokens");
    }
    return gi_text_run_check(&scoring.run) &&
           GI_CHECK(err, GI_ARRAY(top, n_top), GI_ENUM(n_top, session->model->hparams.n_vocab)) &&
           gi_text_run_call(&scoring.run, score);
}

bool glinfer_score_top(struct glinfer_session *session, const int32_t *ids, size_t n,
                       uint32_t n_top, float *logprobs, struct glinfer_prob *top,
                       struct glinfer_error *err)
{
    return check_and_score(session, ids, n, n_top, logprobs, top, err);
}

bool glinfer_score(struct glinfer_session *session, const int32_t *ids, size_t n, float *logprobs,
                   struct glinfer_error *err)
{
    return check_and_score(session, ids, n, 0, logprobs, NULL, err);
}
