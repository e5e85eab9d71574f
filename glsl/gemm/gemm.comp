// y[m] = W x[m] + bias, or y[m] += scale * (W x[m] + bias), for the tokens of a batch:
// gemm/product.glsl.
//
// A group owns TILE_TOKENS tokens by 64 rows and walks all of k by blocks of 32; an invocation owns
// 4 QUADS tokens by 4 rows in registers. Each block of both operands is staged in shared memory,
// at most 16 KiB, column by column, so that a column takes QUADS + 1 loads of four numbers for
// 16 QUADS multiply-adds, and little more than the sums is ever alive. Four tokens are turned in
// registers; a weight is dequantised once per tile, in equal shares by all invocations. Nothing is
// prefetched: the other groups of a core work meanwhile. With ROLLED 1 staging loops, that of small
// tiles over weights only, for GPUs with few registers beside the sums. With PACKED x are rows of
// gemm/packed_rows.glsl, and two blocks of both operands are staged as halves, so that loads of four
// words take two columns: for GPUs that wait for loads. Figures: glsl/measurements.md.
#include "lib/common.glsl"
#include "lib/first_group.glsl"
#if ROLLED
#define LATE 2 // of quant/quant.glsl
#else
#define LATE 1
#endif
#include "gemm/product.glsl"

#if !defined(TILE_TOKENS) || !defined(QUADS) || !defined(ROLLED)
#error "TILE_TOKENS: 16 to 64; QUADS: of tokens of an invocation, TILE_TOKENS / QUADS is 16, 32 or 64; ROLLED"
#endif

#ifndef PACKED
#define PACKED 0 // 1: x are in f16; 32 QUADS tokens then, and ROLLED
#endif

#define ROWS 64u
#define WG_SIZE uint(TILE_TOKENS / QUADS * 4)
#define TOKEN_QUADS uint(TILE_TOKENS / 4)
#define ROW_QUADS (ROWS / 4u)
#define TOKEN_GROUPS (TOKEN_QUADS / uint(QUADS))
// Gives n to a loop, with ROLLED 1 so that no compiler unrolls it.
#define TURNS(n) ((n) + uint(ROLLED) * (params.n_block >> 31u))

#if TILE_TOKENS / QUADS == 64
layout(local_size_x = 256) in;
#elif TILE_TOKENS / QUADS == 32
layout(local_size_x = 128) in;
#else
layout(local_size_x = 64) in;
#endif

#if PACKED
#include "gemm/tile_halves.glsl"
#else
#include "gemm/tile_floats.glsl"
#endif

void write_results(uint token, uint row, vec4 sum)
{
    for (uint i = 0u; i < 4u; i++) {
        if (token < TOKEN_END && row + i < params.n_rows) {
            write_product(token, row + i, sum[i]);
        }
    }
}

void main()
{
    uint lane = gl_LocalInvocationID.x;
    open_product(x_quads[PRODUCT_TILE]);
    uint token_begin = FIRST_TOKEN(4u * TOKEN_QUADS);
    uint row_begin = (gl_WorkGroupID.x + first_group) * ROWS;
    uint x_at = lane / ROW_QUADS, w_at = lane % ROW_QUADS;
    vec4 sum[4 * QUADS];
    for (int i = 0; i < 4 * QUADS; i++) {
        sum[i] = vec4(0.0);
    }
    for (uint block = 0u; block < BLOCK_END; block += STEP_BLOCKS) {
        stage_w(lane, row_begin, block);
        stage_x(lane, token_begin, block);
        barrier();
        ADD_STEP
        barrier();
    }
    for (int i = 0; i < 4 * QUADS; i++) {
        uint token = 4u * (x_at + uint(i / 4) * TOKEN_GROUPS) + uint(i % 4);
        token += token_begin;
        write_results(token, row_begin + 4u * w_at, token_scale(token) * sum[i]);
    }
}
