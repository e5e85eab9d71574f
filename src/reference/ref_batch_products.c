// Products of a batch of rows with weights: glsl/gemm, and glsl/gemv/gemv_batch.comp.
#include "base/round.h"
#include "glsl/gemm/gemm_params.h"
#include "ops/gemm/half_rows.h"
#include "ops/record/weight.h"
#include "reference/places/ref_half_rows.h"
#include "reference/reference.h"

#include <math.h>
#include <string.h>

// The rows that a product reads: floats, packed halves, or tiles of halves.
struct inputs {
    struct gi_ref_half_rows tiles; // n_tile 0: none
    bool is_packed;
    bool is_half; // multiplied in f16
    uint64_t begin;
};

static struct inputs find_inputs(const struct gi_ref *ref)
{
    const struct gi_gemm_params *p = ref->params;
    const bool is_small = gi_ref_is_small_half(ref->key);
    const bool is_half = is_small || ref->key->id == GI_PROGRAM_GEMM_HALF;
    const bool has_tiles = is_half && p->x_form == 0;
    const uint64_t begin = gi_ref_define(ref, "EXPERTS") ? 4ull * p->x_begin : 0;
    const uint32_t n_tile = (ref->n_col + GI_HALF_COLUMNS - 1) / GI_HALF_COLUMNS;
    return (struct inputs){
        {1, begin, has_tiles ? n_tile : 0, is_small}, gi_ref_define(ref, "PACKED"), is_half, begin};
}

// Returns x / rms(x) * gamma.
static const float *norm_row(struct gi_ref *ref, const float *x)
{
    const struct gi_gemm_params *p = ref->params;
    const float *gamma = gi_ref_floats(ref, 4, p->gamma, ref->n_col);
    float *y = gi_ref_memory(ref, ref->n_col, sizeof(*y));
    double squares = 0;
    for (uint32_t i = 0; !ref->has_failed && i < ref->n_col; i++) {
        squares += (double)x[i] * x[i];
    }
    const double scale = 1 / sqrt(squares / ref->n_col + p->eps);
    for (uint32_t i = 0; !ref->has_failed && i < ref->n_col; i++) {
        y[i] = (float)(x[i] * scale * gamma[i]);
    }
    return y;
}

static const float *read_row(struct gi_ref *ref, const struct inputs *inputs, uint32_t row)
{
    const struct gi_gemm_params *p = ref->params;
    const uint64_t at = inputs->begin + (uint64_t)row * p->x_stride;
    if (p->x_form == 2) {
        return norm_row(ref, gi_ref_floats(ref, 1, at, ref->n_col));
    }
    return inputs->tiles.n_tile > 0 ? gi_ref_half_row(ref, &inputs->tiles, row, ref->n_col)
           : inputs->is_packed      ? gi_ref_packed_row(ref, 1, at, ref->n_col)
                                    : gi_ref_floats(ref, 1, at, ref->n_col);
}

// Writes inputs for a sampled reference: those of the model may not have been written in the layout
// of this entry, or be so small that their product changes nothing that it is added to.
static void fill_inputs(struct gi_ref *ref, const struct inputs *inputs)
{
    const struct gi_gemm_params *p = ref->params;
    const uint32_t n = (uint32_t)gi_round_up(ref->n_col, GI_QUANT_BLOCK);
    if (inputs->tiles.n_tile > 0) {
        gi_ref_half_fill(ref, &inputs->tiles, ref->n_tokens, ref->n_col);
        return;
    }
    for (uint32_t m = 0; m < ref->n_tokens && (inputs->is_packed || p->x_form || p->is_added);
         m++) {
        const uint64_t at = (uint64_t)m * p->x_stride;
        if (inputs->is_packed) {
            const float scale = 0x1p-14f; // of +-(2^-7 to 2^16)
            gi_ref_fill(ref, 1, at, n / 2, 0xDBFFDBFFu, 0x20002000u);
            gi_ref_write(ref, 1, at + n / 2, 1, &scale);
        } else {
            gi_ref_fill(ref, 1, at, n < p->x_stride ? n : p->x_stride, 0x80FFFFFFu, 0x3F000000u);
        }
    }
}

// Lists a row of results from `at` on: weights from row `first` on times row `row` of the inputs.
static void expect_product(struct gi_ref *ref, const struct inputs *inputs, uint32_t row,
                           uint32_t first, uint64_t at)
{
    const struct gi_gemm_params *p = ref->params;
    const size_t n_memory = ref->memory.count;
    const float *x = read_row(ref, inputs, row);
    const float *before = p->is_added ? gi_ref_floats(ref, 0, at, p->n_rows) : NULL;
    const float *bias =
        gi_ref_define(ref, "HAS_BIAS") ? gi_ref_floats(ref, 3, p->bias + first, p->n_rows) : NULL;
    for (uint32_t i = 0; !ref->has_failed && i < p->n_rows; i++) {
        struct gi_ref_value y;
        if (!gi_ref_dot(ref, first + i, x, &y)) {
            continue;
        }
        y.value += bias ? bias[i] : 0;
        y.magnitude += bias ? fabs((double)bias[i]) : 0;
        if (before) {
            y.value = before[i] + p->scale * y.value;
            y.magnitude = fabs((double)before[i]) + fabs(p->scale * y.magnitude);
        }
        gi_ref_expect(ref, "y", 0, at + i, y.value, y.magnitude);
    }
    gi_ref_expect_written(ref, "y", 0, at, p->n_rows);
    gi_ref_rewind(ref, n_memory);
}

// Lists the rows of a run of one expert. A sampled reference knows the weights of the part's first
// expert alone, whose run it makes the first.
static void expect_runs(struct gi_ref *ref, const struct inputs *inputs)
{
    const struct gi_gemm_params *p = ref->params;
    const uint32_t most = ref->dispatch->grid.divisor, n_row = ref->n_tokens * p->n_used;
    const uint32_t n_run = (n_row + most - 1) / most + ref->dispatch->grid.added;
    for (uint32_t i = 0; ref->is_sampled && i < n_run; i++) {
        const uint32_t end = n_row < most ? n_row : most;
        const float run[4] = {(float)(p->first_expert + (i == 0 ? 0 : p->n_expert)), 0,
                              i == 0 ? (float)end : 0, 0};
        gi_ref_write(ref, 1, 4 * ((uint64_t)p->tiles + i), 4, run);
    }
    const float *runs = gi_ref_floats(ref, 1, 4ull * p->tiles, 4 * (size_t)n_run);
    for (uint32_t i = 0; !ref->has_failed && i < n_run; i++) {
        const float *run = runs + (size_t)4 * i;
        const uint32_t expert = (uint32_t)run[0] - p->first_expert, last = (uint32_t)run[2] - 1;
        // In f16, the last row of a run may be padding.
        const uint32_t step = !ref->is_sampled ? 1 : inputs->tiles.n_tile > 0 ? most : last;
        for (uint32_t row = (uint32_t)run[1];
             expert < p->n_expert && row <= last && row<(uint32_t)run[1] + most; row += step> 0
                 ? step
                 : 1) {
            expect_product(ref, inputs, row, expert * p->n_rows,
                           (uint64_t)(row - (uint32_t)run[3]) * p->y_stride + p->y_begin);
        }
    }
}

void gi_ref_gemm(struct gi_ref *ref)
{
    const struct gi_gemm_params *p = ref->params;
    const struct inputs inputs = find_inputs(ref);
    // Random rounding errors of a running sum grow with the root of the number of products. With
    // halves, there is a rounding of x, one of the weight, and those of sums of 32 products.
    ref->roundings = inputs.is_half ? 2 * 8192 : inputs.is_packed ? 8192 : 4 + sqrt(ref->n_col);
    if (gi_ref_define(ref, "EXPERTS")) {
        expect_runs(ref, &inputs);
        return;
    }
    if (ref->is_sampled) {
        fill_inputs(ref, &inputs);
    }
    for (uint32_t m = 0; !ref->has_failed && m < ref->n_tokens; m++) {
        const uint64_t at = p->y_begin + (uint64_t)m * p->y_stride;
        if (!ref->is_sampled || m == 0 || m == ref->n_tokens / 2 || m == ref->n_tokens - 1) {
            expect_product(ref, &inputs, m, 0, at);
        } else if (!p->is_added) {
            gi_ref_expect_written(ref, "y", 0, at, p->n_rows);
        }
    }
}
