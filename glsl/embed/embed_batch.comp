// x[m] = scale * W[tokens[m]] for the tokens of a batch.
//
//   x       (n_tokens, stride)  written
//   tokens  (n_tokens)
//   quads, aux  one part of W (n_vocab, width)
//
// With ROWS (lib/slot.glsl) row m is of the token of slot m, whether it takes part or not, so that no
// row ever holds anything but numbers. With STEP the only row is of a decode step's token.
//
// Group (i, m) owns WG_SIZE blocks of 32 columns of token m, an invocation one block; only the part
// that holds the token's row writes. Reads each row of W once and writes four bytes an element:
// bound by the writes.
#define SLOT gl_WorkGroupID.y
#include "lib/common.glsl"
#include "lib/group.glsl"
#include "lib/slot.glsl"

#ifndef STEP
#define STEP 0
#endif

layout(std430, binding = 0) restrict writeonly buffer X { vec4 result[]; };
layout(std430, binding = 1) restrict readonly buffer Tokens { uint tokens[]; };

#include "quant/quant.glsl"

#include "params/embed_batch.glsl"

uint token_of(uint m)
{
#if ROWS || STEP
    return state.token;
#else
    return tokens[m];
#endif
}

void main()
{
    uint block = gl_GlobalInvocationID.x;
    uint token = gl_WorkGroupID.y;
    if (block >= params.n_block || (ROWS == 0 && token >= state.n_tokens)) {
        return;
    }
    uint row = token_of(token) - params.row_begin; // wraps to a large row before the part
    if (row >= params.n_rows) {
        return;
    }
    uint tile = row / TILE_ROWS;
    vec4 values[8];
    quant_unpack(quant_load(tile, block, params.n_block, row % TILE_ROWS), values);
    for (uint i = 0u; i < 8u; i++) {
        result[(token * params.stride + block * QUANT_BLOCK) / 4u + i] = params.scale * values[i];
    }
}
