// Adds up what the groups of gemv/gemv_post.comp leave each: GEMV_N_SUM vec4, GEMV_SUM(i), which
// whoever includes this defines. Where a group splits k its invocations share them, before all else.
#if GEMV_SPLIT
#if SUBGROUP
#define SUM_SPAN SUBGROUP
#else
#define SUM_SPAN 1
#endif

shared vec4 gemv_group_sums[(WG_SIZE + SUM_SPAN - 1) / SUM_SPAN];

vec4 gemv_add_group_sums()
{
    uint lane = gl_LocalInvocationIndex, n_lane = min(GEMV_N_SUM, uint(WG_SIZE));
    vec4 sum = vec4(0.0);
    for (uint i = lane; i < GEMV_N_SUM; i += uint(WG_SIZE)) {
        sum += GEMV_SUM(i);
    }
#if SUBGROUP
    sum = sum_lanes(sum, 1, SUM_SPAN);
#endif
    if (lane % uint(SUM_SPAN) == 0u) {
        gemv_group_sums[lane / uint(SUM_SPAN)] = sum;
    }
    group_barrier();
    sum = gemv_group_sums[0];
    for (uint i = 1u; i * uint(SUM_SPAN) < n_lane; i++) {
        sum += gemv_group_sums[i];
    }
    return sum;
}
#else
vec4 gemv_add_group_sums()
{
    vec4 sum = vec4(0.0);
    for (uint i = 0u; i < GEMV_N_SUM; i++) {
        sum += GEMV_SUM(i);
    }
    return sum;
}
#endif
