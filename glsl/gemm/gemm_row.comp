// y[m] = W x[m] + bias, or y[m] += scale * (W x[m] + bias), for the tokens of a batch, on llvmpipe.
//
//   y        (n_tokens, y_stride), columns y_begin ... y_begin + n_rows of it written
//   x        (n_tokens, x_stride)
//   quads, aux  one part of W (n_rows, 32 n_block), and bias (n_rows) at bias in aux
//
// A group is one vector: invocation r owns row r of TILES tiles for TOKENS tokens and walks over all
// of k by blocks of 32, dequantised into private memory once for all its tokens. In a loop llvmpipe
// fetches from buffers and shared memory lane by lane, which is slow; a private value is one load from
// the stack, and a texel fetch (TEXELS 1) is vector code. So the time depends on multiply-adds per
// fetch, 4 * TILES. Figures: glsl/measurements.md.
#include "lib/common.glsl"
#include "lib/step_state.glsl"

#if !defined(ADD) || !defined(HAS_BIAS) || !defined(TILES) || !defined(TOKENS)
#error "ADD: 1 to add to y; HAS_BIAS: 1 if the part carries a bias; TILES, TOKENS of an invocation"
#endif

layout(local_size_x = 8) in;

layout(std430, binding = 0) restrict buffer Y { float y[]; };

#include "quant/quant.glsl"

#if TEXELS
layout(binding = 1) uniform highp samplerBuffer x_texels;
vec4 x_at(uint i)
{
    return texelFetch(x_texels, int(i));
}
#else
layout(std430, binding = 1) restrict readonly buffer X { vec4 x[]; };
vec4 x_at(uint i)
{
    return x[i];
}
#endif

layout(std140, binding = 0) uniform Params
{
    uint n_rows, n_block, x_stride, y_stride;
    uint y_begin, bias;
    float scale;
} params;

void load_weights(uint first_tile, uint block, out vec4 weights[TILES][8])
{
    uint row = gl_LocalInvocationID.x;
    for (int i = 0; i < TILES; i++) {
        uint tile = min(first_tile + uint(i), params.n_rows / TILE_ROWS - 1u);
        quant_unpack(quant_load(tile, block, params.n_block, row), weights[i]);
    }
}

void write_results(uint token, uint first_tile, float sum[TILES])
{
    if (token >= state.n_tokens) {
        return;
    }
    for (int i = 0; i < TILES; i++) {
        uint row = (first_tile + uint(i)) * TILE_ROWS + gl_LocalInvocationID.x;
        if (row < params.n_rows) {
            float value = sum[i];
#if HAS_BIAS
            value += uintBitsToFloat(aux_at(params.bias + row));
#endif
            uint place = token * params.y_stride + params.y_begin + row;
#if ADD
            y[place] += params.scale * value;
#else
            y[place] = value;
#endif
        }
    }
}

void main()
{
    uint first_tile = gl_WorkGroupID.x * uint(TILES);
    uint first_token = gl_WorkGroupID.y * uint(TOKENS);
    uint begin[TOKENS];
    float sum[TOKENS][TILES];
    for (int t = 0; t < TOKENS; t++) {
        begin[t] = min(first_token + uint(t), state.n_tokens - 1u) * (params.x_stride / 4u);
        for (int i = 0; i < TILES; i++) {
            sum[t][i] = 0.0;
        }
    }
    for (uint block = 0u; block < params.n_block; block++) {
        vec4 weights[TILES][8];
        load_weights(first_tile, block, weights);
        for (int quad = 0; quad < 8; quad++) {
            for (int t = 0; t < TOKENS; t++) {
                vec4 value = x_at(begin[t] + block * 8u + uint(quad));
                for (int i = 0; i < TILES; i++) {
                    sum[t][i] += value.x * weights[i][quad].x;
                    sum[t][i] += value.y * weights[i][quad].y;
                    sum[t][i] += value.z * weights[i][quad].z;
                    sum[t][i] += value.w * weights[i][quad].w;
                }
            }
        }
    }
    for (int t = 0; t < TOKENS; t++) {
        write_results(first_token + uint(t), first_tile, sum[t]);
    }
}
