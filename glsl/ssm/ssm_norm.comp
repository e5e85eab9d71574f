// The norms of Mamba-2's results, each over the heads of a group: y[m] = y[m] * gamma * scale of a group.
//
//   y        (n_tokens, y_stride)  (n_group, width) read and written
//   vectors  gamma (n_group, width)
//
// Group (group, m); an invocation strides over its columns by fours, the second time from the cache.
// Bound by memory.
#include "lib/common.glsl"
#include "lib/group.glsl"
#include "lib/reduce.glsl"

layout(std430, binding = 0) restrict buffer Y { vec4 y[]; };
layout(std430, binding = 1) restrict readonly buffer Vectors { vec4 vectors[]; };

#include "params/ssm_norm.glsl"

void main()
{
    uint n_quad = params.width / 4u;
    uint own = gl_WorkGroupID.x * n_quad, begin = gl_WorkGroupID.y * params.y_stride / 4u + own;
    float sum = 0.0;
    for (uint i = gl_LocalInvocationIndex; i < n_quad; i += uint(WG_SIZE)) {
        vec4 value = y[begin + i];
        sum += dot(value, value);
    }
    float scale = inversesqrt(reduce_sum(sum, uint(WG_SIZE)) / float(params.width) + params.eps);
    for (uint i = gl_LocalInvocationIndex; i < n_quad; i += uint(WG_SIZE)) {
        y[begin + i] = y[begin + i] * scale * vectors[params.gamma / 4u + i + own];
    }
}
