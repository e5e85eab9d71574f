// x = (C_0 + sum_s u_s |C_0| / |u_s|) / 4: one residual of the four streams of a token (AltUp), u_s being the
// projections of all but the first.
//
//   x        BATCH 1: (n_tokens, x_stride); BATCH 0: the stream: residual, norm and ssq
//   streams  (n_tokens, stride)    C_0 in front
//   vectors  gamma (n_embd) of the norm that follows in a step
//   u        (n_tokens, y_stride)  three rows of n_embd
//
// A group of a step owns WG_SIZE quads of columns, of a batch all of a token; each reads all of C_0 and u for
// their lengths. Bound by the dispatch in a step, by memory in a batch.
#include "lib/common.glsl"
#include "lib/group.glsl"
#include "lib/reduce.glsl"
#include "lib/reduce_quad.glsl"
#include "lib/step_state.glsl"
#include "norm/sums.glsl"

#ifndef BATCH
#error "BATCH: 1 for rows, 0 for the stream of a step"
#endif

layout(std430, binding = 0) restrict writeonly buffer X { float x[]; };
layout(std430, binding = 1) restrict readonly buffer Streams { vec4 streams[]; };
layout(std430, binding = 2) restrict readonly buffer Vectors { vec4 vectors[]; };
layout(std430, binding = 3) restrict readonly buffer U { vec4 u[]; };

#include "params/altup.glsl"

#if !BATCH
#include "altup/stream_norm.glsl"
#endif

// Returns the factors of the projections.
vec3 find_factors(uint at, uint u_at)
{
    uint n_quad = params.n_embd / 4u;
    vec4 sums = vec4(0.0);
    for (uint i = gl_LocalInvocationIndex; i < n_quad; i += uint(WG_SIZE)) {
        vec4 a = streams[at + i], b = u[u_at + i], c = u[u_at + n_quad + i], d = u[u_at + 2u * n_quad + i];
        sums += vec4(dot(a, a), dot(b, b), dot(c, c), dot(d, d));
    }
    sums = reduce_sum_quad(sums);
    return sqrt(sums.x / max(sums.yzw, 1e-30));
}

// Writes and returns four columns.
vec4 merge_quad(vec3 factors, uint at, uint u_at, uint to, uint quad)
{
    uint n_quad = params.n_embd / 4u;
    vec4 sum = streams[at + quad] + factors.x * u[u_at + quad] + factors.y * u[u_at + n_quad + quad] +
               factors.z * u[u_at + 2u * n_quad + quad];
    for (uint i = 0u; i < 4u; i++) {
        x[to + 4u * quad + i] = 0.25 * sum[i];
    }
    return 0.25 * sum;
}

#if BATCH
void main()
{
    uint token = min(gl_WorkGroupID.y, state.n_tokens - 1u);
    uint at = token * params.stride / 4u, u_at = token * params.y_stride / 4u;
    uint n_own = gl_WorkGroupID.y < state.n_tokens ? params.n_embd / 4u : 0u;
    vec3 factors = find_factors(at, u_at);
    for (uint quad = gl_LocalInvocationIndex; quad < n_own; quad += uint(WG_SIZE)) {
        merge_quad(factors, at, u_at, token * params.x_stride, quad);
    }
}
#else
void main()
{
    uint quad = gl_GlobalInvocationID.x;
    bool is_there = 4u * quad < params.n_embd;
    vec3 factors = find_factors(0u, 0u);
    vec4 merged = vec4(0.0);
    if (is_there) {
        merged = merge_quad(factors, 0u, 0u, params.residual, quad);
    }
    write_stream_norm(quad, merged, is_there);
}
#endif
