// IQ4_NL: weight = d * code of a nibble. One quad a row and block. Scale word: f16 d of two blocks, the
// even one low.
#include "quant/paired_scale.glsl"

struct QuantBlock {
    uvec4 quad;
    PairedScale d;
};

#include "quant/codebook.glsl"
#include "quant/iq/iq4_codes.glsl"

QuantBlock quant_load(uint tile, uint block, uint n_block, uint row)
{
    QuantBlock w;
    w.quad = quad_at(quant_index(tile, block, n_block, 1u, row));
    w.d = paired_scale(tile, block, n_block, row, 1u);
    return w;
}

float quant_dot(QuantBlock w, vec4 x[8], vec2 sum)
{
    return scale_of(w.d) * codes_dot(w.quad, iq4_codes, x);
}

vec4 quant_quad(QuantBlock w, int k)
{
    return codes_quad(w.quad, iq4_codes, scale_of(w.d), k);
}

#ifdef QUANT_STAGE
void quant_stage(uint lane)
{
    stage_codes(lane, iq4_codes);
}
#endif
