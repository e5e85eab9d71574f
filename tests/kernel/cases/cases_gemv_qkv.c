#include "tests/kernel/cases/cases_gemv.h"

#include <stdio.h>
#include <stdlib.h>

struct qkv_size {
    uint32_t n_embd, n_head, n_kv_head, head_dim, n_rot;
    uint32_t part_rows; // 0: one part
    uint32_t n_ssq;
    bool has_bias, is_k_f32, is_v_f32;
};

static const struct qkv_size qkv_sizes[] = {
    {32, 1, 1, 8, 8, 0, 1, false, false, false},
    {96, 2, 1, 16, 8, 16, 7, true, true, false},
    {64, 4, 4, 64, 64, 0, 3, false, false, true},
    {160, 8, 1, 64, 32, 128, 5, true, false, false},
    {96, 9, 3, 64, 64, 0, 36, false, false, false},
    {64, 3, 3, 72, 40, 48, 2, false, true, true},
    {2048, 2, 1, 128, 128, 0, 64, true, false, false},
    {576, 9, 3, 64, 64, 0, 36, false, false, false},
};

static void print_size(const struct kt_gemv_variant *variant, const struct qkv_size *s, char *text,
                       size_t size)
{
    int n = kt_gemv_print(variant, text, size);
    snprintf(text + n, size - (size_t)n, "%u heads %u/%u x %u rot %u%s%s k %s v %s", s->n_embd,
             s->n_head, s->n_kv_head, s->head_dim, s->n_rot, s->part_rows ? " parts" : "",
             s->has_bias ? " bias" : "", s->is_k_f32 ? "f32" : "f16", s->is_v_f32 ? "f32" : "f16");
}

static void name_qkv(size_t index, char *text, size_t size)
{
    const struct kt_gemv_variant variant = kt_gemv_variant_at(index);
    print_size(&variant, &qkv_sizes[variant.size], text, size);
}

// The section of GPU rows from row begin on, as n_pair pairs in pair order, turned where asked.
static struct ref_value *take_section(const struct ref_value *y, uint32_t begin, uint32_t n_pair,
                                      uint32_t half_dim, uint32_t n_rot, const float *rope)
{
    struct ref_value *out = kt_alloc(2 * n_pair, sizeof(*out));
    for (uint32_t p = 0; p < n_pair; p++) {
        uint32_t row = begin + p / 8 * 16 + p % 8, i = p % half_dim;
        out[2 * p] = y[row];
        out[2 * p + 1] = y[row + 8];
        if (i < n_rot / 2) {
            ref_turn(&out[2 * p], &out[2 * p + 1], (double)rope[2 * i], (double)rope[2 * i + 1]);
        }
    }
    return out;
}

// One position of one cache, head by head.
static bool compare_cache(struct kt_run *run, const char *what, const struct gi_kv_layer *layer,
                          uint32_t start, bool is_f32, uint32_t n_past,
                          const struct ref_value *values)
{
    size_t element = is_f32 ? 4 : 2;
    for (uint32_t h = 0; h < layer->n_kv_head; h++) {
        size_t at = ((size_t)h * layer->n_ctx + n_past) * layer->head_dim * element;
        const size_t offset = start * sizeof(uint32_t) + at;
        const struct ref_value *head = values + (size_t)h * layer->head_dim;
        if (!(is_f32
                  ? kt_gemv_compare(run, what, &layer->range, offset, head, layer->head_dim)
                  : kt_gemv_compare_f16(run, what, &layer->range, offset, head, layer->head_dim))) {
            return false;
        }
    }
    return true;
}

static bool compare_qkv(struct kt_run *run, const struct qkv_size *size,
                        const struct gi_qkv_layout *layout, const struct gi_kv_layer *layer,
                        uint32_t n_past, const struct ref_value *y, const float *rope)
{
    uint32_t half = size->head_dim / 2, n_kv = size->n_kv_head * half, n_q = size->n_head * half;
    struct ref_value *q = take_section(y, layout->q_begin, n_q, half, size->n_rot, rope);
    struct ref_value *k = take_section(y, layout->k_begin, n_kv, half, size->n_rot, rope);
    struct ref_value *v = take_section(y, layout->v_begin, n_kv, half, 0, rope);
    bool is_good =
        kt_gemv_compare(run, "q", &layer->range, 0, q, 2 * (size_t)n_q) &&
        compare_cache(run, "k", layer, layer->k, layer->type_k == GI_CACHE_F32, n_past, k) &&
        compare_cache(run, "v", layer, layer->v, layer->type_v == GI_CACHE_F32, n_past, v);
    free(q);
    free(k);
    free(v);
    return is_good;
}

// Every position but n_past is left as it was.
static bool check_other_positions(struct kt_run *run, const struct gi_kv_layer *layer,
                                  uint32_t start, bool is_f32, uint32_t n_past)
{
    uint32_t words = layer->head_dim / (is_f32 ? 1 : 2);
    uint32_t n = layer->n_kv_head * layer->n_ctx * words;
    uint32_t *found = kt_alloc(n, sizeof(*found));
    bool is_good = kt_read(run, &layer->range, start * sizeof(uint32_t), found, n * sizeof(*found));
    uint32_t untouched = found[(n_past == 0 ? 1 : 0) * words];
    for (uint32_t i = 0; is_good && i < n; i++) {
        if (i / words % layer->n_ctx != n_past && found[i] != untouched) {
            is_good = kt_fail(run, "cache word %u of another position was written", i);
        }
    }
    free(found);
    return is_good;
}

static bool run_size(struct kt_run *run, const struct kt_gemv_variant *variant,
                     const struct qkv_size *size)
{
    const uint32_t n_ctx = 5, n_past = kt_index(run, n_ctx);
    struct gi_qkv_layout layout;
    struct gi_kv_layer layer = {0};
    struct kt_gemv_stream stream;
    struct kt_weight weight;
    gi_qkv_layout_init(&layout, size->n_head, size->n_kv_head, size->head_dim);
    size_t layer_size = (size_t)gi_kv_layer_layout(
        &layer, size->n_head, size->n_kv_head, size->head_dim, n_ctx,
        size->is_k_f32 ? GI_CACHE_F32 : GI_CACHE_F16, size->is_v_f32 ? GI_CACHE_F32 : GI_CACHE_F16);
    layer.range = kt_range(run, "layer", NULL, layer_size);
    const struct kt_weight_params params = {.type = variant->type,
                                            .n_rows = layout.n_rows,
                                            .n_cols = size->n_embd,
                                            .max_part_rows = size->part_rows,
                                            .has_bias = size->has_bias};
    bool is_good = kt_gemv_stream_init(&stream, run, size->n_embd, size->n_rot, size->n_ssq) &
                   kt_weight_init(&weight, run, &params);
    struct ref_value *y = kt_alloc(layout.n_rows, sizeof(*y));
    ref_gemv(y, weight.dense, stream.values + stream.stream.norm, weight.bias, layout.n_rows,
             size->n_embd, stream.inv_rms);
    is_good = is_good && kt_gemv_set_shape(run, variant);
    if (is_good) {
        gi_op_gemv_qkv(&run->recorder, "attn_qkv", &weight.weight, &layout, stream.stream.n_rot,
                       &stream.stream, &layer);
    }
    is_good =
        is_good && kt_seal(run) && kt_replay(run, n_past, 1) &&
        compare_qkv(run, size, &layout, &layer, n_past, y, stream.values + stream.stream.rope) &&
        check_other_positions(run, &layer, layer.k, size->is_k_f32, n_past) &&
        check_other_positions(run, &layer, layer.v, size->is_v_f32, n_past) &&
        kt_bench(run, n_past, 1, kt_weight_bytes(&weight.weight));
    free(y);
    free(stream.values);
    kt_weight_finish(&weight);
    return is_good;
}

static bool run_qkv(struct kt_run *run, size_t index)
{
    const struct kt_gemv_variant variant = kt_gemv_variant_at(index);
    return run_size(run, &variant, &qkv_sizes[variant.size]);
}

const struct kt_suite kt_gemv_qkv = {
    .kernel = "gemv_qkv",
    .n_case = COUNT(qkv_sizes) * KT_GEMV_TYPES * KT_GEMV_SHAPES,
    .name = name_qkv,
    .run = run_qkv,
};

//-- head counts and head sizes ------------------------------------------------------------------

// 1 to 9 heads of 8 to 128 in steps of 8: sections of q and k that end within a tile. Heads of one
// size share a program, each size takes a form of the kernel in turn.
enum {
    HEADS_MAX = 9,
    HEADS_DIMS = 16,
};

static void make_heads(size_t index, struct kt_gemv_variant *variant, struct qkv_size *size)
{
    const uint32_t n_head = (uint32_t)index % HEADS_MAX + 1;
    const uint32_t dim = (uint32_t)(index / HEADS_MAX + 1) * 8;
    *variant =
        (struct kt_gemv_variant){.type = GI_GGML_TYPE_F16, .shape = dim / 8 % KT_GEMV_SHAPES};
    *size = (struct qkv_size){.n_embd = 32,
                              .n_head = n_head,
                              .n_kv_head = n_head % 3 == 0   ? n_head / 3
                                           : n_head % 2 == 0 ? n_head / 2
                                                             : 1,
                              .head_dim = dim,
                              .n_rot = n_head % 4 == 3 ? dim / 2 : dim,
                              .part_rows = n_head % 5 == 0 ? 48 : 0,
                              .n_ssq = 1};
}

static void name_heads(size_t index, char *text, size_t text_size)
{
    struct kt_gemv_variant variant;
    struct qkv_size size;
    make_heads(index, &variant, &size);
    print_size(&variant, &size, text, text_size);
}

static bool run_heads(struct kt_run *run, size_t index)
{
    struct kt_gemv_variant variant;
    struct qkv_size size;
    make_heads(index, &variant, &size);
    return run_size(run, &variant, &size);
}

const struct kt_suite kt_gemv_qkv_heads = {
    .kernel = "gemv_qkv_heads",
    .n_case = (size_t)HEADS_MAX * HEADS_DIMS,
    .name = name_heads,
    .run = run_heads,
};
