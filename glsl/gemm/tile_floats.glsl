// Tiles of gemm/gemm.comp in f32: a block of 32 columns of both operands.
#define STEP_BLOCKS 1u
#define W_TILE (32u * TOKEN_QUADS)
#define SHARE (8u * ROWS / WG_SIZE) // quads of a block of weights that an invocation unpacks

// Finds the weights of an invocation: groups of 64 have one for each row.
#if TILE_TOKENS / QUADS == 16
#define TILE_ROW(lane) (lane)
#define FIRST_QUAD(lane) 0u
#else
#define TILE_ROW(lane) ((lane) % ROWS)
#define FIRST_QUAD(lane) ((lane) / ROWS * SHARE)
#endif

shared vec4 tiles[32u * (TOKEN_QUADS + ROW_QUADS)]; // (column, token), (column, row)

vec4 load_token(uint token, uint quad)
{
    return x_quads[X_BEGIN + min(token, TOKEN_END - 1u) * (params.x_stride / 4u) + quad];
}

// Stages four columns of four tokens.
void stage_x(uint lane, uint token_begin, uint block)
{
    if (lane < 8u * TOKEN_QUADS) {
        uint token = lane % TOKEN_QUADS, quad = lane / TOKEN_QUADS;
        uint from = block * 8u + quad, to = quad * 4u * TOKEN_QUADS + token;
        token = token_begin + 4u * token;
#if ROLLED && TILE_TOKENS > 16
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
    uint row = FIRST_ROW + min(row_begin + TILE_ROW(lane), params.n_rows - 1u), first = FIRST_QUAD(lane);
    QuantBlock w = quant_load(row / TILE_ROWS, block, params.n_block, row % TILE_ROWS);
    for (uint i = 0u; i < TURNS(SHARE); i++) {
        vec4 v = quant_quad(w, int(first + i));
        uint to = W_TILE + (first + i) * 4u * ROW_QUADS + TILE_ROW(lane) / 4u;
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

// Adds what is staged to the sums.
#define ADD_STEP                                                                                   \
    ADD_FOUR(0) ADD_FOUR(4) ADD_FOUR(8) ADD_FOUR(12)                                               \
    ADD_FOUR(16) ADD_FOUR(20) ADD_FOUR(24) ADD_FOUR(28)

#define token_scale(token) 1.0
