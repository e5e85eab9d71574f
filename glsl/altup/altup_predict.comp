// Predicts what a layer leaves of the four streams C of the residual (AltUp), the first of which the layer
// works on:
//   P_b = C_b + sum_a C_a (W m)_(4 b + a)    m: modalities of C_0 (altup/router.glsl)
// With HAS_INPUT C_1 to C_3 have norm(y) = y * y_gamma / sqrt(mean(y^2) + eps) added before: what the
// layer before makes of its own input.
//
//   streams  (n_tokens, stride)  C, four rows of n_embd, replaced by P; in a step (BATCH 0) not the first
//   x        BATCH 1: (n_tokens, x_stride), P_0; BATCH 0: the stream: residual P_0, norm and ssq
//   vectors  router_norm (n_embd), router (4, n_embd), coefs W (16, 4), y_gamma (n_embd), gamma (n_embd)
//            of the norm that follows in a step
//   y        (n_tokens, y_stride)  with HAS_INPUT
//
// A group of a step owns WG_SIZE quads of columns, of a batch all of a token; each reads all of C_0, the
// router and y for the sums, tens of kilobytes. Bound by the dispatch in a step, by memory in a batch.
#include "lib/common.glsl"
#include "lib/group.glsl"
#include "lib/reduce.glsl"
#include "lib/reduce_quad.glsl"
#include "lib/step_state.glsl"
#include "norm/sums.glsl"

#if !defined(BATCH) || !defined(HAS_INPUT)
#error "BATCH: 1 for rows, 0 for the stream of a step; HAS_INPUT: 1 if y is added"
#endif

layout(std430, binding = 0) restrict buffer Streams { vec4 streams[]; };
layout(std430, binding = 1) restrict writeonly buffer X { float x[]; };
layout(std430, binding = 2) restrict readonly buffer Vectors { vec4 vectors[]; };
#if HAS_INPUT
layout(std430, binding = 3) restrict readonly buffer Y { vec4 y[]; };
#endif

#include "params/altup.glsl"

uint n_quad()
{
    return params.n_embd / 4u;
}

#include "altup/router.glsl"
#if !BATCH
#include "altup/stream_norm.glsl"
#endif

shared vec4 shares[4]; // the coefficients of P_b: registers of small GPUs do not hold them and C

// Finds shares, and returns the factor of y.
float find_shares(uint at, uint y_at)
{
    vec4 dots = vec4(0.0), squares = vec4(0.0);
    for (uint i = gl_LocalInvocationIndex; i < n_quad(); i += uint(WG_SIZE)) {
        vec4 value = streams[at + i];
        dots += router_dots(i, value);
        squares.x += dot(value, value);
#if HAS_INPUT
        squares.y += dot(y[y_at + i], y[y_at + i]);
#endif
    }
    dots = reduce_sum_quad(dots);
    group_barrier();
    squares = reduce_sum_quad(squares);
    if (gl_LocalInvocationIndex < 4u) {
        vec4 m = modalities(dots, squares.x);
        uint row = params.coefs / 4u + 4u * gl_LocalInvocationIndex;
        shares[gl_LocalInvocationIndex] = vec4(dot(vectors[row], m), dot(vectors[row + 1u], m),
                                               dot(vectors[row + 2u], m), dot(vectors[row + 3u], m));
    }
    group_barrier();
    return inversesqrt(squares.y / float(params.n_embd) + params.eps);
}

// Replaces four columns of the streams; returns those of P_0.
vec4 predict_quad(float y_scale, uint at, uint y_at, uint quad)
{
    uint from = at + quad, n = n_quad();
    vec4 own = vec4(0.0);
#if HAS_INPUT
    own = y_scale * y[y_at + quad] * vectors[params.y_gamma / 4u + quad];
#endif
    mat4 c = mat4(streams[from], streams[from + n] + own, streams[from + 2u * n] + own,
                  streams[from + 3u * n] + own);
    vec4 first = c[0] + c * shares[0];
#if BATCH
    streams[from] = first;
#endif
    streams[from + n] = c[1] + c * shares[1];
    streams[from + 2u * n] = c[2] + c * shares[2];
    streams[from + 3u * n] = c[3] + c * shares[3];
    return first;
}

void write_quad(uint to, vec4 value)
{
    for (uint i = 0u; i < 4u; i++) {
        x[to + i] = value[i];
    }
}

#if BATCH
void main()
{
    uint token = min(gl_WorkGroupID.y, state.n_tokens - 1u);
    uint at = token * params.stride / 4u, y_at = token * params.y_stride / 4u;
    uint n_own = gl_WorkGroupID.y < state.n_tokens ? n_quad() : 0u;
    float y_scale = find_shares(at, y_at);
    for (uint i = gl_LocalInvocationIndex; i < n_own; i += uint(WG_SIZE)) {
        write_quad(token * params.x_stride + 4u * i, predict_quad(y_scale, at, y_at, i));
    }
}
#else
void main()
{
    uint quad = gl_GlobalInvocationID.x;
    bool is_there = quad < n_quad();
    float y_scale = find_shares(0u, 0u);
    vec4 first = vec4(0.0);
    if (is_there) {
        first = predict_quad(y_scale, 0u, 0u, quad);
        write_quad(params.residual + 4u * quad, first);
    }
    write_stream_norm(quad, first, is_there);
}
#endif
