// Copies the row of each token to the rows of its experts (experts/sort_experts.comp).
//
//   rows    at input_begin (n, n_quad)   written; with HALF (gemm/half_rows.glsl) from 0 on
//   x       (n_tokens, x_stride)
//   routes  (n_tokens, n_used)           { expert, share, place, row }
//
// Grid y is tokens. An invocation owns four columns of one expert, along z; with HALF eight, of all
// experts of the token. Bound by memory.
#include "lib/common.glsl"
#include "lib/group.glsl"
#include "lib/step_state.glsl"

#ifndef HALF
#error "HALF: 1 if rows are f16"
#endif

#if HALF
#include "gemm/half_rows_write.glsl"
#else
layout(std430, binding = 0) restrict writeonly buffer Rows { vec4 rows[]; };
#endif
layout(std430, binding = 1) restrict readonly buffer X { vec4 x[]; };
layout(std430, binding = 2) restrict readonly buffer Routes { vec4 routes[]; };

#include "params/gather_rows.glsl"

uint row_of(uint token, uint i)
{
    return uint(routes[token * params.n_used + i].w);
}

#if HALF
// Returns zero past the last column.
vec4 quad_of(uint token, uint quad)
{
    vec4 value = x[token * params.x_stride + min(quad, params.n_quad - 1u)];
    return quad < params.n_quad ? value : vec4(0.0);
}

void main()
{
    uint word = gl_GlobalInvocationID.x, token = min(gl_WorkGroupID.y, state.n_tokens - 1u);
    uint n_tile = (4u * params.n_quad + HALF_COLUMNS - 1u) / HALF_COLUMNS;
    vec4 a = quad_of(token, 2u * word), b = quad_of(token, 2u * word + 1u);
    float largest = largest_of_row(a, b);
    for (uint i = 0u; word < 8u * n_tile && i < params.n_used; i++) {
        store_half_word(row_of(token, i), word, n_tile, a, b, largest);
    }
}
#else
void main()
{
    uint quad = gl_GlobalInvocationID.x, token = gl_WorkGroupID.y;
    if (quad < params.n_quad && token < state.n_tokens) {
        uint row = row_of(token, gl_WorkGroupID.z);
        rows[params.input_begin + row * params.n_quad + quad] = x[token * params.x_stride + quad];
    }
}
#endif
