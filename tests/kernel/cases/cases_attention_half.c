// Attention with results in f16 (ops/gemm/half_rows.h), against what the same kernel writes in f32:
// its own suite holds that to the reference.
#include "ops/attention/attention.h"
#include "ops/gemm/half_rows.h"
#include "tests/kernel/fixture/kernel_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct half_case { // heads of 64, with width 256 or more of 128
    uint32_t n_tokens, width;
    float size; // of the largest input
    uint32_t n_past, window;
    float softcap;
    uint32_t n_spare; // columns of rows after width
} cases[] = {
    {1, 64, 1, 3, 0, 0, 0},      {130, 192, 1, 3, 0, 0, 0}, {70, 256, 1, 3, 0, 0, 0},
    {33, 128, 8, 167, 0, 0, 0},  {70, 64, 4, 60, 17, 5, 0}, {40, 384, 2, 130, 0, 20, 0},
    {190, 128, 1, 3, 0, 0, 256},
};

static void write_name(const struct half_case *c, char *text, size_t size)
{
    snprintf(text, size, "%u tokens of %u of %u at %u, up to %g, window %u, cap %g", c->n_tokens,
             c->width, c->width + c->n_spare, c->n_past, (double)c->size, c->window,
             (double)c->softcap);
}

//-- the layout, as glsl/gemm/half_rows.glsl has it ------------------------------------------------

#define TILE_WORDS (1056 * 4) // of four bytes

static double half_value(uint32_t bits)
{
    const uint32_t exponent = bits >> 10 & 31;
    const double fraction = bits & 1023;
    const double size = exponent == 31  ? (double)NAN
                        : exponent == 0 ? ldexp(fraction, -24)
                                        : ldexp(1024 + fraction, (int)exponent - 25);
    return bits & 0x8000 ? -size : size;
}

static double element(const uint32_t *rows, uint32_t n_tile, uint32_t token, uint32_t column)
{
    const uint32_t *tile = rows + (size_t)(token / 128 * n_tile + column / 64) * TILE_WORDS;
    const uint32_t t = token % 128, word = t % 4 * 256 + column % 64 / 8 * 32 + t / 4;
    const uint32_t bits = tile[4 * word + column % 4] >> (column % 8 / 4 * 16);
    float scale;
    memcpy(&scale, &tile[4 * 1024 + t], sizeof(scale));
    return half_value(bits & 0xFFFF) * (double)scale;
}

// A rounding of the element, and one of the smallest that a half holds beside the largest of the
// tile's row; slack: of the largest, for a kernel that computes in f16, too.
static bool compare_tile_row(struct kt_run *run, const uint32_t *rows, uint32_t n_tile,
                             uint32_t token, uint32_t begin, const float *want, uint32_t width,
                             double slack)
{
    double largest = 0;
    for (uint32_t i = begin; i < begin + 64 && i < width; i++) {
        // Not fmax: GCC 12 for arm64 fails on a reduction by it.
        const double size = fabs((double)want[i]);
        largest = size > largest ? size : largest;
    }
    for (uint32_t i = begin; i < begin + 64; i++) {
        const double found = element(rows, n_tile, token, i);
        const double wanted = i < width ? (double)want[i] : 0;
        if (!(fabs(found - wanted) <= 0x1p-11 * fabs(wanted) + slack * largest + 0x1p-126)) {
            return kt_fail(run, "token %u, column %u: %.9g, want %.9g", token, i, found, wanted);
        }
    }
    return true;
}

static bool compare(struct kt_run *run, const struct half_case *c, const struct gi_rows *halves,
                    const struct gi_rows *floats)
{
    const uint32_t n_tile = gi_half_row_tiles(c->width);
    const double slack = 4e-3;
    const size_t n = (size_t)c->n_tokens * floats->stride;
    uint32_t *rows = kt_alloc((size_t)halves->range.size, 1);
    float *want = kt_alloc(n, sizeof(float));
    bool is_good = kt_read(run, &halves->range, 0, rows, (size_t)halves->range.size) &&
                   kt_read(run, &floats->range, 0, want, n * sizeof(float));
    for (uint32_t m = 0; is_good && m < c->n_tokens; m++) {
        for (uint32_t begin = 0; is_good && begin < c->width; begin += 64) {
            is_good = compare_tile_row(run, rows, n_tile, m, begin,
                                       want + (size_t)m * floats->stride, c->width, slack);
        }
    }
    free(rows);
    free(want);
    return is_good;
}

//-- the kernels -----------------------------------------------------------------------------------

static struct gi_rows random_rows(struct kt_run *run, uint32_t n_tokens, uint32_t stride,
                                  float size)
{
    const size_t n = (size_t)n_tokens * stride;
    float *values = kt_alloc(n, sizeof(float));
    kt_fill(run, values, n, -size, size);
    const struct gi_rows rows = {kt_range(run, "x", values, n * sizeof(float)), stride, false};
    free(values);
    return rows;
}

static void record_attention(struct kt_run *run, const struct half_case *c,
                             const struct gi_rows *floats, const struct gi_rows *halves,
                             bool *is_there)
{
    struct gi_kv_layer kv;
    const uint32_t head_dim = c->width < 256 ? 64 : 128;
    const struct gi_score_rule rule = {.scale = 0.125f, .softcap = c->softcap, .window = c->window};
    const uint64_t size =
        gi_kv_layer_layout(&kv, c->width / head_dim, 1, head_dim, 200, GI_CACHE_F16, GI_CACHE_F16);
    uint32_t *cache = kt_alloc((size_t)size, 1);
    for (size_t i = 0; i < size / sizeof(*cache); i++) {
        cache[i] = (kt_index(run, 0x8000) & 0x3BFF) << 16 | kt_index(run, 0x3C00);
    }
    kv.range = kt_range(run, "cache", cache, (size_t)size);
    free(cache);
    *is_there = gi_attention_has_halves(&run->recorder, &kv);
    if (!*is_there) {
        return;
    }
    const struct gi_rows q = random_rows(run, c->n_tokens, c->width, c->size);
    gi_op_attention_batch(&run->recorder, "f32", &kv, &rule, &q, floats);
    gi_op_attention_batch(&run->recorder, "f16", &kv, &rule, &q, halves);
}

static bool run_half(struct kt_run *run, const struct half_case *c)
{
    const uint32_t stride = (c->width + 31) / 32 * 32 + c->n_spare;
    const size_t size = (size_t)c->n_tokens * stride * sizeof(float);
    const struct gi_rows floats = {kt_range(run, "f32", NULL, size), stride, false};
    const struct gi_rows halves = {
        kt_range(run, "f16", NULL, (size_t)gi_half_rows_size(c->n_tokens, stride)), stride, true};
    bool is_there;
    kt_set(run, "GLINFER_BATCH", "split");
    record_attention(run, c, &floats, &halves, &is_there);
    kt_set(run, "GLINFER_BATCH", NULL);
    return !is_there || (kt_seal(run) && kt_replay(run, c->n_past, c->n_tokens) &&
                         compare(run, c, &halves, &floats));
}

KT_TABLE(attention_half, "attention_half", cases, write_name, run_half);
