// Copies the row of each token to the places of its experts (experts/sort_experts.comp).
//
//   rows  at route (n_tokens, n_used)  { expert, share, place, 0 }
//         at input (n, n_quad)         row `place` is written
//   x     (n_tokens, x_stride)
//
// Grid y is tokens and z their experts; an invocation owns four columns. Bound by memory.
#include "lib/common.glsl"
#include "lib/group.glsl"
#include "lib/step_state.glsl"

layout(std430, binding = 0) restrict buffer Rows { vec4 rows[]; };
layout(std430, binding = 1) restrict readonly buffer X { vec4 x[]; };

layout(std140, binding = 0) uniform Params
{
    uint n_used, n_quad;
    uint x_stride, route, input_begin; // in vec4
} params;

void main()
{
    uint quad = gl_GlobalInvocationID.x, token = gl_WorkGroupID.y;
    if (quad < params.n_quad && token < state.n_tokens) {
        uint place = uint(rows[params.route + token * params.n_used + gl_WorkGroupID.z].z);
        rows[params.input_begin + place * params.n_quad + quad] = x[token * params.x_stride + quad];
    }
}
