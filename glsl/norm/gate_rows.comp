// x[m][i] *= 1 / (1 + exp(-g)): the gate of attention's output, g being the value of the stacked
// projection for element i after v, in pair order (ops/record/weight.h), or for its head.
//
//   x    (n_tokens, x_stride)    n_column columns read and written
//   qkv  (n_tokens, qkv_stride)  g from column gate_begin on; of GATE_WIDTH columns of x each, if
//                                that is not 1, in the order of heads
//
// An invocation owns an element of a row. Bound by memory.
#include "lib/common.glsl"
#include "lib/group.glsl"
#include "lib/step_state.glsl"

#ifndef GATE_WIDTH
#error "GATE_WIDTH: columns that share a gate"
#endif

layout(std430, binding = 0) restrict buffer X { float x[]; };
layout(std430, binding = 1) restrict readonly buffer Qkv { float qkv[]; };

#include "params/gate_rows.glsl"

void main()
{
    uint i = gl_GlobalInvocationID.x, token = gl_WorkGroupID.y;
    if (i < params.n_column && token < state.n_tokens) {
        uint pair = i / 2u, row = pair / 8u * 16u + pair % 8u + i % 2u * 8u;
#if GATE_WIDTH > 1
        row = i / uint(GATE_WIDTH);
#endif
        float g = qkv[token * params.qkv_stride + params.gate_begin + row];
        x[token * params.x_stride + i] *= 1.0 / (1.0 + exp(-g));
    }
}
