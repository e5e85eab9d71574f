// y[m] = W x[m] + bias, or y[m] += scale * (W x[m] + bias), for the tokens of a batch:
// gemm/product.glsl.
//
// A group owns TILE_TOKENS tokens by 64 rows and walks all of k by blocks of 32; an invocation owns
// 4 QUADS tokens by 4 rows in registers. Each block of both operands is staged in shared memory,
// at most 16 KiB, column by column, so that a column takes QUADS + 1 loads of four numbers for
// 16 QUADS multiply-adds, and little more than the sums is ever alive. Four tokens are turned in
// registers; a weight is dequantised once per tile, in equal shares by all invocations. Nothing is
// prefetched: the other groups of a core work meanwhile. Figures: glsl/measurements.md.
#include "lib/common.glsl"
#include "lib/first_group.glsl"
#include "gemm/product.glsl"

#if !defined(TILE_TOKENS) || !defined(QUADS)
#error "TILE_TOKENS: 32 or 64; QUADS: of tokens of an invocation, TILE_TOKENS / QUADS is 32 or 64"
#endif

#define TOKENS uint(TILE_TOKENS)
#define ROWS 64u
#define WG_SIZE uint(TILE_TOKENS / QUADS * 4)
#define TOKEN_GROUPS uint(TILE_TOKENS / QUADS / 4)
#define SHARE (8u * ROWS / WG_SIZE) // quads of a block of weights that an invocation unpacks

#if TILE_TOKENS / QUADS == 64
layout(local_size_x = 256) in;
#else
layout(local_size_x = 128) in;
#endif

#define W_TILE (32u * TOKENS)

shared float tiles[32u * (TOKENS + ROWS)]; // (column, token), (column, row)

#define LOAD_FOUR(i) vec4(tiles[i], tiles[i + 1u], tiles[i + 2u], tiles[i + 3u])

void store_tokens(uint at, vec4 v)
{
    tiles[at] = v.x;
    tiles[at + 1u] = v.y;
    tiles[at + 2u] = v.z;
    tiles[at + 3u] = v.w;
}

vec4 load_token(uint token, uint quad)
{
    return x[min(token, state.n_tokens - 1u) * (params.x_stride / 4u) + quad];
}

// Stages four columns of four tokens.
void stage_x(uint lane, uint token_begin, uint block)
{
    if (lane < 2u * TOKENS) {
        uint token = lane % (TOKENS / 4u) * 4u, quad = lane / (TOKENS / 4u);
        uint from = block * 8u + quad, to = quad * 4u * TOKENS + token;
        token += token_begin;
        vec4 a = load_token(token, from), b = load_token(token + 1u, from);
        vec4 c = load_token(token + 2u, from), d = load_token(token + 3u, from);
        store_tokens(to, vec4(a.x, b.x, c.x, d.x));
        store_tokens(to + TOKENS, vec4(a.y, b.y, c.y, d.y));
        store_tokens(to + 2u * TOKENS, vec4(a.z, b.z, c.z, d.z));
        store_tokens(to + 3u * TOKENS, vec4(a.w, b.w, c.w, d.w));
    }
}

void stage_w(uint lane, uint row_begin, uint block)
{
    uint row = min(row_begin + lane % ROWS, params.n_rows - 1u), first = lane / ROWS * SHARE;
    QuantBlock w = quant_load(row / TILE_ROWS, block, params.n_block, row % TILE_ROWS);
    for (uint i = 0u; i < SHARE; i++) {
        vec4 v = quant_quad(w, int(first + i));
        uint to = W_TILE + (first + i) * 4u * ROWS + lane % ROWS;
        tiles[to] = v.x;
        tiles[to + ROWS] = v.y;
        tiles[to + 2u * ROWS] = v.z;
        tiles[to + 3u * ROWS] = v.w;
    }
}

// A column, with a constant for k: unrolled by hand, since not every compiler does.
#define ADD_COLUMN(k)                                                                              \
    {                                                                                              \
        vec4 w = LOAD_FOUR(w_at + uint(k) * ROWS);                                         \
        for (int i = 0; i < QUADS; i++) {                                                          \
            vec4 a = LOAD_FOUR(x_at + uint(k) * TOKENS + uint(i) * 4u * TOKEN_GROUPS);     \
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
    uint token_begin = gl_WorkGroupID.y * TOKENS, row_begin = (gl_WorkGroupID.x + first_group) * ROWS;
    uint x_at = lane / 16u * 4u, row = lane % 16u * 4u, w_at = W_TILE + row;
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
        uint token = x_at + uint(i % 4) + uint(i / 4) * 4u * TOKEN_GROUPS;
        write_results(token_begin + token, row_begin + row, sum[i]);
    }
}
