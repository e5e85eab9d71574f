// Writes rows as gemm/half_rows.glsl has them, into binding 0, eight invocations to a tile's row.
#include "gemm/half_rows_store.glsl"

shared float half_largest[WG_SIZE];

// Returns the largest magnitude of a tile's row, of which each of eight invocations has elements a and
// b. Every invocation of the group calls it; word % 8 equals gl_LocalInvocationIndex % 8, and WG_SIZE
// is a multiple of 8.
float largest_of_row(vec4 a, vec4 b)
{
    uint lane = gl_LocalInvocationIndex;
    half_largest[lane] = largest_of_word(a, b);
    group_barrier();
    float largest = 0.0;
    for (uint i = 0u; i < 8u; i++) {
        largest = max(largest, half_largest[(lane & ~7u) + i]);
    }
    barrier(); // the next call overwrites what this one reads
    return largest;
}

// Writes elements 8 word ... of a token, a and b, if is_there. Every invocation calls it, too.
void write_half_word(uint token, uint word, uint n_tile, vec4 a, vec4 b, bool is_there)
{
    float largest = largest_of_row(a, b);
    if (is_there) {
        store_half_word(token, word, n_tile, a, b, largest);
    }
}
