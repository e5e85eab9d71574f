// glinfer_embed: the vectors of a text's tokens, pooled. Batches run as those of a prompt do; the
// norm of their rows follows, and what the pooling needs of them is read back. A decoder's text may
// have several batches. An encoder's is one, as long as the context, because its first token sees
// the last.
#include "engine/api/text_embedding.h"

#include "base/arguments.h"
#include "base/array.h"
#include "engine/api/call.h"
#include "gpu/dispatch/multi_executor.h"
#include "gpu/dispatch/time_box.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct gi_embedder {
    struct gi_owned owned;
    struct glinfer_session *session; // borrowed
    struct gi_executor *norm;        // of the rows of a batch; NULL: not needed
};

static void destroy(struct gi_owned *owned)
{
    struct gi_embedder *embedder = (struct gi_embedder *)owned;
    embedder->session->embedder = NULL;
    gi_executor_destroy(embedder->norm);
    free(embedder);
}

void gi_embedder_close(struct glinfer_session *session)
{
    gi_owned_destroy(&session->on_gpu, (struct gi_owned *)session->embedder);
}

//-- set-up ----------------------------------------------------------------------------------------

// Records the norm of all rows that a batch leaves in the residual stream.
static void record(void *user, struct gi_recorder *recorder)
{
    struct gi_graph *graph = user;
    gi_graph_norm_rows(graph, recorder, "output_norm", graph->hparams->n_layer - 1, GI_NORM_NEXT,
                       &graph->norm);
}

// An encoder whose layers end in a norm has none before an output, and needs no table.
static bool has_norm(const struct glinfer_session *session)
{
    return session->model->hparams.embed_norm != GI_EMBED_NORM_OUTPUT;
}

// Returns the rows that a batch leaves for the pooling.
static const struct gi_rows *find_rows(const struct glinfer_session *session)
{
    return has_norm(session) ? &session->tables.graph.norm : &session->tables.graph.x;
}

bool gi_embedder_open(struct glinfer_session *session, struct glinfer_error *err)
{
    if (session->embedder) {
        return true;
    }
    struct gi_embedder *embedder = gi_array_zeroed(1, sizeof(*embedder), "embeddings", err);
    if (!embedder) {
        return false;
    }
    session->embedder = embedder;
    embedder->session = session;
    gi_owned_add(&session->on_gpu, &embedder->owned, destroy);
    if (has_norm(session)) {
        embedder->norm = gi_tables_create_rows(&session->tables, session->tables.n_batch, record,
                                               &session->tables.graph, err);
        if (!embedder->norm) {
            gi_embedder_close(session);
        }
    }
    return session->embedder != NULL;
}

//-- pooling ---------------------------------------------------------------------------------------

// A text on its way to an embedding.
struct text {
    struct glinfer_session *session;
    enum glinfer_pooling pooling;
    bool is_rank; // scores are asked for; pooling is that of the classifier's input
    const int32_t *ids;
    size_t n;
    float *rows;   // as many tokens as are read back together
    double *sums;  // (n_embd), of a mean
    float *pooled; // (n_embd)
    float *values; // that the caller gets
};

static uint32_t rows_together(const struct glinfer_session *session)
{
    const size_t row = session->tables.graph.norm.stride * sizeof(float);
    return row < GI_RUNNER_READ_SIZE ? (uint32_t)(GI_RUNNER_READ_SIZE / row) : 1;
}

// Reads rows [first, first + n) of the batch, a row in pieces where it is long.
static bool read_rows(struct text *text, uint32_t first, uint32_t n, struct glinfer_error *err)
{
    const struct gi_rows *norm = find_rows(text->session);
    const uint64_t row = norm->stride * sizeof(float), size = n * row;
    struct gi_range range = norm->range;
    range.offset += first * row;
    for (uint64_t done = 0; done < size; done += GI_RUNNER_READ_SIZE) {
        const uint64_t left = size - done;
        if (!gi_runner_read(&text->session->runner, &range, (uint8_t *)text->rows + done,
                            left < GI_RUNNER_READ_SIZE ? left : GI_RUNNER_READ_SIZE, err)) {
            return false;
        }
        range.offset += GI_RUNNER_READ_SIZE;
    }
    return true;
}

static bool check_row(const struct text *text, const float *row, size_t token,
                      struct glinfer_error *err)
{
    for (uint32_t i = 0; i < text->session->model->hparams.n_embd; i++) {
        if (!isfinite(row[i])) {
            return gi_error_set(err, GLINFER_STATUS_GPU_FAULT,
                                "the GPU computed an embedding that is not a number at token %zu",
                                token);
        }
    }
    return true;
}

// Takes what the pooling needs of a token's row.
static bool take_row(struct text *text, const float *row, size_t token, struct glinfer_error *err)
{
    const uint32_t n_embd = text->session->model->hparams.n_embd;
    if (!check_row(text, row, token, err)) {
        return false;
    }
    if (text->pooling != GLINFER_POOLING_MEAN) {
        const bool is_pooled = text->pooling != GLINFER_POOLING_NONE;
        memcpy(is_pooled ? text->pooled : text->values + token * n_embd, row,
               n_embd * sizeof(float));
        return true;
    }
    for (uint32_t i = 0; i < n_embd; i++) {
        text->sums[i] += (double)row[i];
    }
    return true;
}

// Takes rows of a batch of count tokens from token `begin` of the text on.
static bool take_batch(struct text *text, size_t begin, uint32_t count, struct glinfer_error *err)
{
    const uint32_t stride = text->session->tables.graph.norm.stride;
    const uint32_t together = rows_together(text->session);
    uint32_t first = 0, end = count;
    if (text->pooling == GLINFER_POOLING_CLS) {
        end = begin == 0 ? 1 : 0;
    } else if (text->pooling == GLINFER_POOLING_LAST) {
        first = begin + count == text->n ? count - 1 : count;
    }
    while (first < end) {
        const uint32_t n = end - first < together ? end - first : together;
        if (!read_rows(text, first, n, err)) {
            return false;
        }
        for (uint32_t i = 0; i < n; i++) {
            if (!take_row(text, text->rows + (size_t)i * stride, begin + first + i, err)) {
                return false;
            }
        }
        first += n;
    }
    return true;
}

static void scale_to_one(float *values, uint32_t n)
{
    double squares = 0;
    for (uint32_t i = 0; i < n; i++) {
        squares += (double)values[i] * (double)values[i];
    }
    const double scale = squares > 0 ? 1 / sqrt(squares) : 0;
    for (uint32_t i = 0; i < n; i++) {
        values[i] = (float)((double)values[i] * scale);
    }
}

// Makes shares of scores of several classes.
static void apply_softmax(float *scores, uint32_t n)
{
    double largest = -INFINITY, sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        largest = fmax(largest, (double)scores[i]);
    }
    for (uint32_t i = 0; i < n; i++) {
        sum += exp((double)scores[i] - largest);
    }
    for (uint32_t i = 0; i < n; i++) {
        scores[i] = (float)(exp((double)scores[i] - largest) / sum);
    }
}

static bool finish_text(struct text *text, bool is_raw, struct glinfer_error *err)
{
    const struct glinfer_model *model = text->session->model;
    const uint32_t n_embd = model->hparams.n_embd;
    for (uint32_t i = 0; text->pooling == GLINFER_POOLING_MEAN && i < n_embd; i++) {
        text->pooled[i] = (float)(text->sums[i] / (double)text->n);
    }
    if (text->pooling == GLINFER_POOLING_NONE) {
        return true;
    }
    if (text->is_rank) {
        if (!gi_dense_head_score(&model->head, text->pooled, n_embd, text->values, err)) {
            return false;
        }
        const uint32_t n = gi_dense_head_score_count(&model->head);
        if (!model->hparams.is_encoder && n > 1) {
            apply_softmax(text->values, n);
        }
        return true;
    }
    if (!gi_dense_head_project(&model->head, text->pooled, n_embd, text->values, err)) {
        return false;
    }
    if (!is_raw) {
        scale_to_one(text->values, gi_dense_head_embedding_size(&model->head, n_embd));
    }
    return true;
}

//-- batches ---------------------------------------------------------------------------------------

static bool submit(struct text *text, size_t begin, uint32_t count, struct glinfer_error *err)
{
    struct glinfer_session *session = text->session;
    struct gi_runner *runner = &session->runner;
    struct gi_executor *prompt = gi_tables_prompt(&session->tables, count, err);
    const struct gi_step_state state = {.n_past = session->sequence.n_past, .n_tokens = count};
    const struct gi_chain chain = {
        .n_past = state.n_past, .n_tokens = count, .n_steps = 1, .box = &runner->box};
    return prompt && gi_time_box_reserve(&runner->box, session->model->device->programs, err) &&
           gi_runner_fill(runner, &session->tables.ranges[GI_SESSION_TOKENS], text->ids + begin,
                          count * sizeof(int32_t), err) &&
           gi_runner_write(runner, &state, err) && gi_runner_run(runner, prompt, &chain, err) &&
           (!session->embedder->norm ||
            gi_runner_run(runner, session->embedder->norm, &chain, err)) &&
           gi_time_box_close(&runner->box, err);
}

static bool run_batches(struct text *text, struct glinfer_error *err)
{
    struct glinfer_session *session = text->session;
    const uint32_t n_batch = session->tables.n_batch;
    if (!gi_embedder_open(session, err) || !gi_runner_begin(&session->runner, err)) {
        return false;
    }
    for (size_t done = 0; done < text->n;) {
        const size_t left = text->n - done;
        const uint32_t count = left < n_batch ? (uint32_t)left : n_batch;
        session->sequence.n_state = GI_NO_STATE; // until the batch has run
        if (!submit(text, done, count, err) || !take_batch(text, done, count, err)) {
            return false;
        }
        gi_sequence_note_batch(&session->sequence, session->sequence.n_past,
                               (const uint32_t *)text->ids + done, count);
        session->sequence.n_past += count;
        session->sequence.n_state = session->sequence.n_past;
        done += count;
        if (!gi_session_check_cancel(session, "the embedding", err)) {
            return false;
        }
    }
    return gi_gpu_check(gi_session_gpu(session), "an embedding", err);
}

static bool embed(struct text *text, bool is_raw, struct glinfer_error *err)
{
    const struct gi_rows *norm = &text->session->tables.graph.norm;
    const size_t together = rows_together(text->session);
    text->rows = gi_array_zeroed(together * norm->stride, sizeof(float), "an embedding", err);
    text->sums = gi_array_zeroed(norm->stride, sizeof(double), "an embedding", err);
    text->pooled = gi_array_zeroed(norm->stride, sizeof(float), "an embedding", err);
    const bool ok = text->rows && text->sums && text->pooled && run_batches(text, err) &&
                    finish_text(text, is_raw, err);
    free(text->rows);
    free(text->sums);
    free(text->pooled);
    return ok;
}

//-- the call --------------------------------------------------------------------------------------

static bool check_ids(const struct glinfer_session *session, const int32_t *ids, size_t n,
                      struct glinfer_error *err)
{
    if (n == 0) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "a text without tokens has no embedding");
    }
    if (n > session->sequence.n_ctx) {
        return gi_error_set(err, GLINFER_STATUS_CONTEXT_FULL,
                            "%zu tokens do not fit the context of %u", n, session->sequence.n_ctx);
    }
    if (session->model->hparams.is_encoder && n > session->tables.n_batch) {
        return gi_error_set(err, GLINFER_STATUS_CONTEXT_FULL,
                            "a text of %zu tokens is too long for this encoder: it sees a text as "
                            "a whole, in a batch of at most %u",
                            n, session->tables.n_batch);
    }
    if (session->model->positions && n > session->model->hparams.n_ctx_train) {
        return gi_error_set(err, GLINFER_STATUS_CONTEXT_FULL,
                            "a text of %zu tokens is too long for this encoder: it knows %u "
                            "positions",
                            n, session->model->hparams.n_ctx_train);
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

static bool choose_pooling(const struct glinfer_model *model, enum glinfer_pooling asked,
                           enum glinfer_pooling *pooling, struct glinfer_error *err)
{
    *pooling = asked == GLINFER_POOLING_DEFAULT ? model->hparams.pooling : asked;
    if (*pooling == GLINFER_POOLING_DEFAULT) {
        return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                            "the model was not made for embeddings: its file names no pooling; "
                            "mean or last has to be asked for");
    }
    if (*pooling == GLINFER_POOLING_RANK && !gi_dense_head_has_scores(&model->head)) {
        return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                            "the model has no classifier that would score a text");
    }
    return true;
}

// Returns how the input of a classifier is pooled.
static enum glinfer_pooling rank_pooling(const struct gi_hparams *hparams)
{
    const bool is_known = hparams->rank_pooling == GLINFER_POOLING_MEAN ||
                          hparams->rank_pooling == GLINFER_POOLING_CLS ||
                          hparams->rank_pooling == GLINFER_POOLING_LAST;
    return is_known              ? hparams->rank_pooling
           : hparams->is_encoder ? GLINFER_POOLING_CLS
                                 : GLINFER_POOLING_LAST;
}

static size_t count_values(const struct glinfer_model *model, enum glinfer_pooling pooling,
                           size_t n_tokens)
{
    const uint32_t n_embd = model->hparams.n_embd;
    return pooling == GLINFER_POOLING_NONE   ? n_tokens * n_embd
           : pooling == GLINFER_POOLING_RANK ? gi_dense_head_score_count(&model->head)
                                             : gi_dense_head_embedding_size(&model->head, n_embd);
}

bool glinfer_embed(struct glinfer_session *session, const int32_t *ids, size_t n,
                   const struct glinfer_embed_params *params, float *values, size_t cap,
                   size_t *n_values, struct glinfer_error *err)
{
    struct glinfer_embed_params own = {0};
    struct gi_platform_saved saved;
    struct text text = {.session = session, .ids = ids, .n = n, .values = values};
    if (!GI_CHECK_SET(session, err) || !GI_CHECK_SET(n_values, err) ||
        !GI_CHECK_ARRAY(ids, n, err) || !GI_CHECK_ARRAY(values, cap, err) ||
        !GI_TAKE(&own, params, err) || !GI_CHECK_ENUM(own.pooling, GLINFER_POOLING_RANK, err) ||
        !check_ids(session, ids, n, err) ||
        !choose_pooling(session->model, own.pooling, &text.pooling, err)) {
        return false;
    }
    *n_values = count_values(session->model, text.pooling, n);
    text.is_rank = text.pooling == GLINFER_POOLING_RANK;
    text.pooling = text.is_rank ? rank_pooling(&session->model->hparams) : text.pooling;
    if (cap == 0) {
        return true;
    }
    if (cap < *n_values) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "an embedding of %zu numbers does not fit %zu", *n_values, cap);
    }
    if (!gi_call_begin(session, &saved, err)) {
        return false;
    }
    gi_session_reset(session);
    gi_gpu_watch(gi_session_gpu(session), &session->is_cancelled);
    const bool ok = embed(&text, own.is_raw, err);
    gi_gpu_watch(gi_session_gpu(session), NULL);
    gi_call_leave(session, &saved);
    return ok;
}
