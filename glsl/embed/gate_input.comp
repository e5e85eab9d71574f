// act[m][i] = f(gate[m][i]) * inputs[m][begin + i]: what a layer makes of its own input, of a batch;
// a decode step does so in gemv/gemv_glu.comp.
//
//   act     (n_tokens, act_stride)   width columns written
//   gate    (n_tokens, gate_stride)  the residual's projection to the input's width
//   inputs  (n_tokens, stride)       those of all layers, the layer's from column begin on
//
// An invocation owns four columns of a row. Bound by memory.
#include "lib/common.glsl"
#include "lib/group.glsl"
#include "lib/step_state.glsl"
#include "norm/activation.glsl"

layout(std430, binding = 0) restrict writeonly buffer Act { vec4 act[]; };
layout(std430, binding = 1) restrict readonly buffer Gate { vec4 gate[]; };
layout(std430, binding = 2) restrict readonly buffer Inputs { vec4 inputs[]; };

#include "params/gate_input.glsl"

void main()
{
    uint i = gl_GlobalInvocationID.x, token = gl_WorkGroupID.y;
    if (4u * i < params.width && token < state.n_tokens) {
        act[token * params.act_stride / 4u + i] =
            activate(gate[token * params.gate_stride / 4u + i]) *
            inputs[(token * params.stride + params.begin) / 4u + i];
    }
}
