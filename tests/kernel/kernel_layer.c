#include "kernel_layer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const kt_cache_names[] = {"f16", "f32", "q8_0"};

static float round_half(float value)
{
    return gi_half_to_float(gi_float_to_half(value));
}

// Scale of n values, as a q8_0 block has it.
static float block_scale(const float *values, size_t n)
{
    float largest = 0;
    for (size_t i = 0; i < n; i++) {
        largest = fmaxf(largest, fabsf(values[i]));
    }
    return round_half(largest / 127);
}

static void fill_row_q8(float *values, uint32_t head_dim, uint8_t *bytes, uint16_t *scales)
{
    for (uint32_t begin = 0; begin < head_dim; begin += 32) {
        const uint32_t n = head_dim - begin < 32 ? head_dim - begin : 32;
        const float scale = block_scale(values + begin, n);
        for (uint32_t i = begin; i < begin + n; i++) {
            const float byte = fmaxf(fminf(roundf(values[i] / scale), 127), -127);
            bytes[i] = (uint8_t)(int8_t)byte;
            values[i] = byte * scale;
        }
        scales[begin / 32] = gi_float_to_half(scale);
    }
}

// Fills a cache with values, and rounds these to what it holds. scale: where those of q8_0 lie.
static void fill_cache(struct kt_run *run, float *values, uint32_t n_row, uint32_t head_dim,
                       enum gi_cache_type type, uint32_t *words, uint32_t *scale)
{
    const size_t n = (size_t)n_row * head_dim;
    kt_fill(run, values, n, -1, 1);
    for (size_t row = 0; type == Q8 && row < n_row; row++) {
        fill_row_q8(values + row * head_dim, head_dim,
                    (uint8_t *)words + row * ((head_dim + 15) / 16 * 16),
                    (uint16_t *)scale + row * ((head_dim + 63) / 64 * 2));
    }
    for (size_t i = 0; type != Q8 && i < n; i++) {
        if (type == F32) {
            memcpy(&words[i], &values[i], sizeof(float));
        } else {
            uint32_t half = gi_float_to_half(values[i]);
            words[i / 2] = i % 2 == 0 ? half : words[i / 2] | half << 16;
            values[i] = round_half(values[i]);
        }
    }
}

// As memory may be that nobody has written.
static void spoil_row(size_t row, uint32_t head_dim, enum gi_cache_type type, uint32_t *words,
                      uint32_t *scale)
{
    const uint32_t n_scale = (head_dim + 63) / 64;
    if (type == F32) {
        memset(words + row * head_dim, 0xFF, head_dim * sizeof(uint32_t));
    } else if (type == F16) {
        memset(words + row * head_dim / 2, 0xFF, head_dim / 2 * sizeof(uint32_t));
    } else {
        memset(scale + row * n_scale, 0xFF, n_scale * sizeof(uint32_t));
    }
}

static void spoil(const struct kt_layer_shape *shape, enum gi_cache_type type, uint32_t n_written,
                  uint32_t *words, uint32_t *scale)
{
    for (uint32_t head = 0; head < shape->n_kv_head; head++) {
        for (uint32_t i = n_written; i < shape->n_ctx; i++) {
            spoil_row((size_t)head * shape->n_ctx + i, shape->head_dim, type, words, scale);
        }
    }
}

void kt_layer_init(struct kt_layer *layer, struct kt_run *run, const struct kt_layer_shape *shape,
                   uint32_t n_written)
{
    size_t n = (size_t)shape->n_kv_head * shape->n_ctx * shape->head_dim;
    memset(layer, 0, sizeof(*layer));
    layer->size = gi_kv_layer_layout(&layer->kv, shape->n_head, shape->n_kv_head, shape->head_dim,
                                     shape->n_ctx, shape->type_k, shape->type_v);
    layer->k = kt_alloc(n, sizeof(float));
    layer->v = kt_alloc(n, sizeof(float));
    layer->words = kt_alloc((size_t)layer->size, 1);
    const uint32_t n_row = shape->n_kv_head * shape->n_ctx, dim = shape->head_dim;
    fill_cache(run, layer->k, n_row, dim, shape->type_k, layer->words + layer->kv.k,
               layer->words + layer->kv.k_scale);
    fill_cache(run, layer->v, n_row, dim, shape->type_v, layer->words + layer->kv.v,
               layer->words + layer->kv.v_scale);
    spoil(shape, shape->type_k, n_written, layer->words + layer->kv.k,
          layer->words + layer->kv.k_scale);
    spoil(shape, shape->type_v, n_written, layer->words + layer->kv.v,
          layer->words + layer->kv.v_scale);
    layer->kv.range = kt_range(run, "layer", layer->words, (size_t)layer->size);
}

void kt_layer_finish(struct kt_layer *layer)
{
    free(layer->k);
    free(layer->v);
    free(layer->words);
}
