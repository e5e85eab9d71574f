// streams[m] = x[m], then y_s[m] * |x[m]| / |y_s[m]| for three projections y_s: the streams of the residual
// that a token begins with (AltUp), all as long as its embedding.
//
//   streams  (n_tokens, stride)    four rows of n_embd, written
//   x        (n_tokens, x_stride)  from residual on
//   y        (n_tokens, y_stride)  three rows of n_embd
//
// Groups of a token share its columns; each reads all of x and y for the lengths, tens of kilobytes. Bound by
// the dispatch in a step, by memory in a batch, whose tokens have one group.
#include "lib/common.glsl"
#include "lib/group.glsl"
#include "lib/reduce_quad.glsl"
#include "lib/step_state.glsl"

layout(std430, binding = 0) restrict writeonly buffer Streams { vec4 streams[]; };
layout(std430, binding = 1) restrict readonly buffer X { vec4 x[]; };
layout(std430, binding = 2) restrict readonly buffer Y { vec4 y[]; };

#include "params/altup.glsl"

// Returns the squared lengths of x and of the three projections.
vec4 lengths(uint x_at, uint y_at, uint n_quad)
{
    vec4 sums = vec4(0.0);
    for (uint i = gl_LocalInvocationIndex; i < n_quad; i += uint(WG_SIZE)) {
        vec4 a = x[x_at + i], b = y[y_at + i], c = y[y_at + n_quad + i], d = y[y_at + 2u * n_quad + i];
        sums += vec4(dot(a, a), dot(b, b), dot(c, c), dot(d, d));
    }
    return reduce_sum_quad(sums);
}

void main()
{
    uint token = min(gl_WorkGroupID.y, state.n_tokens - 1u), n_quad = params.n_embd / 4u;
    uint x_at = (params.residual + token * params.x_stride) / 4u, y_at = token * params.y_stride / 4u;
    uint to = token * params.stride / 4u;
    vec4 squares = lengths(x_at, y_at, n_quad);
    vec3 scale = sqrt(squares.x / max(squares.yzw, 1e-30));
    uint n_own = gl_WorkGroupID.y < state.n_tokens ? n_quad : 0u;
    for (uint i = gl_GlobalInvocationID.x; i < n_own; i += params.n_step) {
        streams[to + i] = x[x_at + i];
        streams[to + n_quad + i] = scale.x * y[y_at + i];
        streams[to + 2u * n_quad + i] = scale.y * y[y_at + n_quad + i];
        streams[to + 3u * n_quad + i] = scale.z * y[y_at + 2u * n_quad + i];
    }
}
