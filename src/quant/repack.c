#include "quant/quant_table.h"

// The low nibbles of eight bytes in natural order: byte i gives bits 4i..4i+3.
static uint32_t pack_low_nibbles(uint64_t bytes)
{
    bytes &= 0x0F0F0F0F0F0F0F0Fu;
    bytes = (bytes | bytes >> 4) & 0x00FF00FF00FF00FFu;
    bytes = (bytes | bytes >> 8) & 0x0000FFFF0000FFFFu;
    return (uint32_t)(bytes | bytes >> 16);
}

static void repack_nibbles(const uint8_t *bytes, uint32_t quad[GI_QUAD_WORDS])
{
    uint64_t first = gi_load_u64(bytes), second = gi_load_u64(bytes + 8);
    quad[0] = pack_low_nibbles(first);
    quad[1] = pack_low_nibbles(second);
    quad[2] = pack_low_nibbles(first >> 4);
    quad[3] = pack_low_nibbles(second >> 4);
}

void gi_repack_nibble_tile(const void *const rows[GI_TILE_ROWS], size_t n_block, size_t block_bytes,
                           size_t offset, uint32_t *quads)
{
    for (size_t block = 0; block < n_block; block++) {
        for (size_t row = 0; row < GI_TILE_ROWS; row++, quads += GI_QUAD_WORDS) {
            const uint8_t *blocks = rows[row];
            if (blocks) {
                repack_nibbles(blocks + block_bytes * block + offset, quads);
            } else {
                memset(quads, 0, GI_QUAD_WORDS * sizeof(*quads));
            }
        }
    }
}

static uint16_t scale_or_zero(const uint8_t *blocks, size_t n_block, size_t block_bytes,
                              size_t block)
{
    return blocks && block < n_block ? gi_load_u16(blocks + block_bytes * block) : 0;
}

void gi_repack_paired_scales(const void *const rows[GI_TILE_ROWS], size_t n_block,
                             size_t block_bytes, uint32_t *scales)
{
    for (size_t block = 0; block < n_block; block += 2) {
        for (size_t row = 0; row < GI_TILE_ROWS; row++) {
            uint16_t even = scale_or_zero(rows[row], n_block, block_bytes, block);
            uint16_t odd = scale_or_zero(rows[row], n_block, block_bytes, block + 1);
            *scales++ = gi_pack_halves(even, odd);
        }
    }
}
