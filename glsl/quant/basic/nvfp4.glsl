// NVFP4: weight = s / 2 * code of a nibble, twice the values of E2M1, a scale s in E4M3 for 16. One
// quad a row and block. Scale words, five for eight blocks: s of two blocks each, a byte each, the
// first low, and a float that multiplies the matrix.
struct QuantBlock {
    LateQuad quad;
    vec2 d; // of the first 16 weights and of the last
};

#include "quant/basic/e2m1_codes.glsl"

// Half of a number in E4M3: as the top bits of a float, but for denormals, which stand for their
// mantissa after a leading 1.
float half_of_e4m3(uint s)
{
    float d = uintBitsToFloat(((s & 0x7Fu) << 20u) + 0x3B800000u);
    return (s & 0x78u) == 0u ? 2.0 * d - 0.0078125 : d;
}

QuantBlock quant_load(uint tile, uint block, uint n_block, uint row)
{
    QuantBlock w;
    w.quad = late_quad(quant_index(tile, block, n_block, 1u, row));
    uint at = quant_index(tile, block / 8u, (n_block + 7u) / 8u, 5u, row);
    uint word = aux_at(at + (block / 2u & 3u) * TILE_ROWS) >> ((block & 1u) * 16u);
    float factor = uintBitsToFloat(aux_at(at + 4u * TILE_ROWS));
    w.d = factor * vec2(half_of_e4m3(word), half_of_e4m3(word >> 8u));
    return w;
}

#define QUANT_CODES e2m1_codes
#define CODE_SCALES(w) (w).d
#include "quant/codebook.glsl"
