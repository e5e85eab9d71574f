// Writes what the next projection of a decode step reads of a residual: norm = residual * gamma, its sums, and
// partial sums of residual^2, one a group. Includers have the stream as x, params.norm, params.ssq,
// params.gamma, lib/reduce.glsl and norm/sums.glsl.
#if WRITE_SUMS
shared float norm_sums[WG_SIZE];

// Four neighbouring invocations own SUM_SIZE columns.
void write_norm_sums(uint quad, vec4 norm, bool is_there)
{
    uint lane = gl_LocalInvocationIndex;
    norm_sums[lane] = (norm.x + norm.y) + (norm.z + norm.w);
    group_barrier();
    if (is_there && quad % (SUM_SIZE / 4u) == 0u) {
        x[params.norm + sums_begin(params.n_embd) + 4u * quad / SUM_SIZE] =
            (norm_sums[lane] + norm_sums[lane + 1u]) + (norm_sums[lane + 2u] + norm_sums[lane + 3u]);
    }
}
#endif

// Takes four columns of each invocation of the group, zeros where is_there is false.
void write_stream_norm(uint quad, vec4 residual, bool is_there)
{
    vec4 norm = residual * vectors[params.gamma / 4u + min(quad, params.n_embd / 4u - 1u)];
    for (uint i = 0u; is_there && i < 4u; i++) {
        x[params.norm + 4u * quad + i] = norm[i];
    }
#if WRITE_SUMS
    write_norm_sums(quad, norm, is_there);
#endif
    float sum = reduce_sum(dot(residual, residual), uint(WG_SIZE));
    if (gl_LocalInvocationIndex == 0u) {
        x[params.ssq + gl_WorkGroupID.x] = sum;
    }
}
