// Sums of what the rows of a gemv leave, for norm/sums.glsl, in the shapes of gemv/gemv_row.glsl:
// an invocation notes the elements of a row of a pair of tiles; after a barrier each sum is that
// of one or two pairs of the group, `step`. There are at most WG_SIZE.
#include "norm/sums.glsl"

#if WRITE_SUMS

shared float gemv_noted[WG_SIZE * PAIRS / SLICES];

void gemv_note(uint pair, uint row, float value)
{
    gemv_noted[pair % GROUP_PAIRS * 8u + row] = value;
}

// Returns true if this invocation has a sum of the group to write.
bool gemv_has_sum(uint step)
{
    uint pair = gl_LocalInvocationIndex * step;
    return pair < GROUP_PAIRS && GEMV_GROUP * GROUP_PAIRS + pair < params.n_pair;
}

// Place of this invocation's sum among those of the part.
uint gemv_sum_index(uint step)
{
    return GEMV_GROUP * (GROUP_PAIRS / step) + gl_LocalInvocationIndex;
}

// Returns the sum of what was noted of a pair of the group.
float gemv_pair_sum(uint pair)
{
    float sum = 0.0;
    for (uint i = 0u; i < 8u; i++) {
        sum += gemv_noted[pair * 8u + i];
    }
    return sum;
}

#endif
