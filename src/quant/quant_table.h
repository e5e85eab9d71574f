// What quant.c and the type files share: the list of types and the steps of walking a tile.
// Private to this folder.
#ifndef GI_QUANT_QUANT_TABLE_H
#define GI_QUANT_QUANT_TABLE_H

#include "base/bytes.h"
#include "quant/quant.h"

// Each has a file of its name, which defines `const struct gi_quant gi_quant_<name>`.
#define GI_QUANT_MAP(X) X(f32) X(f16) X(q4_0) X(q4_1) X(q8_0)

#define GI_QUANT_DECLARE(name) extern const struct gi_quant gi_quant_##name;
GI_QUANT_MAP(GI_QUANT_DECLARE)
#undef GI_QUANT_DECLARE

#define GI_QUAD_WORDS 4u // uints a uvec4

// Blocks of GI_QUANT_BLOCK that cover n_cols.
static inline size_t gi_block_count(size_t n_cols)
{
    return (n_cols + GI_QUANT_BLOCK - 1) / GI_QUANT_BLOCK;
}

// Elements of block that lie within n_cols.
static inline size_t gi_block_elements(size_t block, size_t n_cols)
{
    size_t left = n_cols - block * GI_QUANT_BLOCK;
    return left < GI_QUANT_BLOCK ? left : GI_QUANT_BLOCK;
}

// Where the quad of one row lies in a tile whose type has n_quad of them a block.
static inline uint32_t *gi_quad_at(uint32_t *quads, size_t n_quad, size_t block, size_t quad,
                                   size_t row)
{
    return quads + ((block * n_quad + quad) * GI_TILE_ROWS + row) * GI_QUAD_WORDS;
}

// Two f16 in a word, as unpackHalf2x16 takes them apart.
static inline uint32_t gi_pack_halves(uint16_t low, uint16_t high)
{
    return low | (uint32_t)high << 16;
}

// Shared loops of the types whose blocks hold 32 elements (repack.c); rows as in repack_tile.

// One quad a block from the 16 bytes of nibbles at offset in each block of block_bytes.
void gi_repack_nibble_tile(const void *const rows[GI_TILE_ROWS], size_t n_block, size_t block_bytes,
                           size_t offset, uint32_t *quads);
// One word for two blocks from the f16 at the start of each.
void gi_repack_paired_scales(const void *const rows[GI_TILE_ROWS], size_t n_block,
                             size_t block_bytes, uint32_t *scales);

#endif
