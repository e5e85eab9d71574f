// act[m][i] = f(g) * u for one part of a gate_up projection: g at column begin + i of
// gate_up[m], u n_part columns further.
//
//   act      (n_tokens, act_stride)      written
//   gate_up  (n_tokens, gate_up_stride)
//
// An invocation owns four columns of one token. Reads eight bytes an element and writes four: bound
// by memory.
#include "lib/common.glsl"
#include "lib/activation.glsl"
#include "lib/step_state.glsl"

#ifndef WG_SIZE
#error "WG_SIZE: invocations of a group"
#endif

layout(local_size_x = WG_SIZE) in;

layout(std430, binding = 0) restrict writeonly buffer Act { vec4 act[]; };
layout(std430, binding = 1) restrict readonly buffer GateUp { vec4 gate_up[]; };

layout(std140, binding = 0) uniform Params
{
    uint gate_up_stride, act_stride;
    uint gate_begin, n_part; // columns of gate_up
    uint act_begin, n_column; // columns of act
} params;

void main()
{
    uint column = 4u * gl_GlobalInvocationID.x;
    uint token = gl_WorkGroupID.y;
    if (column >= params.n_column || token >= state.n_tokens) {
        return;
    }
    uint at = (token * params.gate_up_stride + params.gate_begin + column) / 4u;
    vec4 gate = gate_up[at];
    vec4 up = gate_up[at + params.n_part / 4u];
    act[(token * params.act_stride + params.act_begin + column) / 4u] =
        activate(gate) * up;
}
