// The end of the gated delta rule over a prompt's batch (delta/delta.glsl):
// out[m] = rmsnorm(o[m]) * gamma * silu(z[m]), the norm over each head.
//
//   out      (n_tokens, out_stride)  (n_head, DIM) written
//   o        (n_tokens, o_stride)    what delta_scan.comp leaves
//   vectors  gamma (DIM)
//   x        (n_tokens, x_stride)    the projection
//
// Group (head, m). Bound by memory.
#include "lib/common.glsl"
#include "lib/group.glsl"
#include "lib/reduce.glsl"

layout(std430, binding = 0) restrict writeonly buffer Out { float result[]; };
layout(std430, binding = 1) restrict readonly buffer O { float o[]; };
layout(std430, binding = 2) restrict readonly buffer Vectors { float vectors[]; };
layout(std430, binding = 3) restrict readonly buffer X { float x[]; };

#include "params/delta.glsl"

#ifndef DIM
#error "DIM of a head, a multiple of 16"
#endif

void main()
{
    uint head = gl_WorkGroupID.x, m = gl_WorkGroupID.y;
    uint begin = m * params.o_stride + head * uint(DIM);
    float sum = 0.0;
    for (uint i = gl_LocalInvocationIndex; i < uint(DIM); i += uint(WG_SIZE)) {
        sum += o[begin + i] * o[begin + i];
    }
    float scale = inversesqrt(reduce_sum(sum, uint(WG_SIZE)) / float(DIM) + params.eps);
    for (uint i = gl_LocalInvocationIndex; i < uint(DIM); i += uint(WG_SIZE)) {
        float z = x[m * params.x_stride + params.z + head * uint(DIM) + i];
        result[m * params.out_stride + head * uint(DIM) + i] =
            o[begin + i] * scale * vectors[params.gamma + i] * (z / (1.0 + exp(-z)));
    }
}
