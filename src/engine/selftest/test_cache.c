// Reads and writes the KV cache of a layer in a self-test, in the layout of ops/record/stream.h.
#include "engine/selftest/test_case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct gi_kv_layer *gi_test_layer(struct gi_test *test, uint32_t binding)
{
    const struct gi_range *range = &test->dispatch->bindings[binding];
    const struct gi_graph *graph = test->graph;
    for (uint32_t i = 0; i < graph->hparams->n_layer; i++) {
        const struct gi_range *own =
            test->joint ? &test->joint->kv[i].range : &graph->kv_cache[i].range;
        if (own->buffer == range->buffer && own->offset == range->offset) {
            test->layer = graph->kv_cache[i];
            test->layer.range = test->joint ? gi_slot_range(&test->joint->kv[i], test->slot) : *own;
            return &test->layer;
        }
    }
    return NULL;
}

// A run of rows of keys or values of one head: where its words lie in the layer's range.
struct rows {
    enum gi_cache_type type;
    uint64_t data, scales;           // of the first row
    uint32_t row_words, scale_words; // of each
    uint32_t used_words;             // of row_words, without the padding at its end
};

static struct rows find_rows(const struct gi_kv_layer *layer, bool is_key, uint32_t head,
                             uint32_t first)
{
    const uint64_t row = (uint64_t)head * layer->n_ctx + first;
    const enum gi_cache_type type = is_key ? layer->type_k : layer->type_v;
    const bool has_blocks = gi_cache_has_blocks(type);
    struct rows rows = {
        .type = type,
        .row_words = type == GI_CACHE_Q8_0   ? (layer->head_dim + 15) / 16 * 4
                     : type == GI_CACHE_Q4_0 ? (layer->head_dim + 31) / 32 * 4
                     : type == GI_CACHE_F32  ? layer->head_dim
                                             : layer->head_dim / 2,
        .used_words = type == GI_CACHE_Q8_0   ? layer->head_dim / 4
                      : type == GI_CACHE_Q4_0 ? layer->head_dim / 8
                      : type == GI_CACHE_F32  ? layer->head_dim
                                              : layer->head_dim / 2,
        .scale_words = has_blocks ? (layer->head_dim + 63) / 64 : 0,
    };
    rows.data = (is_key ? layer->k : layer->v) + row * rows.row_words;
    rows.scales = (is_key ? layer->k_scale : layer->v_scale) + row * rows.scale_words;
    return rows;
}

static float half_of(const uint32_t *words, uint32_t i)
{
    return gi_half_to_float((uint16_t)(words[i / 2] >> (i % 2 * 16)));
}

static float decode(enum gi_cache_type type, const uint32_t *words, const uint32_t *scales,
                    uint32_t i)
{
    float value;
    if (type == GI_CACHE_Q8_0) {
        return half_of(scales, i / 32) * (float)(int8_t)(words[i / 4] >> (i % 4 * 8));
    }
    if (type == GI_CACHE_Q4_0) {
        const uint32_t nibble = words[i / 8] >> (i % 4 * 8 + i % 8 / 4 * 4) & 15;
        return half_of(scales, i / 32) * ((float)nibble - 8);
    }
    if (type == GI_CACHE_F16) {
        return half_of(words, i);
    }
    memcpy(&value, words + i, sizeof(value));
    return value;
}

static uint32_t *read_layer(struct gi_test *test, const struct gi_kv_layer *layer, uint64_t first,
                            size_t n)
{
    uint32_t *words = gi_test_memory(test, n, sizeof(*words));
    if (words && n > 0 &&
        !gi_buffer_read(layer->range.buffer, test->gpu, layer->range.offset + 4 * first, words,
                        4 * n, test->err)) {
        test->has_failed = true;
    }
    return test->has_failed ? NULL : words;
}

float *gi_test_cache(struct gi_test *test, const struct gi_kv_layer *layer, bool is_key,
                     uint32_t head, uint32_t first, uint32_t n)
{
    const struct rows rows = find_rows(layer, is_key, head, first);
    const uint32_t width = layer->head_dim;
    float *values = gi_test_memory(test, (size_t)n * width, sizeof(*values));
    const uint32_t *words = read_layer(test, layer, rows.data, (size_t)n * rows.row_words);
    const uint32_t *scales = read_layer(test, layer, rows.scales, (size_t)n * rows.scale_words);
    for (uint32_t i = 0; words && scales && i < n * width; i++) {
        values[i] = decode(rows.type, words + (size_t)(i / width) * rows.row_words,
                           scales + (size_t)(i / width) * rows.scale_words, i % width);
    }
    return test->has_failed ? NULL : values;
}

static uint32_t next_random(uint32_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 17;
    *random ^= *random << 5;
    return *random;
}

// Returns bits of values between 1/32 and 1, of either sign; blocks are any.
static uint32_t random_word(enum gi_cache_type type, uint32_t *random)
{
    const uint32_t word = next_random(random);
    if (type == GI_CACHE_F16) {
        return (word & 0x8FFF8FFFu) | 0x28002800u;
    }
    return type == GI_CACHE_F32 ? (word & 0x80FFFFFFu) | 0x3D000000u : word;
}

static void write_layer(struct gi_test *test, const struct gi_kv_layer *layer, uint64_t first,
                        const uint32_t *words, size_t n)
{
    if (!test->has_failed && n > 0 &&
        !gi_buffer_write(layer->range.buffer, test->gpu, layer->range.offset + 4 * first, words,
                         4 * n, test->err)) {
        test->has_failed = true;
    }
}

void gi_test_fill_cache(struct gi_test *test, const struct gi_kv_layer *layer, uint32_t n)
{
    uint32_t random = 2463534242u;
    uint32_t *words = gi_test_memory(test, (size_t)n * layer->head_dim, sizeof(*words));
    for (uint32_t i = 0; words && i < 2 * layer->n_kv_head; i++) {
        const struct rows rows = find_rows(layer, i % 2 == 0, i / 2, 0);
        for (size_t j = 0; j < (size_t)n * rows.row_words; j++) {
            words[j] = random_word(rows.type, &random);
        }
        write_layer(test, layer, rows.data, words, (size_t)n * rows.row_words);
        for (size_t j = 0; j < (size_t)n * rows.scale_words; j++) {
            words[j] = 0x20002000u | (next_random(&random) & 0x03FF03FFu); // up to 1/64
        }
        write_layer(test, layer, rows.scales, words, (size_t)n * rows.scale_words);
    }
}

void gi_test_expect_cache(struct gi_test *test, const struct gi_kv_layer *layer, bool is_key,
                          uint32_t head, uint32_t position, const struct gi_ref_value *expected)
{
    const enum gi_cache_type type = is_key ? layer->type_k : layer->type_v;
    const float *got = gi_test_cache(test, layer, is_key, head, position, 1);
    double largest = 0;
    for (uint32_t i = 0; got && i < layer->head_dim; i++) {
        largest = fmax(largest, fabs(expected[i].value));
    }
    for (uint32_t i = 0; got && i < layer->head_dim; i++) {
        const double rounding = type == GI_CACHE_Q8_0   ? largest / 127
                                : type == GI_CACHE_Q4_0 ? largest / 7.9
                                : type == GI_CACHE_F16  ? fabs(expected[i].value) / 1024 + 1e-7
                                                        : 0;
        gi_test_expect(test, is_key ? "k" : "v", i, expected[i].value,
                       expected[i].magnitude + rounding / test->tolerance, got[i]);
    }
}

void gi_test_poison_cache(struct gi_test *test, const struct gi_kv_layer *layer, uint32_t first,
                          uint32_t n)
{
    const uint32_t n_memory = test->n_memory;
    uint32_t *words = gi_test_memory(test, (size_t)n * layer->head_dim, sizeof(*words));
    for (size_t i = 0; words && i < (size_t)n * layer->head_dim; i++) {
        words[i] = GI_TEST_POISON;
    }
    for (uint32_t i = 0; words && i < 2 * layer->n_kv_head; i++) {
        const struct rows rows = find_rows(layer, i % 2 == 0, i / 2, first);
        write_layer(test, layer, rows.data, words, (size_t)n * rows.row_words);
    }
    gi_test_rewind(test, n_memory);
}

void gi_test_expect_cache_written(struct gi_test *test, const struct gi_kv_layer *layer,
                                  bool is_key, uint32_t head, uint32_t first, uint32_t n)
{
    const uint32_t n_memory = test->n_memory;
    const struct rows rows = find_rows(layer, is_key, head, first);
    const uint32_t *words = read_layer(test, layer, rows.data, (size_t)n * rows.row_words);
    for (uint32_t i = 0; words && i < n; i++) {
        const uint64_t row = (uint64_t)i * rows.row_words;
        gi_test_expect_written(test, is_key ? "k" : "v", (uint64_t)head * n * rows.row_words + row,
                               words + row, rows.used_words);
    }
    gi_test_rewind(test, n_memory);
}
