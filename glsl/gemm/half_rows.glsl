// Rows of activations in f16, as products in f16 read them: tiles of 64 columns by n tokens, 128, or
// with HALF 2 8. Each row of a tile has a scale of its own, so that neither large nor small values
// leave the range of f16. A tile is HALF_TILE words of 16 bytes:
//
//   word (t % 4 * 8 + w) * n / 4 + t / 4   of token t, elements 8 w .. 8 w + 7, as pairs of halves
//                                          (0, 4) (1, 5) (2, 6) (3, 7), the first low
//   word 8 n + t / 4                       f32 scales, component t % 4: the power of two that the
//                                          halves are times; the largest of them is in [8, 16)
//
// So neighbours that take a word of four tokens each read whole lines. Tiles of the same tokens
// follow each other. Columns past a row's width are zero up to a whole tile; values of tokens past
// the last are undefined.
#if HALF == 2
#define HALF_TOKENS 8u
#else
#define HALF_TOKENS 128u
#endif
#define HALF_COLUMNS 64u
#define HALF_QUADS_OF_TOKENS (HALF_TOKENS / 4u)
#define HALF_SCALES (8u * HALF_TOKENS)
#define HALF_TILE (HALF_SCALES + HALF_QUADS_OF_TOKENS)

// Returns the offset of a tile; n_tile of them make a row.
uint half_tile(uint token, uint tile, uint n_tile)
{
    return (token / HALF_TOKENS * n_tile + tile) * HALF_TILE;
}

float largest_of_word(vec4 a, vec4 b)
{
    vec4 largest = max(abs(a), abs(b));
    return max(max(largest.x, largest.y), max(largest.z, largest.w));
}

// Returns the exponent of the largest magnitude of a tile's row, clamped so that factor and scale are
// normal numbers.
uint half_exponent(float largest)
{
    return clamp(floatBitsToUint(largest) >> 23u, 8u, 250u);
}

// Returns the bits of the scale of a tile's row.
uint half_scale(uint exponent)
{
    return (exponent - 3u) << 23u;
}

// Returns a word of eight elements, a and b.
uvec4 pack_word(vec4 a, vec4 b)
{
    return uvec4(packHalf2x16(vec2(a.x, b.x)), packHalf2x16(vec2(a.y, b.y)),
                 packHalf2x16(vec2(a.z, b.z)), packHalf2x16(vec2(a.w, b.w)));
}

// Returns the word of elements 8 word ..., a and b, of a tile's row.
uvec4 half_word(vec4 a, vec4 b, uint exponent)
{
    float factor = uintBitsToFloat((257u - exponent) << 23u);
    return pack_word(a * factor, b * factor);
}

// Returns the place of a word within its tile.
uint half_place(uint token, uint word)
{
    uint quad = token % HALF_TOKENS / 4u;
    return (token % 4u * 8u + word % 8u) * HALF_QUADS_OF_TOKENS + quad;
}
