// IQ1_S and IQ1_M: weight = d * (coordinate - 1 +- 1/8), and where the bits of a block lie.
struct QuantBlock {
    uvec2 points; // four
    vec4 shift;   // of each, -1 and +- 1/8
    vec2 d;       // of the first 16 weights and of the last
};

#include "quant/grid.glsl"

#define N_TABLE 1024u // words of the grid

// Loads a block from three quads a row and super-block: low bytes of the indices of its four
// points, and its 16 other bits.
void iq1_load(uint tile, uint block, uint n_block, uint row, out uvec4 low, out uint other)
{
    uint index = quant_index(tile, block / 8u, n_block / 8u, 3u, row);
    uint bytes = quad_at(index + (block / 4u & 1u) * TILE_ROWS)[block & 3u];
    other = quad_at(index + 2u * TILE_ROWS)[block / 2u & 3u] >> ((block & 1u) * 16u);
    low = (uvec4(bytes) >> uvec4(0u, 8u, 16u, 24u)) & 0xFFu;
}

vec4 quant_values(QuantBlock w, int k)
{
    return coordinates_of_8(w.points, k) + w.shift[k / 2];
}
