// result[m][s] = x[m][s] * gamma / sqrt(mean(x[m][s]^2) + eps), the norm of each of n slices s of a row:
// heads, groups of heads, or the inputs of all layers.
//
//   result   (n_tokens, y_stride)  n slices of width columns, written; with IN_PLACE x; with ADDED read too:
//                                  (norm + result) / sqrt(2)
//   x        (n_tokens, x_stride)  n slices of width columns
//   vectors  gamma (width), or (n, width) with gamma_step = width
//   gate     (n_tokens, z_stride)  with GATED n slices from column z on: the norm is multiplied by their SiLU
//
// Group (s, m) owns slice s of token m; an invocation strides over its columns by fours, the second time
// from the cache. Bound by memory.
#include "lib/common.glsl"
#include "lib/group.glsl"
#include "lib/reduce.glsl"
#include "lib/step_state.glsl"

#if !defined(ADDED) || !defined(GATED) || !defined(IN_PLACE)
#error "ADDED: 1 to add to result; GATED: 1 if there is a gate; IN_PLACE: 1 if x is result"
#endif

#if ADDED || IN_PLACE
layout(std430, binding = 0) restrict buffer Result { vec4 result[]; };
#else
layout(std430, binding = 0) restrict writeonly buffer Result { vec4 result[]; };
#endif
#if IN_PLACE
#define source_quad(i) result[i]
#else
layout(std430, binding = 1) restrict readonly buffer X { vec4 x[]; };
#define source_quad(i) x[i]
#endif
layout(std430, binding = 2) restrict readonly buffer Vectors { vec4 vectors[]; };
#if GATED
layout(std430, binding = 3) restrict readonly buffer Gate { vec4 gate[]; };
#endif

#include "params/slice_norm.glsl"

void main()
{
    uint token = min(gl_WorkGroupID.y, state.n_tokens - 1u);
    uint n_quad = params.width / 4u, first = gl_WorkGroupID.x * n_quad;
    uint from = token * params.x_stride / 4u + first, to = token * params.y_stride / 4u + first;
    uint gamma = (params.gamma + gl_WorkGroupID.x * params.gamma_step) / 4u;
    float sum = 0.0;
    for (uint i = gl_LocalInvocationIndex; i < n_quad; i += uint(WG_SIZE)) {
        vec4 value = source_quad(from + i);
        sum += dot(value, value);
    }
    float scale = inversesqrt(reduce_sum(sum, uint(WG_SIZE)) / float(params.width) + params.eps);
    uint n_own = gl_WorkGroupID.y < state.n_tokens ? n_quad : 0u;
    for (uint i = gl_LocalInvocationIndex; i < n_own; i += uint(WG_SIZE)) {
        vec4 value = source_quad(from + i) * scale * vectors[gamma + i];
#if GATED
        vec4 z = gate[(token * params.z_stride + params.z) / 4u + first + i];
        value *= z / (1.0 + exp(-z));
#endif
#if ADDED
        value = 0.70710678118654752 * (value + result[to + i]);
#endif
        result[to + i] = value;
    }
}
