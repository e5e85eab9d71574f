// The sum of squares of a group's x, where each of its invocations has a share: subgroups add
// theirs up, if there are any, and whoever wants the sum adds up what they left.
#if SUBGROUP
#define SSQ_SPAN SUBGROUP
#else
#define SSQ_SPAN 1
#endif
#define N_SSQ_PART ((WG_SIZE + SSQ_SPAN - 1) / SSQ_SPAN)

shared float gemv_ssq_sums[N_SSQ_PART];

void gemv_share_ssq(uint lane, float ssq)
{
#if SUBGROUP
    ssq = sum_lanes(ssq, 1, SSQ_SPAN);
#endif
    if (lane % uint(SSQ_SPAN) == 0u) {
        gemv_ssq_sums[lane / uint(SSQ_SPAN)] = ssq;
    }
}

// 1 / rms of x, after a barrier.
float gemv_shared_inv_rms()
{
    float ssq = gemv_ssq_sums[0];
    for (uint i = 1u; i < uint(N_SSQ_PART); i++) {
        ssq += gemv_ssq_sums[i];
    }
    return gemv_inv_rms(ssq);
}
