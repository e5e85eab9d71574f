// NVFP4: weight = s / 2 * code of a nibble, twice the values of E2M1, a scale s in E4M3 for 16. One
// quad a row and block. Scale words, five for eight blocks: s of two blocks each, a byte each, the
// first low, and a float that multiplies the matrix.
struct QuantBlock {
    LateQuad quad;
#if LATE == 2
    uint word; // both scales, which take two registers more for Mali G while weights are staged
    float factor;
#else
    vec2 d; // of the first 16 weights and of the last
#endif
};

#include "quant/basic/e2m1_codes.glsl"

// Half of a number in E4M3: as the top bits of a float, but for denormals, which stand for their
// mantissa after a leading 1.
float half_of_e4m3(uint s)
{
    float d = uintBitsToFloat(((s & 0x7Fu) << 20u) + 0x3B800000u);
    return (s & 0x78u) == 0u ? 2.0 * d - 0.0078125 : d;
}

vec2 scales_of(uint word, float factor)
{
    return factor * vec2(half_of_e4m3(word), half_of_e4m3(word >> 8u));
}

QuantBlock quant_load(uint tile, uint block, uint n_block, uint row)
{
    QuantBlock w;
    w.quad = late_quad(quant_index(tile, block, n_block, 1u, row));
    uint at = quant_index(tile, block / 8u, (n_block + 7u) / 8u, 5u, row);
    uint word = aux_at(at + (block / 2u & 3u) * TILE_ROWS) >> ((block & 1u) * 16u);
    float factor = uintBitsToFloat(aux_at(at + 4u * TILE_ROWS));
#if LATE == 2
    w.word = word;
    w.factor = factor;
#else
    w.d = scales_of(word, factor);
#endif
    return w;
}

#define QUANT_CODES e2m1_codes
#if LATE == 2
#define CODE_SCALES(w) scales_of((w).word, (w).factor)
#else
#define CODE_SCALES(w) (w).d
#endif
#include "quant/codebook.glsl"
