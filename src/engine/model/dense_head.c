#include "engine/model/dense_head.h"

#include "base/array.h"
#include "engine/model/weight_store.h"
#include "quant/quant.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OUT = 1 << 16 };

//-- reading ---------------------------------------------------------------------------------------

static bool check_tensor(const struct gi_gguf *gguf, const struct gi_gguf_tensor *tensor,
                         uint64_t n_in, uint64_t n_out, struct glinfer_error *err)
{
    if (!gi_quant_find(tensor->type->type)) {
        return gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                            "%s: tensor %.*s is of type %s, which has no kernel; supported are %s",
                            gi_gguf_path(gguf), (int)tensor->name.size, tensor->name.data,
                            tensor->type->name, gi_quant_names());
    }
    return (tensor->dims[0] == n_in && tensor->dims[1] == n_out && n_out <= MAX_OUT &&
            tensor->dims[2] == 1 && tensor->dims[3] == 1) ||
           gi_error_set(err, GLINFER_STATUS_BAD_FILE,
                        "%s: tensor %.*s has shape %llu x %llu, expected %llu x %llu",
                        gi_gguf_path(gguf), (int)tensor->name.size, tensor->name.data,
                        (unsigned long long)tensor->dims[0], (unsigned long long)tensor->dims[1],
                        (unsigned long long)n_in, (unsigned long long)n_out);
}

static bool read_floats(const struct gi_gguf *gguf, const struct gi_gguf_tensor *tensor,
                        float **out, struct glinfer_error *err)
{
    *out = gi_array_zeroed(tensor->n_elements, sizeof(float), "the head of embeddings", err);
    return *out && gi_read_vector(gguf, tensor, tensor->n_elements, *out, err);
}

// Leaves the layer as it is if the file has none of that name.
static bool read_layer(struct gi_dense_layer *layer, const struct gi_gguf *gguf, const char *name,
                       uint32_t n_in, struct glinfer_error *err)
{
    char weight_name[64], bias_name[64];
    snprintf(weight_name, sizeof(weight_name), "%s.weight", name);
    snprintf(bias_name, sizeof(bias_name), "%s.bias", name);
    const struct gi_gguf_tensor *weight = gi_gguf_tensor_find(gguf, weight_name);
    const struct gi_gguf_tensor *bias = gi_gguf_tensor_find(gguf, bias_name);
    if (!weight) {
        return true;
    }
    const uint64_t n_out = weight->dims[1];
    if (!check_tensor(gguf, weight, n_in, n_out, err) ||
        (bias && !check_tensor(gguf, bias, n_out, 1, err))) {
        return false;
    }
    layer->n_in = n_in;
    layer->n_out = (uint32_t)n_out;
    return read_floats(gguf, weight, &layer->weight, err) &&
           (!bias || read_floats(gguf, bias, &layer->bias, err));
}

static uint32_t size_behind(const struct gi_dense_layer *layer, uint32_t n)
{
    return layer->n_out > 0 ? layer->n_out : n;
}

static bool read_gamma(struct gi_dense_head *head, const struct gi_gguf *gguf,
                       struct glinfer_error *err)
{
    const struct gi_gguf_tensor *gamma = gi_gguf_tensor_find(gguf, "cls.norm.weight");
    return !gamma || head->hidden.n_out == 0 ||
           (check_tensor(gguf, gamma, head->hidden.n_out, 1, err) &&
            read_floats(gguf, gamma, &head->hidden_gamma, err));
}

bool gi_dense_head_read(struct gi_dense_head *head, const struct gi_gguf *gguf,
                        const struct gi_hparams *hparams, struct glinfer_error *err)
{
    struct gi_dense_layer *projections = head->projections;
    const uint32_t n_embd = hparams->n_embd;
    head->has_gelu = hparams->rank_has_gelu;
    head->eps = hparams->norm_eps;
    return read_layer(&projections[0], gguf, "dense_2", n_embd, err) &&
           read_layer(&projections[1], gguf, "dense_3", size_behind(&projections[0], n_embd),
                      err) &&
           read_layer(&head->hidden, gguf, "cls", n_embd, err) && read_gamma(head, gguf, err) &&
           read_layer(&head->scores, gguf, "cls.output", size_behind(&head->hidden, n_embd), err);
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
    return size_behind(&head->projections[1], size_behind(&head->projections[0], n_embd));
}

uint32_t gi_dense_head_score_count(const struct gi_dense_head *head)
{
    return size_behind(&head->scores, head->hidden.n_out);
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
    const uint32_t n = size_behind(&layers[0], n_embd);
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
    const uint32_t n = size_behind(&head->hidden, n_embd);
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
