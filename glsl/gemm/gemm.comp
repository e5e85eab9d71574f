// y[m] = W x[m] + bias, or y[m] += scale * (W x[m] + bias), for the tokens of a batch:
// gemm/product.glsl.
//
// A group owns TILE_TOKENS tokens by 64 rows and walks all of k by blocks of 32; an invocation owns
// 4 QUADS tokens by 4 rows in registers. Each block of both operands is staged in shared memory,
// at most 16 KiB, column by column, so that a column takes QUADS + 1 loads of four numbers for
// 16 QUADS multiply-adds, and little more than the sums is ever alive. Four tokens are turned in
// registers; a weight is dequantised once per tile, in equal shares by all invocations. Nothing is
// prefetched: the other groups of a core work meanwhile. With ROLLED 1 staging loops, for GPUs with
// few registers beside the sums. Figures: glsl/measurements.md.
#include "lib/common.glsl"
#include "lib/first_group.glsl"
#include "gemm/product.glsl"

#if !defined(TILE_TOKENS) || !defined(QUADS) || !defined(ROLLED)
#error "TILE_TOKENS: 16 to 64; QUADS: of tokens of an invocation, TILE_TOKENS / QUADS is 16, 32 or 64; ROLLED"
#endif

#define ROWS 64u
#define WG_SIZE uint(TILE_TOKENS / QUADS * 4)
#define TOKEN_QUADS uint(TILE_TOKENS / 4)
#define ROW_QUADS (ROWS / 4u)
#define TOKEN_GROUPS (TOKEN_QUADS / uint(QUADS))
// Gives n to a loop, with ROLLED 1 so that no compiler unrolls it.
#define TURNS(n) ((n) + uint(ROLLED) * (params.n_block >> 31u))
#define SHARE (8u * ROWS / WG_SIZE) // quads of a block of weights that an invocation unpacks

#if TILE_TOKENS / QUADS == 64
layout(local_size_x = 256) in;
#elif TILE_TOKENS / QUADS == 32
layout(local_size_x = 128) in;
#else
layout(local_size_x = 64) in;
#endif

#define W_TILE (32u * TOKEN_QUADS)

shared vec4 tiles[32u * (TOKEN_QUADS + ROW_QUADS)]; // (column, token), (column, row)

vec4 load_token(uint token, uint quad)
{
    return x[min(token, state.n_tokens - 1u) * (params.x_stride / 4u) + quad];
}

// Stages four columns of four tokens.
void stage_x(uint lane, uint token_begin, uint block)
{
    if (lane < 8u * TOKEN_QUADS) {
        uint token = lane % TOKEN_QUADS, quad = lane / TOKEN_QUADS;
        uint from = block * 8u + quad, to = quad * 4u * TOKEN_QUADS + token;
        token = token_begin + 4u * token;
#if ROLLED
        for (uint i = 0u; i < TURNS(4u); i += 2u) {
            vec4 a = load_token(token + i, from), b = load_token(token + i + 1u, from);
            for (uint k = 0u; k < 4u; k++) {
                tiles[to + k * TOKEN_QUADS][i] = a[k];
                tiles[to + k * TOKEN_QUADS][i + 1u] = b[k];
            }
        }
#else
        vec4 a = load_token(token, from), b = load_token(token + 1u, from);
        vec4 c = load_token(token + 2u, from), d = load_token(token + 3u, from);
        for (uint k = 0u; k < 4u; k++) {
            tiles[to + k * TOKEN_QUADS] = vec4(a[k], b[k], c[k], d[k]);
        }
#endif
    }
}

void stage_w(uint lane, uint row_begin, uint block)
{
    uint row = min(row_begin + lane % ROWS, params.n_rows - 1u), first = lane / ROWS * SHARE;
    QuantBlock w = quant_load(row / TILE_ROWS, block, params.n_block, row % TILE_ROWS);
    for (uint i = 0u; i < TURNS(SHARE); i++) {
        vec4 v = quant_quad(w, int(first + i));
        uint to = W_TILE + (first + i) * 4u * ROW_QUADS + lane % ROWS / 4u;
        for (uint k = 0u; k < 4u; k++) {
            tiles[to + k * ROW_QUADS][lane % 4u] = v[k];
        }
    }
}

// A column, with a constant for k: unrolled by hand, since not every compiler does.
#define ADD_COLUMN(k)                                                                              \
    {                                                                                              \
        vec4 w = tiles[W_TILE + w_at + uint(k) * ROW_QUADS];                                       \
        for (int i = 0; i < QUADS; i++) {                                                          \
            vec4 a = tiles[x_at + uint(k) * TOKEN_QUADS + uint(i) * TOKEN_GROUPS];                 \
            sum[4 * i] += a.x * w;                                                                 \
            sum[4 * i + 1] += a.y * w;                                                             \
            sum[4 * i + 2] += a.z * w;                                                             \
            sum[4 * i + 3] += a.w * w;                                                             \
        }                                                                                          \
    }
#define ADD_FOUR(k) ADD_COLUMN(k) ADD_COLUMN(k + 1) ADD_COLUMN(k + 2) ADD_COLUMN(k + 3)

void write_results(uint token, uint row, vec4 sum)
{
    for (uint i = 0u; i < 4u; i++) {
        if (token < state.n_tokens && row + i < params.n_rows) {
            write_product(token, row + i, sum[i]);
        }
    }
}

void main()
{
    uint lane = gl_LocalInvocationID.x;
    uint token_begin = gl_WorkGroupID.y * 4u * TOKEN_QUADS;
    uint row_begin = (gl_WorkGroupID.x + first_group) * ROWS;
    uint x_at = lane / ROW_QUADS, w_at = lane % ROW_QUADS;
    vec4 sum[4 * QUADS];
    for (int i = 0; i < 4 * QUADS; i++) {
        sum[i] = vec4(0.0);
    }
    for (uint block = 0u; block < params.n_block; block++) {
        stage_w(lane, row_begin, block);
        stage_x(lane, token_begin, block);
        barrier();
        ADD_FOUR(0) ADD_FOUR(4) ADD_FOUR(8) ADD_FOUR(12)
        ADD_FOUR(16) ADD_FOUR(20) ADD_FOUR(24) ADD_FOUR(28)
        barrier();
    }
    for (int i = 0; i < 4 * QUADS; i++) {
        uint token = 4u * (x_at + uint(i / 4) * TOKEN_GROUPS) + uint(i % 4);
        write_results(token_begin + token, row_begin + 4u * w_at, sum[i]);
    }
}
