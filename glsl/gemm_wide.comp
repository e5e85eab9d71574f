// gemm.comp for devices whose groups may have 256 invocations: the same product and the same Params.
//
// A group owns TOKENS tokens by ROWS rows, a tile, and walks all of k by blocks of 32, staged in
// shared memory as gemm.comp does. An invocation owns 8 tokens by 8 rows in registers, 16 shared
// loads of 16 bytes for 256 multiply-adds; a tile of fewer than 256 such squares is shared out over
// SLICES slices of the group, each of which takes its quads of every block. Their sums are added in
// the order of the slices in the end. Thus a small product has groups enough, without any scratch.
// A warp of 32 takes 4 by 8 squares, neighbours in pairs along the tokens: 4 % faster than rows of 8.
//
// On an H200, 512 tokens, Q4_0, against gemm.comp: 16384 x 2048 in 1005 us (1131), 2048 x 8192 in 546
// (619), 576 x 1536 in 66 (82). Tiles of 128 by 128 take 947 us for the first, but as long for few
// tokens as for 128. Tried and slower there: 16 tokens an invocation, no load ahead, W by halves,
// and tiles stored k by k.
#include "lib/common.glsl"
#include "lib/step_state.glsl"

#if !defined(ADD) || !defined(HAS_BIAS)
#error "ADD: 1 to add to y, 0 to write it; HAS_BIAS: 1 if the part carries a bias"
#endif
#ifndef ROWS
#error "ROWS: of a tile: 64 or 128"
#endif

#define TOKENS 64
#define WG_SIZE 256
#define SQUARES (TOKENS / 8 * (ROWS / 8))
#define SLICES (WG_SIZE / SQUARES)
#define TOKEN_STEP uint(TOKENS / 8)
#define ROW_STEP uint(ROWS / 8)
// Quads of a block that a slice multiplies, and that an invocation unpacks.
#define SLICE_QUADS (8 / SLICES)
#define UNPACK_QUADS (8 * ROWS / WG_SIZE)

layout(local_size_x = WG_SIZE) in;

layout(std430, binding = 0) restrict buffer Y { float y[]; };
layout(std430, binding = 1) restrict readonly buffer X { vec4 x[]; };

#include "lib/quant.glsl"

layout(std140, binding = 0) uniform Params
{
    uint n_rows, n_block, x_stride, y_stride;
    uint y_begin, bias;
    float scale;
} params;

// The tile of x, then that of W; in the end the sums of a slice.
shared vec4 tiles[(TOKENS + ROWS) * 8];

// The next block of both operands, on its way to shared memory.
struct Stage {
    vec4 x[TOKENS / 32];
    QuantBlock w;
};

uint x_index(uint token, uint quad)
{
    return token * 8u + (quad ^ (token & 7u));
}

uint w_index(uint row, uint quad)
{
    return uint(TOKENS * 8) + row * 8u + (quad ^ (row & 7u));
}

void load_stage(out Stage stage, uint token_begin, uint row_begin, uint block)
{
    uint lane = gl_LocalInvocationID.x;
    for (uint i = 0u; i < uint(TOKENS / 32); i++) {
        uint token = min(token_begin + lane / 8u + 32u * i, state.n_tokens - 1u);
        stage.x[i] = x[token * (params.x_stride / 4u) + block * 8u + lane % 8u];
    }
    uint row = min(row_begin + lane % uint(ROWS), params.n_rows - 1u);
    stage.w = quant_load(row / TILE_ROWS, block, params.n_block, row % TILE_ROWS);
}

// first is constant where it is called, so that only the quads asked for are unpacked.
void store_quads(QuantBlock w, uint row, uint first)
{
    vec4 values[8];
    quant_unpack(w, values);
    for (uint i = 0u; i < uint(UNPACK_QUADS); i++) {
        tiles[w_index(row, first + i)] = values[first + i];
    }
}

void store_stage(Stage stage)
{
    uint lane = gl_LocalInvocationID.x;
    for (uint i = 0u; i < uint(TOKENS / 32); i++) {
        tiles[x_index(lane / 8u + 32u * i, lane % 8u)] = stage.x[i];
    }
    uint row = lane % uint(ROWS);
    switch (lane / uint(ROWS)) {
    case 0u:
        store_quads(stage.w, row, 0u);
        break;
    case 1u:
        store_quads(stage.w, row, uint(UNPACK_QUADS));
        break;
#if ROWS == 64
    case 2u:
        store_quads(stage.w, row, uint(2 * UNPACK_QUADS));
        break;
    default:
        store_quads(stage.w, row, uint(3 * UNPACK_QUADS));
        break;
#endif
    }
}

void multiply_quad(uint token, uint row, uint quad, inout vec4 sum[16])
{
    vec4 w[8];
    for (uint j = 0u; j < 8u; j++) {
        w[j] = tiles[w_index(row + ROW_STEP * j, quad)];
    }
    for (uint i = 0u; i < 8u; i++) {
        vec4 a = tiles[x_index(token + TOKEN_STEP * i, quad)];
        for (uint j = 0u; j < 2u; j++) {
            vec4 w0 = w[4u * j], w1 = w[4u * j + 1u], w2 = w[4u * j + 2u], w3 = w[4u * j + 3u];
            sum[2u * i + j] += a.x * vec4(w0.x, w1.x, w2.x, w3.x);
            sum[2u * i + j] += a.y * vec4(w0.y, w1.y, w2.y, w3.y);
            sum[2u * i + j] += a.z * vec4(w0.z, w1.z, w2.z, w3.z);
            sum[2u * i + j] += a.w * vec4(w0.w, w1.w, w2.w, w3.w);
        }
    }
}

#if SLICES > 1
// Adds the sums of all slices to those of slice 0. The vectors of a square that do not fit into the
// tiles at once go in passes.
#define PASS_VECTORS (SQUARES > 64 ? 8 : 16)

void add_slices(uint slice, uint square, inout vec4 sum[16])
{
    for (uint from = 1u; from < uint(SLICES); from++) {
        for (int begin = 0; begin < 16; begin += PASS_VECTORS) {
            barrier();
            for (int i = 0; i < PASS_VECTORS; i++) {
                if (slice == from) {
                    tiles[uint(i * SQUARES) + square] = sum[begin + i];
                }
            }
            barrier();
            for (int i = 0; i < PASS_VECTORS; i++) {
                if (slice == 0u) {
                    sum[begin + i] += tiles[uint(i * SQUARES) + square];
                }
            }
        }
    }
}
#endif

void write_results(uint token, uint row, vec4 sum)
{
    for (uint i = 0u; i < 4u; i++) {
        uint at = row + ROW_STEP * i;
        if (token < state.n_tokens && at < params.n_rows) {
            float value = sum[i];
#if HAS_BIAS
            value += uintBitsToFloat(aux[params.bias + at]);
#endif
            uint place = token * params.y_stride + params.y_begin + at;
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
    uint token_begin = gl_WorkGroupID.y * uint(TOKENS);
    uint row_begin = gl_WorkGroupID.x * uint(ROWS);
    uint slice = gl_LocalInvocationID.x / uint(SQUARES);
    uint square = gl_LocalInvocationID.x % uint(SQUARES);
    uint warp = square / 32u, lane = square % 32u;
    uint token = warp / uint(ROWS / 64) * 4u + lane / 16u * 2u + lane % 2u;
    uint row = warp % uint(ROWS / 64) * 8u + lane % 16u / 2u;

    vec4 sum[16];
    for (uint i = 0u; i < 16u; i++) {
        sum[i] = vec4(0.0);
    }
    Stage stage;
    load_stage(stage, token_begin, row_begin, 0u);
    for (uint block = 0u; block < params.n_block; block++) {
        store_stage(stage);
        barrier();
        load_stage(stage, token_begin, row_begin, min(block + 1u, params.n_block - 1u));
        for (uint i = 0u; i < uint(SLICE_QUADS); i++) {
            multiply_quad(token, row, slice * uint(SLICE_QUADS) + i, sum);
        }
        barrier();
    }
#if SLICES > 1
    add_slices(slice, square, sum);
    if (slice != 0u) {
        return;
    }
#endif
    for (uint i = 0u; i < 8u; i++) {
        uint at = token_begin + token + TOKEN_STEP * i;
        write_results(at, row_begin + row, sum[2u * i]);
        write_results(at, row_begin + row + 4u * ROW_STEP, sum[2u * i + 1u]);
    }
}
