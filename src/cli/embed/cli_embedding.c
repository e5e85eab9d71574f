#include "cli/embed/cli_embedding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const cli_poolings[] = {"default", "none", "mean", "cls", "last", "rank", NULL};

void cli_scale_values(float *values, size_t n, int64_t norm)
{
    const double p = (double)norm;
    double largest = 0, sum = 0;
    if (norm == CLI_NORM_NONE) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const double size = fabs((double)values[i]);
        largest = size > largest ? size : largest; // GCC 12 fails on fmax here, on arm64
        sum += norm == CLI_NORM_MAX ? 0 : pow(size, p);
    }
    const double size = norm == CLI_NORM_MAX ? largest / 32760.0 : pow(sum, 1.0 / p);
    for (size_t i = 0; i < n; i++) {
        values[i] = size > 0 ? (float)((double)values[i] / size) : 0;
    }
}

double cli_cosine(const float *a, const float *b, size_t n)
{
    double product = 0, a_squares = 0, b_squares = 0;
    for (size_t i = 0; i < n; i++) {
        product += (double)a[i] * (double)b[i];
        a_squares += (double)a[i] * (double)a[i];
        b_squares += (double)b[i] * (double)b[i];
    }
    return a_squares > 0 && b_squares > 0 ? product / sqrt(a_squares * b_squares) : 0;
}

bool cli_embed(struct glinfer_session *session, const struct cli_ids *ids,
               enum glinfer_pooling pooling, int64_t norm, struct cli_embedding *embedding,
               struct glinfer_error *err)
{
    struct glinfer_embed_params params;
    glinfer_embed_params_init(&params);
    params.pooling = pooling;
    params.is_raw = true;
    *embedding = (struct cli_embedding){.n_tokens = ids->count};
    if (!glinfer_embed(session, ids->items, ids->count, &params, NULL, 0, &embedding->count, err)) {
        return false;
    }
    embedding->values = cli_alloc(embedding->count, sizeof(float));
    if (!glinfer_embed(session, ids->items, ids->count, &params, embedding->values,
                       embedding->count, &embedding->count, err)) {
        free(embedding->values);
        embedding->values = NULL;
        return false;
    }
    if (pooling != GLINFER_POOLING_NONE && pooling != GLINFER_POOLING_RANK) {
        cli_scale_values(embedding->values, embedding->count, norm);
    }
    return true;
}

bool cli_tokenize_pair(const struct glinfer_tokenizer *tokenizer, const char *query,
                       const struct cli_bytes *text, struct cli_ids *ids, struct glinfer_error *err)
{
    do { // a second time once there is room
        ids->items = cli_reserve(ids->items, &ids->capacity, ids->count, sizeof(*ids->items));
        if (!glinfer_tokenize_pair(tokenizer, query, strlen(query), text->data, text->size,
                                   ids->items, ids->capacity, &ids->count, err)) {
            return false;
        }
    } while (ids->count > ids->capacity);
    return true;
}
