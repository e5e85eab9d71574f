// MXFP4: weight = 2^(e - 128) * code of a nibble, twice the values of E2M1. One quad a row and
// block. Scale word: e of four blocks, a byte each, the first low.
struct QuantBlock {
    LateQuad quad;
    float d;
};

#include "quant/basic/e2m1_codes.glsl"

QuantBlock quant_load(uint tile, uint block, uint n_block, uint row)
{
    QuantBlock w;
    w.quad = late_quad(quant_index(tile, block, n_block, 1u, row));
    uint word = aux_at(quant_index(tile, block / 4u, (n_block + 3u) / 4u, 1u, row));
    uint e = (word >> ((block & 3u) * 8u)) & 0xFFu;
    w.d = uintBitsToFloat(e < 2u ? 0x00200000u << e : (e - 1u) << 23u);
    return w;
}

#define QUANT_CODES e2m1_codes
#define CODE_SCALE(w) (w).d
#include "quant/codebook.glsl"
