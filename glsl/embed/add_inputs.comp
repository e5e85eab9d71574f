// inputs[m] = (norm(y[m]) + inputs[m]) / sqrt(2), the norm being over each layer's columns:
//   norm(y) = y * gamma / sqrt(mean(y^2) + eps)
//
//   inputs   (n_tokens, stride)    n slices of width columns, read and written
//   y        (n_tokens, y_stride)  n slices of width columns, the projection of the residual
//   vectors  gamma (width), which all slices share
//
// Group (i, m) owns slice i of token m; an invocation strides over its columns by fours, once for the
// sum of squares and once to write. Reads eight bytes an element and writes four: bound by memory.
#include "lib/common.glsl"
#include "lib/group.glsl"
#include "lib/reduce.glsl"
#include "lib/step_state.glsl"

layout(std430, binding = 0) restrict buffer Inputs { vec4 inputs[]; };
layout(std430, binding = 1) restrict readonly buffer Y { vec4 y[]; };
layout(std430, binding = 2) restrict readonly buffer Vectors { vec4 vectors[]; };

#include "params/add_inputs.glsl"

float slice_sum(uint begin, uint n_quad)
{
    float sum = 0.0;
    for (uint i = gl_LocalInvocationIndex; i < n_quad; i += uint(WG_SIZE)) {
        vec4 value = y[begin + i];
        sum += dot(value, value);
    }
    return reduce_sum(sum, uint(WG_SIZE));
}

void main()
{
    uint token = min(gl_WorkGroupID.y, state.n_tokens - 1u);
    uint n_quad = params.width / 4u, first = gl_WorkGroupID.x * n_quad;
    uint from = token * params.y_stride / 4u + first, to = token * params.stride / 4u + first;
    float scale = inversesqrt(slice_sum(from, n_quad) / float(params.width) + params.eps);
    uint n_own = gl_WorkGroupID.y < state.n_tokens ? n_quad : 0u;
    for (uint i = gl_LocalInvocationIndex; i < n_own; i += uint(WG_SIZE)) {
        vec4 normed = y[from + i] * scale * vectors[params.gamma / 4u + i];
        inputs[to + i] = 0.70710678118654752 * (normed + inputs[to + i]);
    }
}
