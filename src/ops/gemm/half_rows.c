#include "ops/gemm/half_rows.h"

#include "base/round.h"
#include "glsl/gemm/gemm_params.h"
#include "ops/gemm/batch.h"

#include <assert.h>

#define WG_SIZE 64 // words of eight columns

// Tokens of a tile of glsl/gemm/half_rows.glsl.
#define TILE_TOKENS       128
#define SMALL_TILE_TOKENS 8

// Fewer than these do not fill tiles of many.
#define MIN_TOKENS 64

uint32_t gi_half_row_tiles(uint32_t width)
{
    return (width + GI_HALF_COLUMNS - 1) / GI_HALF_COLUMNS;
}

// Returns the bytes of rows in tiles of tile_tokens tokens: 8.25 words of 16 bytes a token.
static uint64_t tiles_size(uint32_t n_tokens, uint32_t width, uint32_t tile_tokens)
{
    const uint64_t n_tile =
        (uint64_t)gi_divide_up(n_tokens, tile_tokens) * gi_half_row_tiles(width);
    return n_tile * tile_tokens * 132;
}

uint64_t gi_half_rows_size(uint32_t n_tokens, uint32_t width)
{
    return tiles_size(n_tokens, width, TILE_TOKENS);
}

enum gi_half_form gi_half_form(const struct gi_rows *rows)
{
    return !rows->is_half                         ? GI_HALF_FORM_NONE
           : gi_rows_room(rows) <= GI_SMALL_BATCH ? GI_HALF_FORM_SMALL
                                                  : GI_HALF_FORM_LARGE;
}

// Returns true if products of that many tokens in f16 have a kernel and room.
static bool has_room(const struct gi_gpu *gpu, const struct gi_rows *rows)
{
    const uint32_t n_tokens = gi_rows_room(rows), width = rows->stride;
    return n_tokens <= GI_SMALL_BATCH
               ? gi_program_available(gpu, GI_PROGRAM_GEMV_BATCH_HALF) &&
                     tiles_size(n_tokens, width, SMALL_TILE_TOKENS) <= rows->range.size
               : n_tokens >= MIN_TOKENS && gi_program_available(gpu, GI_PROGRAM_GEMM_HALF) &&
                     tiles_size(n_tokens, width, TILE_TOKENS) <= rows->range.size;
}

struct gi_rows gi_half_rows(const struct gi_recorder *recorder, const struct gi_rows *rows)
{
    struct gi_rows half = *rows;
    half.is_half = gi_gemm_takes_half(recorder) && has_room(recorder->gpu, rows);
    return half;
}

void gi_op_half_rows(struct gi_recorder *recorder, const char *label, const struct gi_rows *x,
                     uint32_t width, const struct gi_rows *y)
{
    assert(!x->is_half && y->is_half && width % 4 == 0); // rows of x may overlap
    const struct gi_program_key key =
        GI_KEY(GI_PROGRAM_HALF_ROWS, {"WG_SIZE", WG_SIZE}, {"HALF", gi_half_form(y)});
    const struct gi_half_rows_params params = {.x_stride = x->stride, .width = width};
    const uint32_t n_word = gi_half_row_tiles(width) * GI_HALF_COLUMNS / 8;
    struct gi_dispatch dispatch = {
        .label = label,
        .bindings = {y->range, x->range},
        GI_PARAMS_OF(params),
        .grid = gi_grid_rows((n_word + WG_SIZE - 1) / WG_SIZE, true),
    };
    gi_recorder_add(recorder, &key, &dispatch);
}
