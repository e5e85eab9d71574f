// IQ4_XS: weight = d * (scale - 32) * code of a nibble. One quad a row and block. Scale words, two
// a super-block of 8 blocks: f16 d low, the high two bits of the scales above it; their low four
// bits.
struct QuantBlock {
    LateQuad quad;
    float d;
};

#include "quant/iq/iq4_codes.glsl"

QuantBlock quant_load(uint tile, uint block, uint n_block, uint row)
{
    QuantBlock w;
    w.quad = late_quad(quant_index(tile, block, n_block, 1u, row));
    uint b = block & 7u;
    uint at = quant_index(tile, block / 8u, n_block / 8u, 2u, row);
    uint header = aux_at(at);
    uint low = aux_at(at + TILE_ROWS) >> (4u * b), high = header >> (16u + 2u * b);
    highp vec2 d = unpackHalf2x16(header);
    w.d = d.x * (float((low & 0xFu) | (high & 3u) << 4u) - 32.0);
    return w;
}

#define QUANT_CODES iq4_codes
#define CODE_SCALE(w) (w).d
#include "quant/codebook.glsl"
