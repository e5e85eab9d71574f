// residual += y * gamma / sqrt(mean(y^2) + eps), with SCALED times a scale after it; norm = residual *
// next_gamma; ssq = partial sums of residual^2: the end of a block whose result has a norm of its own,
// one token.
//
//   stream   residual (n_embd) read and written, norm (n_embd; with WRITE_SUMS its sums), ssq
//   y        (n_embd)
//   vectors  gamma, next_gamma (n_embd); the latter where HAS_GAMMA is 1, else norm is not written;
//            the scale
//
// A group owns WG_SIZE quads of columns and reads all of y for the sum of squares, a few kilobytes:
// bound by the dispatch. Group g writes ssq[g].
#include "lib/common.glsl"
#include "lib/group.glsl"
#include "lib/reduce.glsl"
#include "norm/sums.glsl"

#ifndef HAS_GAMMA
#error "HAS_GAMMA: 1 if a norm follows"
#endif

#ifndef SCALED
#define SCALED 0
#endif

layout(std430, binding = 0) restrict buffer Stream { float stream[]; };
layout(std430, binding = 1) restrict readonly buffer Y { vec4 y[]; };
layout(std430, binding = 2) restrict readonly buffer Vectors { vec4 vectors[]; };

#include "params/post_norm.glsl"

float sum_of_squares()
{
    float sum = 0.0;
    for (uint i = gl_LocalInvocationIndex; 4u * i < params.n_embd; i += uint(WG_SIZE)) {
        sum += dot(y[i], y[i]);
    }
    return reduce_sum(sum, uint(WG_SIZE));
}

#if WRITE_SUMS
shared float norm_sums[WG_SIZE];

// Four neighbouring invocations own SUM_SIZE columns; the caller's barrier stands between.
void write_sum(uint quad)
{
    uint lane = gl_LocalInvocationIndex;
    if (4u * quad < params.n_embd && quad % (SUM_SIZE / 4u) == 0u) {
        stream[params.norm + sums_begin(params.n_embd) + 4u * quad / SUM_SIZE] =
            (norm_sums[lane] + norm_sums[lane + 1u]) + (norm_sums[lane + 2u] + norm_sums[lane + 3u]);
    }
}
#endif

// Adds four columns to the residual; returns the sum of their squares after it.
float add_quad(uint quad, float scale)
{
    vec4 value = y[quad] * scale * vectors[params.gamma / 4u + quad];
    for (uint i = 0u; i < 4u; i++) {
        value[i] += stream[params.residual + 4u * quad + i];
#if SCALED
        value[i] *= vectors[params.out_scale / 4u].x;
#endif
        stream[params.residual + 4u * quad + i] = value[i];
    }
#if HAS_GAMMA
    vec4 norm = value * vectors[params.next_gamma / 4u + quad];
    for (uint i = 0u; i < 4u; i++) {
        stream[params.norm + 4u * quad + i] = norm[i];
    }
#if WRITE_SUMS
    norm_sums[gl_LocalInvocationIndex] = (norm.x + norm.y) + (norm.z + norm.w);
#endif
#endif
    return dot(value, value);
}

void main()
{
    float scale = inversesqrt(sum_of_squares() / float(params.n_embd) + params.eps);
    uint quad = gl_GlobalInvocationID.x;
    float sum = 0.0;
#if WRITE_SUMS
    norm_sums[gl_LocalInvocationIndex] = 0.0;
#endif
    if (4u * quad < params.n_embd) {
        sum = add_quad(quad, scale);
    }
    group_barrier();
#if WRITE_SUMS
    write_sum(quad);
#endif
    sum = reduce_sum(sum, uint(WG_SIZE));
    if (gl_LocalInvocationIndex == 0u) {
        stream[params.ssq + gl_WorkGroupID.x] = sum;
    }
}
