// TQ2_0: weight = d * (quant - 1), quants of two bits. Four quads a row and super-block of 8
// blocks: the pairs of bits of two blocks each. Scale word: f16 d of two super-blocks, the even one
// low.
#include "quant/basic/two_bits.glsl"
#include "quant/super_pair.glsl"

QuantBlock quant_load(uint tile, uint block, uint n_block, uint row)
{
    QuantBlock w;
    uvec4 pairs = quad_at(quant_index(tile, block / 2u, n_block / 2u, 1u, row));
    w.pairs = (block & 1u) == 0u ? pairs.xy : pairs.zw;
    w.d = super_pair_scale(tile, block, n_block, row, 1u, 0u);
    return w;
}
