// residual += scale * sum over a token's experts of share * y; in a step (BATCH 0) also norm =
// residual * gamma and ssq, partial sums of residual^2. With SET, of a batch, x = that.
//
//   x        BATCH 1: (n_tokens, x_stride); BATCH 0: the stream, residual, norm, ssq at their offsets
//   y        (n_tokens, y_stride): n_used rows of y_width; with SORTED (n, y_width), in the places of
//            experts/sort_experts.comp
//   vectors  gamma (n_embd)
//   act      (n_tokens, act_stride): the route (route.comp) from route on
//
// A group owns WG_SIZE quads of columns of one token, an invocation one. Reads n_used values a
// column: bound by memory.
#include "lib/common.glsl"
#include "lib/group.glsl"
#include "lib/reduce.glsl"
#include "lib/step_state.glsl"

#ifndef BATCH
#error "BATCH: 1 for rows, 0 for the stream of a step"
#endif
#ifndef SORTED
#define SORTED 0
#endif
#ifndef SET
#define SET 0
#endif

layout(std430, binding = 0) restrict buffer X { float x[]; };
layout(std430, binding = 1) restrict readonly buffer Y { vec4 y[]; };
layout(std430, binding = 2) restrict readonly buffer Vectors { vec4 vectors[]; };
layout(std430, binding = 3) restrict readonly buffer Act { vec4 act[]; };

#include "params/add_experts.glsl"

vec4 sum_experts(uint token, uint quad)
{
    vec4 sum = vec4(0.0);
    for (uint i = 0u; i < params.n_used; i++) {
        vec4 route = act[(token * params.act_stride + params.route) / 4u + i];
#if SORTED
        uint at = uint(route.z) * params.y_width;
#else
        uint at = token * params.y_stride + i * params.y_width;
#endif
        sum += route.y * y[at / 4u + quad];
    }
    return sum;
}

// Returns the sum of squares of the four columns.
float add_quad(uint token, uint quad)
{
    uint at = params.residual + token * params.x_stride + 4u * quad;
    vec4 value = params.scale * sum_experts(token, quad);
    for (uint i = 0u; i < 4u; i++) {
#if !SET
        value[i] += x[at + i];
#endif
        x[at + i] = value[i];
    }
#if !BATCH
    vec4 norm = value * vectors[params.gamma / 4u + quad];
    for (uint i = 0u; i < 4u; i++) {
        x[params.norm + 4u * quad + i] = norm[i];
    }
#endif
    return dot(value, value);
}

void main()
{
    uint quad = gl_GlobalInvocationID.x;
    float sum = 0.0;
    if (4u * quad < params.n_embd && gl_WorkGroupID.y < state.n_tokens) {
        sum = add_quad(gl_WorkGroupID.y, quad);
    }
#if !BATCH
    sum = reduce_sum(sum, uint(WG_SIZE));
    if (gl_LocalInvocationIndex == 0u) {
        x[params.ssq + gl_WorkGroupID.x] = sum;
    }
#endif
}
