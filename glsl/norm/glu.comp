// act[m][i] = f(g) * u for one part of a gate_up projection: g at column begin + i of
// gate_up[m], u n_part columns further; with UNGATED f(g).
//
//   act      (n_tokens, act_stride)      written, with HALF in f16 (gemm/half_rows.glsl)
//   gate_up  (n_tokens, gate_up_stride)
//
// With SORTED 1, of f16, rows are those of experts/sort_experts.comp: of each route of a token the place
// in gate_up, the row in act.
//
// An invocation owns four columns of one token, with HALF eight. Reads eight bytes an element and
// writes four or two: bound by memory.
#include "lib/common.glsl"
#include "lib/group.glsl"
#include "lib/step_state.glsl"
#include "norm/activation.glsl"

#ifndef HALF
#error "HALF: 1 if act is f16"
#endif
#ifndef EACH
#define EACH 1 // rows of a token, along z of the grid
#endif
#ifndef SORTED
#define SORTED 0
#endif
#ifndef UNGATED
#define UNGATED 0
#endif

#if HALF
#include "gemm/half_rows_write.glsl"
#else
layout(std430, binding = 0) restrict writeonly buffer Act
{
    vec4 act[];
};
#endif
layout(std430, binding = 1) restrict readonly buffer GateUp
{
    vec4 gate_up[];
};

#if SORTED
layout(std430, binding = 2) restrict readonly buffer Routes
{
    vec4 routes[];
};
#endif

#include "params/glu.glsl"

// Returns four columns of the part.
vec4 glu_quad(uint token, uint column)
{
    uint at = (token * params.gate_up_stride + params.gate_begin + column) / 4u;
#if UNGATED
    return activate(gate_up[at]);
#else
    return activate(gate_up[at]) * linear_factor(gate_up[at + params.n_part / 4u]);
#endif
}

#if HALF
// Returns zero past the last column.
vec4 half_quad(uint token, uint column)
{
    vec4 value = glu_quad(token, min(column, params.n_column - 4u));
    return column < params.n_column ? value : vec4(0.0);
}

void main()
{
    uint column = 8u * gl_GlobalInvocationID.x, token = gl_WorkGroupID.y;
    uint n_tile = (params.act_stride + HALF_COLUMNS - 1u) / HALF_COLUMNS;
    uint end = (params.n_column + HALF_COLUMNS - 1u) / HALF_COLUMNS * HALF_COLUMNS;
    uint from = min(token, state.n_tokens - 1u), row = from;
#if SORTED
    vec4 route = routes[from * uint(EACH) + gl_WorkGroupID.z];
    from = uint(route.z);
    row = uint(route.w);
#endif
    vec4 a = half_quad(from, column), b = half_quad(from, column + 4u);
    bool is_there = column < end && token < state.n_tokens;
    write_half_word(row, (params.act_begin + column) / 8u, n_tile, a, b, is_there);
}
#else
void main()
{
    uint column = 4u * gl_GlobalInvocationID.x;
    uint token = gl_WorkGroupID.y * uint(EACH) + (EACH > 1 ? gl_WorkGroupID.z : 0u);
    if (column < params.n_column && gl_WorkGroupID.y < state.n_tokens) {
        act[(token * params.act_stride + params.act_begin + column) / 4u] = glu_quad(token, column);
    }
}
#endif
