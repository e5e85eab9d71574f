// z = ((x + norm(y)) + (norm(x) + norm(l))) / sqrt(2), each norm with a gamma of its own,
//   norm(v) = v * gamma / sqrt(mean(v^2) + eps):
// the residual x after attention, whose result is y, and its low-rank branch (LAuReL), whose result is l.
//
//   x        BATCH 1: (n_tokens, x_stride), replaced by z; BATCH 0: the stream: residual read, norm and ssq of
//            z written
//   y        (n_tokens, y_stride)
//   vectors  x_gamma, y_gamma, l_gamma (n_embd); gamma (n_embd) of the norm that follows in a step
//   side     (n_tokens, side_stride)  l from l_begin on; in a step also z from z_begin on, written, since other
//            groups still read x
//
// A group of a step owns WG_SIZE quads of columns, of a batch all of a token; each reads all of the three
// vectors for their lengths. Bound by the dispatch in a step, by memory in a batch.
#include "lib/common.glsl"
#include "lib/group.glsl"
#include "lib/reduce.glsl"
#include "lib/reduce_quad.glsl"
#include "lib/step_state.glsl"
#include "norm/sums.glsl"

#ifndef BATCH
#error "BATCH: 1 for rows, 0 for the stream of a step"
#endif

layout(std430, binding = 0) restrict buffer X { float x[]; };
layout(std430, binding = 1) restrict readonly buffer Y { vec4 y[]; };
layout(std430, binding = 2) restrict readonly buffer Vectors { vec4 vectors[]; };
#if BATCH
layout(std430, binding = 3) restrict readonly buffer Side { vec4 side[]; };
#else
layout(std430, binding = 3) restrict buffer Side { vec4 side[]; };
#endif

#include "params/altup.glsl"

#if !BATCH
#include "altup/stream_norm.glsl"
#endif

vec4 x_quad(uint at, uint quad)
{
    uint from = at + 4u * quad;
    return vec4(x[from], x[from + 1u], x[from + 2u], x[from + 3u]);
}

// Returns 1 / rms of x, y and l.
vec3 scales(uint x_at, uint y_at, uint l_at)
{
    vec4 sums = vec4(0.0);
    for (uint i = gl_LocalInvocationIndex; 4u * i < params.n_embd; i += uint(WG_SIZE)) {
        vec4 a = x_quad(x_at, i), b = y[y_at + i], c = side[l_at + i];
        sums += vec4(dot(a, a), dot(b, b), dot(c, c), 0.0);
    }
    return inversesqrt(reduce_sum_quad(sums).xyz / float(params.n_embd) + params.eps);
}

vec4 join_quad(vec3 scale, uint x_at, uint y_at, uint l_at, uint quad)
{
    vec4 value = x_quad(x_at, quad);
    vec4 attended = value + scale.y * y[y_at + quad] * vectors[params.y_gamma / 4u + quad];
    vec4 branch = scale.x * value * vectors[params.x_gamma / 4u + quad] +
                  scale.z * side[l_at + quad] * vectors[params.l_gamma / 4u + quad];
    return 0.70710678118654752 * (attended + branch);
}

#if BATCH
void main()
{
    uint token = min(gl_WorkGroupID.y, state.n_tokens - 1u);
    uint x_at = token * params.x_stride, y_at = token * params.y_stride / 4u;
    uint l_at = (token * params.side_stride + params.l_begin) / 4u;
    uint n_own = gl_WorkGroupID.y < state.n_tokens ? params.n_embd / 4u : 0u;
    vec3 scale = scales(x_at, y_at, l_at);
    for (uint quad = gl_LocalInvocationIndex; quad < n_own; quad += uint(WG_SIZE)) {
        vec4 z = join_quad(scale, x_at, y_at, l_at, quad);
        for (uint i = 0u; i < 4u; i++) {
            x[x_at + 4u * quad + i] = z[i];
        }
    }
}
#else
void main()
{
    uint quad = gl_GlobalInvocationID.x;
    bool is_there = 4u * quad < params.n_embd;
    vec3 scale = scales(params.residual, 0u, params.l_begin / 4u);
    vec4 z = vec4(0.0);
    if (is_there) {
        z = join_quad(scale, params.residual, 0u, params.l_begin / 4u, quad);
        side[params.z_begin / 4u + quad] = z;
    }
    write_stream_norm(quad, z, is_there);
}
#endif
