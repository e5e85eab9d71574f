// y[m] = W x[m] + bias, or y[m] += scale * (W x[m] + bias), for the tokens of a batch, in registers.
//
//   y        (n_tokens, y_stride), columns y_begin ... y_begin + n_rows of it written
//   x        (n_tokens, x_stride)
//   quads, aux  one part of W (n_rows, 32 n_block), and bias (n_rows) at bias in aux
//
// A group owns 64 rows and TOKENS tokens and walks over all of k by blocks of 32; an invocation owns
// one row, dequantises it for all the tokens, and reads x at an index that the whole group shares.
// No shared memory, which is no faster than a buffer on the GPUs that this is for, and few
// registers: the tiles of gemm.comp spill there.
#include "lib/common.glsl"
#include "lib/step_state.glsl"

#if !defined(ADD) || !defined(HAS_BIAS) || !defined(TOKENS)
#error "ADD: 1 to add to y, 0 to write it; HAS_BIAS: 1 if the part carries a bias; TOKENS of a group"
#endif

layout(local_size_x = 64) in;

layout(std430, binding = 0) restrict buffer Y { float y[]; };
layout(std430, binding = 1) restrict readonly buffer X { vec4 x[]; };

#include "lib/quant.glsl"

layout(std140, binding = 0) uniform Params
{
    uint n_rows, n_block, x_stride, y_stride;
    uint y_begin, bias;
    float scale;
} params;

void write_result(uint token, uint row, float value)
{
    if (token >= state.n_tokens || row >= params.n_rows) {
        return;
    }
#if HAS_BIAS
    value += uintBitsToFloat(aux[params.bias + row]);
#endif
    uint place = token * params.y_stride + params.y_begin + row;
#if ADD
    y[place] += params.scale * value;
#else
    y[place] = value;
#endif
}

void main()
{
    uint row = gl_WorkGroupID.x * 64u + gl_LocalInvocationID.x;
    uint safe_row = min(row, params.n_rows - 1u);
    uint first_token = gl_WorkGroupID.y * uint(TOKENS);
    uint begin[TOKENS];
    float sum[TOKENS];
    for (int t = 0; t < TOKENS; t++) {
        begin[t] = min(first_token + uint(t), state.n_tokens - 1u) * (params.x_stride / 4u);
        sum[t] = 0.0;
    }
    for (uint block = 0u; block < params.n_block; block++) {
        vec4 w[8];
        quant_unpack(quant_load(safe_row / TILE_ROWS, block, params.n_block, safe_row % TILE_ROWS), w);
        for (int quad = 0; quad < 8; quad++) {
            for (int t = 0; t < TOKENS; t++) {
                sum[t] += dot(w[quad], x[begin[t] + block * 8u + uint(quad)]);
            }
        }
    }
    for (int t = 0; t < TOKENS; t++) {
        write_result(first_token + uint(t), row, sum[t]);
    }
}
