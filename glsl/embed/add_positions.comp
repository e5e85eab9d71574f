// x[m][i] += table[position][i]: what an encoder adds to its tokens' embeddings for their place, with
// the vector of its token type added already.
//
//   x        (n_tokens, x_stride)   width columns read and written
//   vectors  table (n_ctx, width)   row n_past + m is that of token m
//
// With ROWS (lib/slot.glsl) row m is of slot m, at its position; rows of idle slots stay as they are.
// An invocation owns four columns of a row. Bound by memory.
#define SLOT gl_WorkGroupID.y
#include "lib/common.glsl"
#include "lib/group.glsl"
#include "lib/slot.glsl"

layout(std430, binding = 0) restrict buffer X { vec4 x[]; };
layout(std430, binding = 2) restrict readonly buffer Vectors { vec4 vectors[]; };

#include "params/add_positions.glsl"

void main()
{
    uint i = gl_GlobalInvocationID.x, token = gl_WorkGroupID.y, n_quad = params.width / 4u;
    if (i < n_quad && is_row_used(token)) {
        x[token * (params.x_stride / 4u) + i] +=
            vectors[params.table / 4u + row_position(token) * n_quad + i];
    }
}
