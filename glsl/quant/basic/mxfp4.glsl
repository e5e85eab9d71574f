// MXFP4: weight = 2^(e - 128) * code of a nibble, twice the values of E2M1. One quad a row and
// block. Scale word: e of four blocks, a byte each, the first low.
struct QuantBlock {
    LateQuad quad;
    float d;
};

// 0 1 2 3 4 6 8 12, and the same below zero.
const uvec4 mxfp4_codes = uvec4(0x03020100u, 0x0C080604u, 0xFDFEFF00u, 0xF4F8FAFCu);

QuantBlock quant_load(uint tile, uint block, uint n_block, uint row)
{
    QuantBlock w;
    w.quad = late_quad(quant_index(tile, block, n_block, 1u, row));
    uint word = aux_at(quant_index(tile, block / 4u, (n_block + 3u) / 4u, 1u, row));
    uint e = (word >> ((block & 3u) * 8u)) & 0xFFu;
    w.d = uintBitsToFloat(e < 2u ? 0x00200000u << e : (e - 1u) << 23u);
    return w;
}

#define QUANT_CODES mxfp4_codes
#define CODE_SCALE(w) (w).d
#include "quant/codebook.glsl"
