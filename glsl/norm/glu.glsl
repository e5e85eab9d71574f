// Reads and writes the two factors of a gated network, for kernels whose results come in pairs
// (gemv/gemv.glsl). SIDE says which:
//   0   the tiles of a pair are one of gate and one of up:  act = f(gate) * up
//   1   both are of gate, whose type is not up's:           act = f(gate)
//   2   both are of up, in a later dispatch:                act = act * up
//   3   both are of gate, and act has the other factor:     act = act * f(gate)
// Needs act, with SIDE 2 and 3 to be read, params.n_pair and norm/activation.glsl.
#include "lib/publish.glsl"
#ifndef SIDE
#error "SIDE: 0 gate and up, 1 gate, 2 up, 3 gate of what is there"
#endif

// Returns the distance in tiles of a matrix from one pair to the next, and within a pair.
#if SIDE == 0
#define GLU_TILES 1u
#define GLU_SECOND params.n_pair
#else
#define GLU_TILES 2u
#define GLU_SECOND 1u
#endif

#if SIDE
void glu_store_side(uint begin, uint i, uint n, float y)
{
    if (i < n) {
#if SIDE == 1
        act[begin + i] = activate(y);
#elif SIDE == 3
        act[begin + i] *= activate(y);
#else
        act[begin + i] *= linear_factor(y);
#endif
    }
}
#endif

// Writes the results of a pair. The first belongs to element i of n, which begin at act[begin].
void glu_store(uint begin, uint i, uint n, vec2 y)
{
#if SIDE
    glu_store_side(begin, i, n, y.x);
    glu_store_side(begin, i + 8u, n, y.y);
#else
    if (i < n) {
        act[begin + i] = PUBLISH(activate(y.x) * linear_factor(y.y));
    }
#endif
}
