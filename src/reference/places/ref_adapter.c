// The term of low-rank adapters: glsl/gemv/gemv_adapter.glsl, glsl/gemm/adapter_rows.comp.
#include "reference/places/ref_adapter.h"

#include "glsl/gemm/gemm_params.h"
#include "quant/quant.h"

#include <math.h>

struct gi_ref_value gi_ref_adapter_row(const uint32_t *tile, uint32_t row, uint32_t rank,
                                       const float *scales, const float *t)
{
    const uint32_t at = row % GI_TILE_ROWS;
    const float *own = t + (size_t)4 * tile[at];
    struct gi_ref_value sum = {0, 0};
    for (uint32_t j = 0; j < rank; j++) {
        const uint32_t pair = tile[(j / 2 + 1) * GI_TILE_ROWS + at];
        const double b = gi_half_to_float((uint16_t)(pair >> 16 * (j % 2)));
        const double term = b * scales[j] * own[j];
        sum.value += term;
        sum.magnitude += fabs(term);
    }
    return sum;
}

const uint32_t *gi_ref_adapter_tile(struct gi_ref *ref, uint64_t adapter, uint32_t row,
                                    uint32_t rank)
{
    const uint32_t n = GI_TILE_ROWS * (rank / 2 + 1);
    const uint64_t first = adapter + (uint64_t)(row / GI_TILE_ROWS) * n;
    return (const uint32_t *)(const void *)gi_ref_floats(ref, 3, first, n);
}

uint32_t gi_ref_adapter_columns(const uint32_t *tile, uint32_t row, uint32_t rank)
{
    return 4 * tile[row % GI_TILE_ROWS] + rank;
}

// Lists the results of a tile of rows for one token, `at` the first of all rows in y.
static void expect_tile(struct gi_ref *ref, const uint32_t *tile, uint32_t first, uint32_t token,
                        uint64_t at)
{
    const struct gi_adapter_rows_params *p = ref->params;
    const uint32_t rank = gi_ref_define(ref, "RANK");
    const uint32_t n = gi_ref_adapter_columns(tile, first, rank);
    const float *scales = gi_ref_floats(ref, 2, (uint64_t)token * p->scale_stride, rank);
    const float *t = gi_ref_floats(ref, 1, (uint64_t)token * p->t_stride, n);
    const float *before = gi_ref_floats(ref, 0, at + first, GI_TILE_ROWS);
    for (uint32_t i = 0; !ref->has_failed && i < GI_TILE_ROWS; i++) {
        const struct gi_ref_value term = gi_ref_adapter_row(tile, first + i, rank, scales, t);
        gi_ref_expect(ref, "y", 0, at + first + i, before[i] + p->factor * term.value,
                      fabs((double)before[i]) + fabs(p->factor * term.magnitude));
    }
}

void gi_ref_adapter_rows(struct gi_ref *ref)
{
    const struct gi_adapter_rows_params *p = ref->params;
    const uint32_t rank = gi_ref_define(ref, "RANK"), last = p->n_rows - GI_TILE_ROWS;
    for (uint32_t m = 0; !ref->has_failed && m < ref->n_tokens; m++) {
        const uint64_t at = (uint64_t)m * p->y_stride + p->y_begin;
        if (ref->is_sampled) {
            gi_ref_fill(ref, 1, (uint64_t)m * p->t_stride, p->t_stride, 0x80FFFFFFu, 0x3F000000u);
        }
        // A sampled reference knows the first and the last tile; the rest may change.
        for (uint32_t row = 0; !ref->has_failed && row <= last;
             row += ref->is_sampled && row < last ? last : GI_TILE_ROWS) {
            const size_t n_memory = ref->memory.count;
            const uint32_t *tile = gi_ref_adapter_tile(ref, p->adapter, row, rank);
            if (tile) {
                expect_tile(ref, tile, row, m, at);
            }
            gi_ref_rewind(ref, n_memory);
        }
        if (ref->is_sampled) {
            gi_ref_add_scratch(ref, 0, at, p->n_rows);
        }
    }
}
