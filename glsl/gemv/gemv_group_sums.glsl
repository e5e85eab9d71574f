// Adds up what the groups of gemv/gemv_post.comp leave each: GEMV_N_SUM vec4, GEMV_SUM(i), which
// whoever includes this defines. Where a group splits k its invocations share them before all else;
// 64 do without subgroups, since all read what each of them leaves.
#if GEMV_SPLIT
#if SUBGROUP
#define SUM_SPAN SUBGROUP
#else
#define SUM_SPAN 1
#endif
#define SUM_LANES min(WG_SIZE, 64 * SUM_SPAN)

shared vec4 gemv_group_sums[(SUM_LANES + SUM_SPAN - 1) / SUM_SPAN];

vec4 gemv_add_group_sums()
{
    uint lane = gl_LocalInvocationIndex, n_lane = min(GEMV_N_SUM, uint(SUM_LANES));
    vec4 sum = vec4(0.0);
    for (uint i = lane; i < GEMV_N_SUM && lane < uint(SUM_LANES); i += uint(SUM_LANES)) {
        sum += GEMV_SUM(i);
    }
#if SUBGROUP
    sum = sum_lanes(sum, 1, SUM_SPAN);
#endif
    if (lane < uint(SUM_LANES) && lane % uint(SUM_SPAN) == 0u) {
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
