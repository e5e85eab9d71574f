#include "ops/gemm/half_rows.h"

#include "ops/gemm/batch.h"
#include "ops/gemm/batch_form.h"
#include "ops/record/params.h"

#include <assert.h>

#define WG_SIZE 64 // words of eight columns

// The constant of glsl/gemm/half_rows.glsl.
#define TILE_TOKENS 128
#define TILE_SIZE   (UINT64_C(1056) * 16)

// Fewer than these do not fill tiles.
#define MIN_TOKENS 64

uint32_t gi_half_row_tiles(uint32_t width)
{
    return (width + GI_HALF_COLUMNS - 1) / GI_HALF_COLUMNS;
}

uint64_t gi_half_rows_size(uint32_t n_tokens, uint32_t width)
{
    const uint32_t n_tile = (n_tokens + TILE_TOKENS - 1) / TILE_TOKENS * gi_half_row_tiles(width);
    return n_tile * TILE_SIZE;
}

struct gi_rows gi_half_rows(const struct gi_recorder *recorder, const struct gi_rows *rows)
{
    const uint32_t n_tokens = (uint32_t)(rows->range.size / (rows->stride * sizeof(float)));
    struct gi_rows half = *rows;
    half.is_half = recorder->is_half && gi_gemm_takes_half(recorder->gpu) &&
                   n_tokens >= MIN_TOKENS &&
                   gi_program_available(recorder->gpu, GI_PROGRAM_GEMM_HALF) &&
                   gi_batch_form(recorder->gpu) == GI_BATCH_FORM_SPLIT &&
                   gi_half_rows_size(n_tokens, rows->stride) <= rows->range.size;
    return half;
}

bool gi_op_half_rows(struct gi_recorder *recorder, const char *label, const struct gi_rows *x,
                     uint32_t width, const struct gi_rows *y, struct glinfer_error *err)
{
    assert(!x->is_half && y->is_half && width % 4 == 0 && x->stride >= width);
    const struct gi_program_key key = {
        .id = GI_PROGRAM_HALF_ROWS,
        .quant = GI_QUANT_NONE,
        .n_defines = 1,
        .defines = {{"WG_SIZE", WG_SIZE}},
    };
    const struct gi_half_rows_params params = {.x_stride = x->stride, .width = width};
    const uint32_t n_word = gi_half_row_tiles(width) * GI_HALF_COLUMNS / 8;
    struct gi_dispatch dispatch = {
        .label = label,
        .bindings = {y->range,  x->range},
        .writes = 1u << 0,
        .params = &params,
        .params_size = sizeof(params),
        .grid = { .size = {(n_word + WG_SIZE - 1) / WG_SIZE, 1, 1},
                     .rule = GI_GRID_TOKENS,
                     .axis = 1,
                     .divisor = 1},
    };
    return gi_recorder_add(recorder, &key, &dispatch, err);
}
