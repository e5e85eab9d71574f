// glinfer_embed: the vectors of a text's tokens, pooled. Batches run as those of a prompt do; the
// norm of their rows follows, and what the pooling needs of them is read back. A decoder's text may
// have several batches. An encoder's is one, as long as the context, because its first token sees
// the last.
#include "base/arguments.h"
#include "base/array.h"
#include "base/softmax.h"
#include "engine/api/text_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// An encoder whose layers end in a norm has none before an output, and needs no list.
static bool has_norm(const struct glinfer_session *session)
{
    return session->model->hparams.embed_norm != GI_EMBED_NORM_OUTPUT;
}

// Returns the rows that a batch leaves for the pooling.
static const struct gi_rows *find_rows(const struct glinfer_session *session)
{
    return has_norm(session) ? &session->tables.graph.norm : &session->tables.graph.x;
}

//-- pooling ---------------------------------------------------------------------------------------

// A text on its way to an embedding.
struct text {
    struct gi_text_run run;
    enum glinfer_pooling pooling;
    bool is_rank;  // scores are asked for; pooling is that of the classifier's input
    bool is_raw;   // as glinfer_embed_params has it
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
static bool read_rows(struct text *text, uint32_t first, uint32_t n)
{
    const struct gi_rows *norm = find_rows(text->run.session);
    const uint64_t row = norm->stride * sizeof(float), size = n * row;
    struct gi_range range = norm->range;
    range.offset += first * row;
    for (uint64_t done = 0; done < size; done += GI_RUNNER_READ_SIZE) {
        const uint64_t left = size - done;
        if (!gi_runner_read(&text->run.session->runner, &range, (uint8_t *)text->rows + done,
                            left < GI_RUNNER_READ_SIZE ? left : GI_RUNNER_READ_SIZE,
                            text->run.err)) {
            return false;
        }
        range.offset += GI_RUNNER_READ_SIZE;
    }
    return true;
}

static bool check_row(const struct text *text, const float *row, size_t token)
{
    for (uint32_t i = 0; i < text->run.session->model->hparams.n_embd; i++) {
        if (!isfinite(row[i])) {
            return gi_error_set(text->run.err, GLINFER_STATUS_GPU_FAULT,
                                "the GPU computed an embedding that is not a number at token %zu",
                                token);
        }
    }
    return true;
}

// Takes what the pooling needs of a token's row.
static bool take_row(struct text *text, const float *row, size_t token)
{
    const uint32_t n_embd = text->run.session->model->hparams.n_embd;
    if (!check_row(text, row, token)) {
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
static bool take_batch(struct gi_text_run *run, size_t begin, uint32_t count)
{
    struct text *text = (struct text *)run;
    const uint32_t stride = run->session->tables.graph.norm.stride;
    const uint32_t together = rows_together(run->session);
    uint32_t first = 0, end = count;
    if (text->pooling == GLINFER_POOLING_CLS) {
        end = begin == 0 ? 1 : 0;
    } else if (text->pooling == GLINFER_POOLING_LAST) {
        first = begin + count == run->n ? count - 1 : count;
    }
    while (first < end) {
        const uint32_t n = end - first < together ? end - first : together;
        if (!read_rows(text, first, n)) {
            return false;
        }
        for (uint32_t i = 0; i < n; i++) {
            if (!take_row(text, text->rows + (size_t)i * stride, begin + first + i)) {
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

static bool finish_text(struct text *text)
{
    const struct glinfer_model *model = text->run.session->model;
    const uint32_t n_embd = model->hparams.n_embd;
    for (uint32_t i = 0; text->pooling == GLINFER_POOLING_MEAN && i < n_embd; i++) {
        text->pooled[i] = (float)(text->sums[i] / (double)text->run.n);
    }
    if (text->pooling == GLINFER_POOLING_NONE) {
        return true;
    }
    if (text->is_rank) {
        if (!gi_dense_head_score(&model->head, text->pooled, n_embd, text->values, text->run.err)) {
            return false;
        }
        const uint32_t n = gi_dense_head_score_count(&model->head);
        if (!model->hparams.is_encoder && n > 1) {
            gi_softmax(text->values, n);
        }
        return true;
    }
    if (!gi_dense_head_project(&model->head, text->pooled, n_embd, text->values, text->run.err)) {
        return false;
    }
    if (!text->is_raw) {
        scale_to_one(text->values, gi_dense_head_embedding_size(&model->head, n_embd));
    }
    return true;
}

static bool embed(struct gi_text_run *run)
{
    struct text *text = (struct text *)run;
    struct gi_tables *tables = &run->session->tables;
    const uint32_t stride = tables->graph.norm.stride;
    const size_t together = rows_together(run->session);
    run->n_batch = tables->n_batch;
    run->reader = has_norm(run->session) ? gi_tables_find(tables, GI_LIST_NORM, run->err) : NULL;
    if (has_norm(run->session) && !run->reader) {
        return false;
    }
    const bool ok =
        GI_ARRAYS_ZEROED("an embedding", run->err, GI_NEW(text->rows, together * stride),
                         GI_NEW(text->sums, stride), GI_NEW(text->pooled, stride)) &&
        gi_text_run_batches(run) && finish_text(text);
    free(text->rows);
    free(text->sums);
    free(text->pooled);
    return ok;
}

//-- the call --------------------------------------------------------------------------------------

static bool check_text(const struct gi_text_run *run)
{
    const struct gi_hparams *hparams = &run->session->model->hparams;
    const uint32_t n_batch = run->session->tables.n_batch;
    if (run->n == 0) {
        return gi_error_set(run->err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "a text without tokens has no embedding");
    }
    if (!gi_text_run_check(run)) {
        return false;
    }
    if (hparams->is_encoder && run->n > n_batch) {
        return gi_error_set(run->err, GLINFER_STATUS_CONTEXT_FULL,
                            "a text of %zu tokens is too long for this encoder: it sees a text as "
                            "a whole, in a batch of at most %u",
                            run->n, n_batch);
    }
    return !run->session->model->positions || run->n <= hparams->n_ctx_train ||
           gi_error_set(run->err, GLINFER_STATUS_CONTEXT_FULL,
                        "a text of %zu tokens is too long for this encoder: it knows %u positions",
                        run->n, hparams->n_ctx_train);
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
    struct text text = {.run = {session, ids, n, "the embedding", .err = err, .take = take_batch}};
    text.values = values;
    if (!GI_CHECK(err, GI_SET(session), GI_SET(n_values), GI_ARRAY(ids, n), GI_ARRAY(values, cap),
                  GI_COPY(&own, params)) ||
        !GI_CHECK(err, GI_ENUM(own.pooling, GLINFER_POOLING_RANK)) || !check_text(&text.run) ||
        !choose_pooling(session->model, own.pooling, &text.pooling, err)) {
        return false;
    }
    *n_values = count_values(session->model, text.pooling, n);
    text.is_rank = text.pooling == GLINFER_POOLING_RANK;
    text.is_raw = own.is_raw;
    text.pooling = text.is_rank ? rank_pooling(&session->model->hparams) : text.pooling;
    if (cap > 0 && cap < *n_values) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "an embedding of %zu numbers does not fit %zu", *n_values, cap);
    }
    return cap == 0 || gi_text_run_call(&text.run, embed);
}
