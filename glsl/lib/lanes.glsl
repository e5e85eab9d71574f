// Sums and largest values over neighbours in a subgroup: the invocations whose numbers differ in
// the bits from `from` to below `to`, powers of two that are constants. All of them have the
// result. Needs SUBGROUP; 0: there are none.
//
// Step by step, without a loop: in a text as long as a whole decode step NVIDIA's compiler leaves
// loops as they are, even of two turns, and a turn costs half as much again as the shuffle in it.
#if SUBGROUP
#define LANES_STEP(n, combined)                                                                    \
    if (from <= n && n < to) {                                                                     \
        x = combined;                                                                              \
    }
#define LANES_STEPS(step) step(1) step(2) step(4) step(8) step(16) step(32)
#define SUM_STEP(n) LANES_STEP(n, x + subgroupShuffleXor(x, uint(n)))
#define MAX_STEP(n) LANES_STEP(n, max(x, subgroupShuffleXor(x, uint(n))))

float sum_lanes(float x, int from, int to)
{
    LANES_STEPS(SUM_STEP)
    return x;
}

vec2 sum_lanes(vec2 x, int from, int to)
{
    LANES_STEPS(SUM_STEP)
    return x;
}

vec4 sum_lanes(vec4 x, int from, int to)
{
    LANES_STEPS(SUM_STEP)
    return x;
}

float max_lanes(float x, int from, int to)
{
    LANES_STEPS(MAX_STEP)
    return x;
}

vec4 max_lanes(vec4 x, int from, int to)
{
    LANES_STEPS(MAX_STEP)
    return x;
}
#endif
