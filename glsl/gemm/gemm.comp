// y[m] = W x[m] + bias, or y[m] += scale * (W x[m] + bias), for the tokens of a batch:
// gemm/product.glsl.
//
// A group owns 64 tokens by 64 rows and walks all of k by blocks of 32; an invocation owns 8 tokens
// by 4 rows in registers. Each block of both operands is staged in 16 KiB of shared memory, a
// weight dequantised once per tile; the loads of the next block are issued before the arithmetic on
// this one. The quads of k are permuted by row, so that invocations on neighbouring rows access
// different banks. Reads, per output and k, 1/64 weight and 4/64 bytes of x from memory, and 12
// shared words of 16 bytes for 128 multiply-adds. Figures: glsl/measurements.md.
#include "lib/common.glsl"
#include "gemm/product.glsl"

#define TILE 64u
#define WG_SIZE 128u

layout(local_size_x = 128) in;

shared vec4 x_tile[TILE * 8u];
shared vec4 w_tile[TILE * 8u];

// Prefetches the next block of both operands.
struct Stage {
    vec4 x[4];
    QuantBlock w;
};

uint tile_index(uint row, uint quad)
{
    return row * 8u + (quad ^ (row & 7u));
}

void load_stage(out Stage stage, uint token_begin, uint row_begin, uint block)
{
    uint lane = gl_LocalInvocationID.x;
    for (uint i = 0u; i < 4u; i++) {
        uint token = min(token_begin + lane / 8u + 16u * i, state.n_tokens - 1u);
        stage.x[i] = x[token * (params.x_stride / 4u) + block * 8u + lane % 8u];
    }
    uint row = min(row_begin + lane % TILE, params.n_rows - 1u);
    stage.w = quant_load(row / TILE_ROWS, block, params.n_block, row % TILE_ROWS);
}

void store_stage(Stage stage)
{
    uint lane = gl_LocalInvocationID.x;
    for (uint i = 0u; i < 4u; i++) {
        x_tile[tile_index(lane / 8u + 16u * i, lane % 8u)] = stage.x[i];
    }
    if (lane < TILE) {
        vec4 values[8];
        quant_unpack(stage.w, values);
        for (uint i = 0u; i < 8u; i++) {
            w_tile[tile_index(lane, i)] = values[i];
        }
    }
}

void multiply_tiles(uint token, uint row, inout vec4 sum[8])
{
    for (uint quad = 0u; quad < 8u; quad++) {
        vec4 w0 = w_tile[tile_index(row, quad)];
        vec4 w1 = w_tile[tile_index(row + 16u, quad)];
        vec4 w2 = w_tile[tile_index(row + 32u, quad)];
        vec4 w3 = w_tile[tile_index(row + 48u, quad)];
        for (uint i = 0u; i < 8u; i++) {
            vec4 a = x_tile[tile_index(token + 8u * i, quad)];
            sum[i] += a.x * vec4(w0.x, w1.x, w2.x, w3.x);
            sum[i] += a.y * vec4(w0.y, w1.y, w2.y, w3.y);
            sum[i] += a.z * vec4(w0.z, w1.z, w2.z, w3.z);
            sum[i] += a.w * vec4(w0.w, w1.w, w2.w, w3.w);
        }
    }
}

void write_results(uint token, uint row, vec4 sum)
{
    for (uint i = 0u; i < 4u; i++) {
        uint at = row + 16u * i;
        if (token < state.n_tokens && at < params.n_rows) {
            write_product(token, at, sum[i]);
        }
    }
}

void main()
{
    uint token_begin = gl_WorkGroupID.y * TILE;
    uint row_begin = gl_WorkGroupID.x * TILE;
    uint token = gl_LocalInvocationID.x / 16u;
    uint row = gl_LocalInvocationID.x % 16u;

    vec4 sum[8];
    for (uint i = 0u; i < 8u; i++) {
        sum[i] = vec4(0.0);
    }
    Stage stage;
    load_stage(stage, token_begin, row_begin, 0u);
    for (uint block = 0u; block < params.n_block; block++) {
        store_stage(stage);
        barrier();
        load_stage(stage, token_begin, row_begin, min(block + 1u, params.n_block - 1u));
        multiply_tiles(token, row, sum);
        barrier();
    }
    for (uint i = 0u; i < 8u; i++) {
        write_results(token_begin + token + 8u * i, row_begin + row, sum[i]);
    }
}
