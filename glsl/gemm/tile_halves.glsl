// Tiles of gemm/gemm.comp in f16: two blocks of 32 columns of both operands, pairs of columns of
// four tokens or rows to a word of 16 bytes. An invocation stages eight columns of four tokens and a
// block of a row, so that there are as many as TILE_TOKENS / 4 * 8 and as ROWS * 2 of them.
#define STEP_BLOCKS 2u
#define W_TILE (32u * TOKEN_QUADS)

shared uvec4 tiles[32u * (TOKEN_QUADS + ROW_QUADS)]; // (pair of columns, token), (pair, row)

// Past the last block it stages any halves: their weights are zero.
void stage_x(uint lane, uint token_begin, uint block)
{
    uint token = lane % TOKEN_QUADS, word = lane / TOKEN_QUADS;
    uint from = min(block * 4u + word, params.n_block * 4u - 1u);
    uint to = word * 4u * TOKEN_QUADS + token;
    uint first = token_begin + 4u * token, last = state.n_tokens - 1u, stride = params.x_stride / 4u;
    for (uint i = 0u; i < TURNS(4u); i++) {
        uvec4 a = floatBitsToUint(x_quads[min(first + i, last) * stride + from]);
        for (uint k = 0u; k < 4u; k++) {
            tiles[to + k * TOKEN_QUADS][i] = a[k];
        }
    }
}

void stage_w(uint lane, uint row_begin, uint block)
{
    uint row = min(row_begin + lane % ROWS, params.n_rows - 1u);
    uint to = W_TILE + lane / ROWS * 16u * ROW_QUADS + lane % ROWS / 4u;
    block += lane / ROWS;
    bool is_there = block < params.n_block;
    block = min(block, params.n_block - 1u);
    QuantBlock w = quant_load(row / TILE_ROWS, block, params.n_block, row % TILE_ROWS);
    for (uint i = 0u; i < TURNS(8u); i++, to += 2u * ROW_QUADS) {
        vec4 v = is_there ? quant_quad(w, int(i)) : vec4(0.0);
        tiles[to][lane % 4u] = packHalf2x16(v.xy);
        tiles[to + ROW_QUADS][lane % 4u] = packHalf2x16(v.zw);
    }
}

#define ADD_TOKEN(i, bits)                                                                         \
    {                                                                                              \
        highp vec2 h = unpackHalf2x16(bits);                                                       \
        sum[i] += h.x * w;                                                                         \
        sum[i] += h.y * v;                                                                         \
    }

// A pair of columns, with a constant for k: unrolled by hand, since not every compiler does.
#define ADD_PAIR(k)                                                                                \
    {                                                                                              \
        uvec4 bits = tiles[W_TILE + w_at + uint(k) * ROW_QUADS];                                   \
        highp vec2 p = unpackHalf2x16(bits.x), q = unpackHalf2x16(bits.y);                         \
        highp vec2 r = unpackHalf2x16(bits.z), s = unpackHalf2x16(bits.w);                         \
        vec4 w = vec4(p.x, q.x, r.x, s.x), v = vec4(p.y, q.y, r.y, s.y);                           \
        for (int i = 0; i < QUADS; i++) {                                                          \
            uvec4 a = tiles[x_at + uint(k) * TOKEN_QUADS + uint(i) * TOKEN_GROUPS];                \
            ADD_TOKEN(4 * i, a.x)                                                                  \
            ADD_TOKEN(4 * i + 1, a.y)                                                              \
            ADD_TOKEN(4 * i + 2, a.z)                                                              \
            ADD_TOKEN(4 * i + 3, a.w)                                                              \
        }                                                                                          \
    }
#define ADD_FOUR(k) ADD_PAIR(k) ADD_PAIR(k + 1) ADD_PAIR(k + 2) ADD_PAIR(k + 3)

// Adds what is staged to the sums.
#define ADD_STEP                                                                                   \
    ADD_FOUR(0) ADD_FOUR(4) ADD_FOUR(8) ADD_FOUR(12)                                               \
    ADD_FOUR(16) ADD_FOUR(20) ADD_FOUR(24) ADD_FOUR(28)

// The factor of a token's products.
float token_scale(uint token)
{
    uint safe_token = min(token, state.n_tokens - 1u);
    return x_quads[safe_token * (params.x_stride / 4u) + params.n_block * 4u].x;
}
