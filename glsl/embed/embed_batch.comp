// x[m] = scale * W[tokens[m]] for the tokens of a batch.
//
//   x       (n_tokens, stride)  written
//   tokens  (n_tokens)
//   quads, aux  one part of W (n_vocab, width)
//
// Group (i, m) owns WG_SIZE blocks of 32 columns of token m, an invocation one block; only the part
// that holds the token's row writes. Reads each row of W once and writes four bytes an element:
// bound by the writes.
#include "lib/common.glsl"
#include "lib/group.glsl"
#include "lib/step_state.glsl"

layout(std430, binding = 0) restrict writeonly buffer X { vec4 x[]; };
layout(std430, binding = 1) restrict readonly buffer Tokens { uint tokens[]; };

#include "quant/quant.glsl"

layout(std140, binding = 0) uniform Params
{
    uint row_begin, n_rows, n_block, stride;
    float scale;
} params;

void main()
{
    uint block = gl_GlobalInvocationID.x;
    uint token = gl_WorkGroupID.y;
    if (block >= params.n_block || token >= state.n_tokens) {
        return;
    }
    uint row = tokens[token] - params.row_begin; // wraps to a large row before the part
    if (row >= params.n_rows) {
        return;
    }
    uint tile = row / TILE_ROWS;
    vec4 values[8];
    quant_unpack(quant_load(tile, block, params.n_block, row % TILE_ROWS), values);
    for (uint i = 0u; i < 8u; i++) {
        x[(token * params.stride + block * QUANT_BLOCK) / 4u + i] = params.scale * values[i];
    }
}
