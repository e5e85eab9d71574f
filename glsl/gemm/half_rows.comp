// y[m] = x[m] in f16, for the rows of a batch.
//
//   y  tiles of gemm/half_rows.glsl  written
//   x  (n_tokens, x_stride)
//
// An invocation owns eight columns of one token. Reads four bytes an element and writes two: bound
// by memory.
#include "lib/common.glsl"
#include "lib/group.glsl"
#include "lib/step_state.glsl"

#if !defined(HALF)
#error "HALF: 1 or 2, as gemm/half_rows.glsl has it"
#endif
#include "gemm/half_rows_write.glsl"

layout(std430, binding = 1) restrict readonly buffer X { vec4 x[]; };

#include "params/half_rows.glsl"

vec4 quad_of(uint token, uint quad)
{
    vec4 value = x[token * (params.x_stride / 4u) + min(quad, params.width / 4u - 1u)];
    return quad < params.width / 4u ? value : vec4(0.0);
}

void main()
{
    uint word = gl_GlobalInvocationID.x, token = min(gl_WorkGroupID.y, state.n_tokens - 1u);
    uint n_tile = (params.width + HALF_COLUMNS - 1u) / HALF_COLUMNS;
    vec4 a = quad_of(token, 2u * word), b = quad_of(token, 2u * word + 1u);
    write_half_word(token, word, n_tile, a, b, word < 8u * n_tile);
}
