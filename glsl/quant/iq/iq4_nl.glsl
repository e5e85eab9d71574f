// IQ4_NL: weight = d * code of a nibble. One quad a row and block. Scale word: f16 d of two blocks,
// the even one low.
#include "quant/paired_scale.glsl"

struct QuantBlock {
    LateQuad quad;
    PairedScale d;
};

#include "quant/iq/iq4_codes.glsl"

QuantBlock quant_load(uint tile, uint block, uint n_block, uint row)
{
    QuantBlock w;
    w.quad = late_quad(quant_index(tile, block, n_block, 1u, row));
    w.d = paired_scale(tile, block, n_block, row, 1u);
    return w;
}

#define QUANT_CODES iq4_codes
#define CODE_SCALE(w) scale_of((w).d)
#include "quant/codebook.glsl"
