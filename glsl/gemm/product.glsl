// Products of a batch in f32: y[m] = W x[m] + bias, or with ADD y[m] += scale * (W x[m] + bias).
//
//   y        (n_tokens, y_stride), columns y_begin ... y_begin + n_rows of it written
//   x        (n_tokens, x_stride), with TEXELS 1 declared by the kernel
//   quads, aux  one part of W (n_rows, 32 n_block), and bias (n_rows) at bias in aux
//
// With EXPERTS 1 the rows of x and y are sorted by expert (experts/sort_experts.comp), which begin at
// x_begin, and behind them, at tiles, lies what each group along y owns: { expert, first row, end, 0 }.
// W is then a part of n_expert experts from first_expert on, n_rows each. Groups whose expert is
// elsewhere walk over no blocks: a barrier may not lie behind a return.
#if !defined(ADD) || !defined(HAS_BIAS)
#error "ADD: 1 to add to y, 0 to write it; HAS_BIAS: 1 if the part carries a bias"
#endif

#ifndef EXPERTS
#define EXPERTS 0
#endif

#include "lib/step_state.glsl"
#include "quant/quant.glsl"

layout(std430, binding = 0) restrict buffer Y { float y[]; };
#if !TEXELS
layout(std430, binding = 1) restrict readonly buffer X { vec4 x[]; };
#endif

layout(std140, binding = 0) uniform Params
{
    uint n_rows, n_block, x_stride, y_stride;
    uint y_begin, bias;
    float scale;
#if EXPERTS
    uint is_added;
    uint x_begin, tiles; // in vec4
    uint first_expert, n_expert, n_used;
#endif
} params;

#if EXPERTS
uint first_token, token_end, first_row, block_end;

// Takes the tile of the group. One of another part owns no token; the first is read in its place.
void open_product(vec4 tile)
{
    uint expert = uint(tile.x) - params.first_expert; // wraps to a large one before the part
    bool is_there = expert < params.n_expert;
    first_token = is_there ? uint(tile.y) : 1u;
    token_end = is_there ? uint(tile.z) : 1u;
    first_row = is_there ? expert * params.n_rows : 0u;
    block_end = is_there ? params.n_block : 0u;
}

#define FIRST_TOKEN(n) first_token
#define TOKEN_END      token_end
#define FIRST_ROW      first_row
#define BLOCK_END      block_end
#define X_BEGIN        params.x_begin
#else
#define open_product(tile)
#define FIRST_TOKEN(n) (gl_WorkGroupID.y * (n))
#define TOKEN_END      state.n_tokens
#define FIRST_ROW      0u
#define BLOCK_END      params.n_block
#define X_BEGIN        0u
#endif
#define PRODUCT_TILE (params.tiles + gl_WorkGroupID.y)

// Writes an element of the product, of which token and row are there.
void write_product(uint token, uint row, float value)
{
#if HAS_BIAS
    value += uintBitsToFloat(aux_at(params.bias + FIRST_ROW + row));
#endif
    uint place = token * params.y_stride + params.y_begin + row;
#if ADD
    y[place] += params.scale * value;
#else
    y[place] = value;
#endif
}
