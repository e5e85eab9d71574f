// residual += y * gamma / sqrt(mean(y^2) + eps); norm = residual * next_gamma; ssq = partial sums
// of residual^2: the end of a block whose result has a norm of its own, one token.
//
//   stream   residual (n_embd) read and written, norm (n_embd), ssq
//   y        (n_embd)
//   vectors  gamma, next_gamma (n_embd); the latter where HAS_GAMMA is 1, else norm is not written
//
// A group owns WG_SIZE quads of columns and reads all of y for the sum of squares, a few kilobytes:
// bound by the dispatch. Group g writes ssq[g].
#include "lib/common.glsl"
#include "lib/group.glsl"
#include "lib/reduce.glsl"

#ifndef HAS_GAMMA
#error "HAS_GAMMA: 1 if a norm follows"
#endif

layout(std430, binding = 0) restrict buffer Stream { float stream[]; };
layout(std430, binding = 1) restrict readonly buffer Y { vec4 y[]; };
layout(std430, binding = 2) restrict readonly buffer Vectors { vec4 vectors[]; };

layout(std140, binding = 0) uniform Params
{
    uint n_embd, gamma, next_gamma;
    uint residual, norm, ssq;
    float eps;
} params;

float sum_of_squares()
{
    float sum = 0.0;
    for (uint i = gl_LocalInvocationIndex; 4u * i < params.n_embd; i += uint(WG_SIZE)) {
        sum += dot(y[i], y[i]);
    }
    return reduce_sum(sum, uint(WG_SIZE));
}

// Adds four columns to the residual; returns the sum of their squares after it.
float add_quad(uint quad, float scale)
{
    vec4 value = y[quad] * scale * vectors[params.gamma / 4u + quad];
    for (uint i = 0u; i < 4u; i++) {
        value[i] += stream[params.residual + 4u * quad + i];
        stream[params.residual + 4u * quad + i] = value[i];
    }
#if HAS_GAMMA
    vec4 norm = value * vectors[params.next_gamma / 4u + quad];
    for (uint i = 0u; i < 4u; i++) {
        stream[params.norm + 4u * quad + i] = norm[i];
    }
#endif
    return dot(value, value);
}

void main()
{
    float scale = inversesqrt(sum_of_squares() / float(params.n_embd) + params.eps);
    uint quad = gl_GlobalInvocationID.x;
    float sum = 0.0;
    if (4u * quad < params.n_embd) {
        sum = add_quad(quad, scale);
    }
    group_barrier();
    sum = reduce_sum(sum, uint(WG_SIZE));
    if (gl_LocalInvocationIndex == 0u) {
        stream[params.ssq + gl_WorkGroupID.x] = sum;
    }
}
