// The shapes that kernels come in and the words for them, which settings, tunings and the table of
// device classes share. Knows no GL calls.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// How a projection of a decode step is computed; glsl/gemv/gemv.glsl explains the forms.
enum gi_gemv_form {
    GI_GEMV_FORM_SPLIT,
    GI_GEMV_FORM_F16, // split, products in f16
    GI_GEMV_FORM_ROW,
    GI_GEMV_FORM_TEXEL,
    GI_GEMV_FORM_HALVES, // from here on GI_GEMV_FORM_ROW with the DOT of glsl/quant/dot.glsl
    GI_GEMV_FORM_BYTES,
    GI_GEMV_FORM_PLACES,
    GI_GEMV_FORM_TEXBITS, // through buffer textures
    GI_GEMV_FORM_COUNT,
};

struct gi_gemv_shape {
    enum gi_gemv_form form;
    uint32_t wg_size;
    uint32_t pairs;      // of a group if split, else of an invocation and a power of two
    uint32_t max_groups; // split: maximum number of workgroups, which loop over the rest; 0: no
                         // limit; else slices: invocations that share the k of a row, a power of
                         // two; 0: one
};

// Reads form[:wg_size[:pairs[:max_groups or slices]]]. Returns false if text is NULL or anything
// else.
bool gi_gemv_shape_parse(const char *text, struct gi_gemv_shape *shape);
// Writes all four in the same words.
void gi_gemv_shape_write(const struct gi_gemv_shape *shape, char *text, size_t size);

// How a projection of a few tokens is spread over groups; glsl/gemv/gemv_batch.comp explains it.
struct gi_gemv_batch_shape {
    uint32_t wg_size, pairs, lane_pairs, tokens;
};

// Reads few:wg_size:pairs:lane_pairs:tokens. Returns false if text is anything else.
bool gi_gemv_batch_shape_parse(const char *text, struct gi_gemv_batch_shape *shape);

// Which form the kernels of a prompt batch take.
enum gi_batch_form {
    GI_BATCH_FORM_SPLIT, // tiles in shared memory: fast shared memory, many registers
    GI_BATCH_FORM_LANE,  // a row of weights an invocation, few registers: V3D, Mali, Adreno
    GI_BATCH_FORM_ROW,   // a row of results an invocation, in private memory: llvmpipe
};

// Reads split, lane or row. Returns false if text is anything else.
bool gi_batch_form_parse(const char *text, enum gi_batch_form *form);

// The tiles of GI_BATCH_FORM_SPLIT: tokens by rows, and slices of k.
enum gi_gemm_tile {
    GI_GEMM_TILE_WHOLE, // glsl/gemm/gemm_wide.comp
    GI_GEMM_TILE_SLICED,
    GI_GEMM_TILE_SMALL,
    GI_GEMM_TILE_HALVED,
    GI_GEMM_TILE_2X8, // glsl/gemm/own_rows.glsl: rows by tokens of an invocation
    GI_GEMM_TILE_4X6,
    GI_GEMM_TILE_4X8,
    GI_GEMM_TILE_NARROW, // glsl/gemm/gemm.comp
    GI_GEMM_TILE_ROLLED, // with fewer registers while it stages
    GI_GEMM_TILE_THIN,   // half the results an invocation
    GI_GEMM_TILE_SHORT,  // and half the tokens
    GI_GEMM_TILE_LOW,    // a quarter of the tokens, in groups of 64
    GI_GEMM_TILE_HALF,   // glsl/gemm/gemm_half.comp, of x in f16: from here on
    GI_GEMM_TILE_HALF_SLICED,
    GI_GEMM_TILE_HALF_TALL,
    GI_GEMM_TILE_HALF_NARROW,
    GI_GEMM_TILE_COUNT,
};

// A tile of x in f32 and one of x in f16 may share a name.
const char *gi_gemm_tile_name(enum gi_gemm_tile tile);
static inline bool gi_gemm_tile_is_half(enum gi_gemm_tile tile)
{
    return tile >= GI_GEMM_TILE_HALF;
}
// Finds the tile of that name for x in f16 or in f32. Returns false if text is NULL or there is
// none.
bool gi_gemm_tile_parse(const char *text, bool is_half, enum gi_gemm_tile *tile);
