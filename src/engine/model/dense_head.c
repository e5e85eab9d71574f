#include "engine/model/dense_head.h"

#include "base/array.h"
#include "engine/model/model_vectors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OUT = 1 << 16 };

//-- reading ---------------------------------------------------------------------------------------

// Returns a tensor as floats; NULL if the file does not have it, or on failure.
static float *take(struct gi_vector_reader *reader, const char *name, uint64_t n_in, uint64_t n_out)
{
    const struct gi_gguf_tensor *tensor = gi_vector_find(reader, name, n_in, n_out, false);
    return gi_vector_take(reader, tensor, (size_t)(n_in * n_out), "the head of embeddings");
}

// Leaves the layer as it is if the file has none of that name.
static void read_layer(struct gi_vector_reader *reader, struct gi_dense_layer *layer,
                       const char *name, uint32_t n_in)
{
    char weight_name[64], bias_name[64];
    snprintf(weight_name, sizeof(weight_name), "%s.weight", name);
    snprintf(bias_name, sizeof(bias_name), "%s.bias", name);
    const struct gi_gguf_tensor *weight = gi_gguf_tensor_find(reader->gguf, weight_name);
    if (weight) {
        layer->n_in = n_in;
        layer->n_out = weight->dims[1] < MAX_OUT ? (uint32_t)weight->dims[1] : MAX_OUT;
        layer->weight = take(reader, weight_name, n_in, layer->n_out);
        layer->bias = take(reader, bias_name, layer->n_out, 1);
    }
}

static uint32_t size_after(const struct gi_dense_layer *layer, uint32_t n)
{
    return layer->n_out > 0 ? layer->n_out : n;
}

bool gi_dense_head_read(struct gi_dense_head *head, const struct gi_gguf *gguf,
                        const struct gi_hparams *hparams, struct glinfer_error *err)
{
    struct gi_vector_reader reader = {.gguf = gguf, .err = err};
    struct gi_dense_layer *projections = head->projections;
    const uint32_t n_embd = hparams->n_embd;
    head->has_gelu = hparams->rank_has_gelu;
    head->eps = hparams->norm_eps;
    read_layer(&reader, &projections[0], "dense_2", n_embd);
    read_layer(&reader, &projections[1], "dense_3", size_after(&projections[0], n_embd));
    read_layer(&reader, &head->hidden, "cls", n_embd);
    if (head->hidden.n_out > 0) {
        head->hidden_gamma = take(&reader, "cls.norm.weight", head->hidden.n_out, 1);
    }
    read_layer(&reader, &head->scores, "cls.output", size_after(&head->hidden, n_embd));
    return !reader.has_failed;
}

static void finish_layer(struct gi_dense_layer *layer)
{
    free(layer->weight);
    free(layer->bias);
}

void gi_dense_head_finish(struct gi_dense_head *head)
{
    finish_layer(&head->projections[0]);
    finish_layer(&head->projections[1]);
    finish_layer(&head->hidden);
    finish_layer(&head->scores);
    free(head->hidden_gamma);
    *head = (struct gi_dense_head){0};
}

bool gi_dense_head_has_scores(const struct gi_dense_head *head)
{
    return head->hidden.n_out > 0 || head->scores.n_out > 0;
}

uint32_t gi_dense_head_embedding_size(const struct gi_dense_head *head, uint32_t n_embd)
{
    return size_after(&head->projections[1], size_after(&head->projections[0], n_embd));
}

uint32_t gi_dense_head_score_count(const struct gi_dense_head *head)
{
    return size_after(&head->scores, head->hidden.n_out);
}

//-- products --------------------------------------------------------------------------------------

static void multiply(const struct gi_dense_layer *layer, const float *x, float *y)
{
    for (uint32_t i = 0; i < layer->n_out; i++) {
        const float *row = layer->weight + (size_t)i * layer->n_in;
        double sum = layer->bias ? (double)layer->bias[i] : 0;
        for (uint32_t j = 0; j < layer->n_in; j++) {
            sum += (double)row[j] * (double)x[j];
        }
        y[i] = (float)sum;
    }
}

static void activate(const struct gi_dense_head *head, float *x, uint32_t n)
{
    const float root = 0.7978845608f; // sqrt(2 / pi)
    for (uint32_t i = 0; i < n; i++) {
        const float v = x[i];
        x[i] = head->has_gelu ? 0.5f * v * (1.0f + tanhf(root * (v + 0.044715f * v * v * v)))
                              : tanhf(v);
    }
}

static void norm(const struct gi_dense_head *head, float *x, uint32_t n)
{
    double sum = 0, squares = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += (double)x[i];
    }
    for (uint32_t i = 0; i < n; i++) {
        squares += ((double)x[i] - sum / n) * ((double)x[i] - sum / n);
    }
    const double scale = 1 / sqrt(squares / n + (double)head->eps);
    for (uint32_t i = 0; i < n; i++) {
        x[i] = (float)(((double)x[i] - sum / n) * scale * (double)head->hidden_gamma[i]);
    }
}

// Writes W x + b to y or, where there is no layer, x.
static void apply(const struct gi_dense_layer *layer, const float *x, uint32_t n_in, float *y)
{
    if (layer->n_out > 0) {
        multiply(layer, x, y);
    } else {
        memcpy(y, x, n_in * sizeof(*y));
    }
}

bool gi_dense_head_project(const struct gi_dense_head *head, const float *x, uint32_t n_embd,
                           float *y, struct glinfer_error *err)
{
    const struct gi_dense_layer *layers = head->projections;
    const uint32_t n = size_after(&layers[0], n_embd);
    float *between = gi_array_zeroed(n, sizeof(*between), "an embedding", err);
    if (!between) {
        return false;
    }
    apply(&layers[0], x, n_embd, between);
    apply(&layers[1], between, n, y);
    free(between);
    return true;
}

bool gi_dense_head_score(const struct gi_dense_head *head, const float *x, uint32_t n_embd,
                         float *y, struct glinfer_error *err)
{
    const uint32_t n = size_after(&head->hidden, n_embd);
    float *between = gi_array_zeroed(n, sizeof(*between), "the scores of a text", err);
    if (!between) {
        return false;
    }
    apply(&head->hidden, x, n_embd, between);
    if (head->hidden.n_out > 0) {
        activate(head, between, n);
    }
    if (head->hidden_gamma) {
        norm(head, between, n);
    }
    apply(&head->scores, between, n, y);
    free(between);
    return true;
}
