// Sums of what the rows of a gemv leave, for norm/sums.glsl, in the shapes of gemv/gemv_row.glsl:
// an invocation notes the elements of a row of a pair of tiles; after gemv_run each sum is that of
// one or two pairs of the group, `step`.
#include "norm/sums.glsl"

#if WRITE_SUMS

#define GROUP_PAIRS uint(WG_SIZE / 8 * PAIRS)

shared float gemv_noted[WG_SIZE * PAIRS];

void gemv_note(uint pair, uint row, float value)
{
    gemv_noted[pair % GROUP_PAIRS * 8u + row] = value;
}

// The first sum of this invocation. Called by all of the group, once.
uint gemv_sum_first()
{
    group_barrier();
    return gl_LocalInvocationIndex;
}

// One past the last sum of the group.
uint gemv_sum_end(uint step)
{
    uint n_pair = min(params.n_pair - GEMV_GROUP * GROUP_PAIRS, GROUP_PAIRS);
    return (n_pair + step - 1u) / step;
}

// Place of sum i of the group among those of the part.
uint gemv_sum_index(uint i, uint step)
{
    return GEMV_GROUP * (GROUP_PAIRS / step) + i;
}

float gemv_sum(uint i, uint step)
{
    float sum = 0.0;
    uint n_pair = min(params.n_pair - GEMV_GROUP * GROUP_PAIRS, GROUP_PAIRS);
    for (uint k = i * 8u * step; k < min((i + 1u) * step, n_pair) * 8u; k++) {
        sum += gemv_noted[k];
    }
    return sum;
}

#endif
