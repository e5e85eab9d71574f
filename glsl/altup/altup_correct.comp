// The end of a layer over four streams of the residual (AltUp): A = z + norm(y), z being what stands before the
// network and y the network's result, tells by how much each prediction P was wrong:
//   C_s = P_s + (A - P_0) (1 + (W m)_s)    m: modalities of A (altup/router.glsl)
//   x   = C_0 * scale, from which the layer's own input is gated
// norm(y) = y * y_gamma / sqrt(mean(y^2) + eps).
//
//   streams  (n_tokens, stride)  P, four rows of n_embd, replaced by C; in a step (BATCH 0) the first is not there,
//            and z lies from z_begin on
//   x        BATCH 1: (n_tokens, x_stride), z; BATCH 0: the stream, whose residual is P_0; replaced by x
//   vectors  router_norm (n_embd), router (4, n_embd), coefs W (4, 4), y_gamma, scale (n_embd)
//   y        (n_tokens, y_stride)
//
// A group of a step owns WG_SIZE quads of columns, of a batch all of a token; each reads all of y, z and the
// router for the sums. Bound by the dispatch in a step, by memory in a batch.
#include "lib/common.glsl"
#include "lib/group.glsl"
#include "lib/reduce.glsl"
#include "lib/reduce_quad.glsl"
#include "lib/step_state.glsl"

#ifndef BATCH
#error "BATCH: 1 for rows, 0 for the stream of a step"
#endif

layout(std430, binding = 0) restrict buffer Streams { vec4 streams[]; };
layout(std430, binding = 1) restrict buffer X { float x[]; };
layout(std430, binding = 2) restrict readonly buffer Vectors { vec4 vectors[]; };
layout(std430, binding = 3) restrict readonly buffer Y { vec4 y[]; };

#include "params/altup.glsl"

uint n_quad()
{
    return params.n_embd / 4u;
}

#include "altup/router.glsl"

uint token_of()
{
    return BATCH == 1 ? min(gl_WorkGroupID.y, state.n_tokens - 1u) : 0u;
}

vec4 x_quad(uint quad)
{
    uint at = params.residual + token_of() * params.x_stride + 4u * quad;
    return vec4(x[at], x[at + 1u], x[at + 2u], x[at + 3u]);
}

// Returns four columns of A.
vec4 outcome_quad(float y_scale, uint quad)
{
#if BATCH
    vec4 z = x_quad(quad);
#else
    vec4 z = streams[params.z_begin / 4u + quad];
#endif
    return z + y_scale * y[token_of() * params.y_stride / 4u + quad] * vectors[params.y_gamma / 4u + quad];
}

float find_y_scale()
{
    uint at = token_of() * params.y_stride / 4u;
    float sum = 0.0;
    for (uint i = gl_LocalInvocationIndex; i < n_quad(); i += uint(WG_SIZE)) {
        sum += dot(y[at + i], y[at + i]);
    }
    return inversesqrt(reduce_sum(sum, uint(WG_SIZE)) / float(params.n_embd) + params.eps);
}

// Returns by how much of the error each stream is corrected.
vec4 find_shares(float y_scale)
{
    vec4 dots = vec4(0.0);
    float squares = 0.0;
    for (uint i = gl_LocalInvocationIndex; i < n_quad(); i += uint(WG_SIZE)) {
        vec4 value = outcome_quad(y_scale, i);
        dots += router_dots(i, value);
        squares += dot(value, value);
    }
    group_barrier();
    squares = reduce_sum(squares, uint(WG_SIZE));
    vec4 m = modalities(reduce_sum_quad(dots), squares);
    uint row = params.coefs / 4u;
    return 1.0 + vec4(dot(vectors[row], m), dot(vectors[row + 1u], m), dot(vectors[row + 2u], m),
                      dot(vectors[row + 3u], m));
}

void correct_quad(float y_scale, vec4 shares, uint quad)
{
    uint at = token_of() * params.stride / 4u + quad;
    vec4 outcome = outcome_quad(y_scale, quad);
#if BATCH
    vec4 first = streams[at];
#else
    vec4 first = x_quad(quad);
#endif
    vec4 error = outcome - first, corrected = first + shares.x * error;
    streams[at] = corrected;
    streams[at + n_quad()] += shares.y * error;
    streams[at + 2u * n_quad()] += shares.z * error;
    streams[at + 3u * n_quad()] += shares.w * error;
    vec4 scaled = corrected * vectors[params.scale / 4u + quad];
    uint to = params.residual + token_of() * params.x_stride + 4u * quad;
    for (uint i = 0u; i < 4u; i++) {
        x[to + i] = scaled[i];
    }
}

void main()
{
    float y_scale = find_y_scale();
    vec4 shares = find_shares(y_scale);
#if BATCH
    uint n_own = gl_WorkGroupID.y < state.n_tokens ? n_quad() : 0u;
    for (uint quad = gl_LocalInvocationIndex; quad < n_own; quad += uint(WG_SIZE)) {
        correct_quad(y_scale, shares, quad);
    }
#else
    if (gl_GlobalInvocationID.x < n_quad()) {
        correct_quad(y_scale, shares, gl_GlobalInvocationID.x);
    }
#endif
}
