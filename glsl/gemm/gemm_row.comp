// y[m] = W x[m] + bias, or y[m] += scale * (W x[m] + bias), for the tokens of a batch, on llvmpipe:
// gemm/product.glsl.
//
// A group is one vector: invocation r owns row r of TILES tiles for TOKENS tokens and walks over
// all of k by blocks of 32: x of a block is private for all tiles, a tile's weights are dequantised
// once for all tokens, whose sums stay in registers meanwhile. In a loop llvmpipe fetches from
// buffers and shared memory lane by lane, which is slow; a private value is one load from the
// stack, and a texel fetch (TEXELS 1) is vector code. Figures: glsl/measurements.md.
#include "lib/common.glsl"
#include "lib/first_group.glsl"
#include "gemm/product.glsl"

#if !defined(TILES) || !defined(TOKENS)
#error "TILES, TOKENS of an invocation"
#endif

layout(local_size_x = 8) in;

#if TEXELS
layout(binding = 1) uniform highp samplerBuffer x_texels;
vec4 x_at(uint i)
{
    return texelFetch(x_texels, int(i));
}
#else
vec4 x_at(uint i)
{
    return x_quads[i];
}
#endif

void write_results(uint token, uint first_tile, float sum[TILES])
{
    if (token >= TOKEN_END) {
        return;
    }
    for (int i = 0; i < TILES; i++) {
        uint row = (first_tile + uint(i)) * TILE_ROWS + gl_LocalInvocationID.x;
        if (row < params.n_rows) {
            write_product(token, row, sum[i]);
        }
    }
}

void main()
{
    uint first_tile = (gl_WorkGroupID.x + first_group) * uint(TILES);
    open_product(x_at(PRODUCT_TILE));
    uint own_token = FIRST_TOKEN(uint(TOKENS));
    uint begin[TOKENS];
    float sum[TOKENS][TILES];
    for (int t = 0; t < TOKENS; t++) {
        begin[t] = X_BEGIN + min(own_token + uint(t), TOKEN_END - 1u) * (params.x_stride / 4u);
        for (int i = 0; i < TILES; i++) {
            sum[t][i] = 0.0;
        }
    }
    for (uint block = 0u; block < BLOCK_END; block++) {
        vec4 values[TOKENS][8];
        for (int t = 0; t < TOKENS; t++) {
            for (int quad = 0; quad < 8; quad++) {
                values[t][quad] = x_at(begin[t] + block * 8u + uint(quad));
            }
        }
        for (int i = 0; i < TILES; i++) {
            uint tile = min(first_tile + uint(i), params.n_rows / TILE_ROWS - 1u);
            vec4 weights[8];
            quant_unpack(quant_load(FIRST_ROW / TILE_ROWS + tile, block, params.n_block, gl_LocalInvocationID.x), weights);
            for (int quad = 0; quad < 8; quad++) {
                for (int t = 0; t < TOKENS; t++) {
                    sum[t][i] += values[t][quad].x * weights[quad].x;
                    sum[t][i] += values[t][quad].y * weights[quad].y;
                    sum[t][i] += values[t][quad].z * weights[quad].z;
                    sum[t][i] += values[t][quad].w * weights[quad].w;
                }
            }
        }
    }
    for (int t = 0; t < TOKENS; t++) {
        write_results(own_token + uint(t), first_tile, sum[t]);
    }
}
