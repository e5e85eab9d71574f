// residual = x[n_tokens - 1], norm = that * gamma and partial sums of its squares: what the
// vocabulary's GEMV, or a layernorm before it, reads after a prompt.
//
//   stream   the residual stream of a decode step (ops/record/stream.h): residual, norm and ssq written
//   x        (n_tokens, stride)
//   vectors  gamma (n_embd)
//
// A group owns WG_SIZE quads of columns, an invocation one; group g writes ssq[g]. Reads one row, a
// few kilobytes.
#include "lib/common.glsl"
#include "lib/group.glsl"
#include "lib/reduce.glsl"
#include "lib/step_state.glsl"
#include "norm/sums.glsl"

layout(std430, binding = 0) restrict writeonly buffer Stream { float stream[]; };
layout(std430, binding = 1) restrict readonly buffer X { vec4 x[]; };
layout(std430, binding = 2) restrict readonly buffer Vectors { vec4 vectors[]; };

#include "params/last_row.glsl"

#if WRITE_SUMS
shared float norm_sums[WG_SIZE];

// Sums this invocation's four columns and those of the next three.
void write_sums(uint lane, uint quad, float norm_sum)
{
    norm_sums[lane] = norm_sum;
    group_barrier();
    if (lane % 4u == 0u && 4u * quad < params.n_embd) {
        stream[params.norm + sums_begin(params.n_embd) + quad / 4u] =
            (norm_sums[lane] + norm_sums[lane + 1u]) + (norm_sums[lane + 2u] + norm_sums[lane + 3u]);
    }
}
#endif

void main()
{
    uint lane = gl_LocalInvocationID.x;
    uint quad = gl_GlobalInvocationID.x;
    float sum = 0.0, norm_sum = 0.0;
    if (4u * quad < params.n_embd) {
        vec4 value = x[(state.n_tokens - 1u) * params.stride / 4u + quad];
        vec4 norm = value * vectors[params.gamma / 4u + quad];
        for (uint i = 0u; i < 4u; i++) {
            stream[params.residual + 4u * quad + i] = value[i];
            stream[params.norm + 4u * quad + i] = norm[i];
        }
        sum = dot(value, value);
        norm_sum = (norm.x + norm.y) + (norm.z + norm.w);
    }
#if WRITE_SUMS
    write_sums(lane, quad, norm_sum);
#endif
    sum = reduce_sum(sum, uint(WG_SIZE));
    if (lane == 0u) {
        stream[params.ssq + gl_WorkGroupID.x] = sum;
    }
}
