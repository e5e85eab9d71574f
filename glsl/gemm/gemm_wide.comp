// The product of gemm.comp for devices whose groups may have 256 invocations, with the same Params.
//
// A group owns TILE_TOKENS tokens by 64 rows. Its SLICES slices take the blocks of 32 columns in
// turn, each with shared tiles of its own; their sums are added in the order of the slices at the
// end. So a small product has enough invocations without a scratch buffer. A block's tiles are
// staged as in gemm.comp, the next block's loads issued before the arithmetic. An invocation owns 8
// tokens (4 of a tile of 32) by 4 rows: 12 shared loads of 16 bytes for 128 multiply-adds. A warp
// of 32 takes 4 tokens by 8 rows. Figures: glsl/measurements.md.
#include "lib/common.glsl"
#include "lib/first_group.glsl"
#include "gemm/product.glsl"
#include "lib/add_products.glsl"

#if !defined(TILE_TOKENS) || !defined(SLICES)
#error "TILE_TOKENS: 32 or 64; SLICES: of the group"
#endif

#define TOKENS TILE_TOKENS
#define ROWS 64
#define SQUARES 128 // invocations of a slice
#define OWN (TOKENS * ROWS / 4 / SQUARES) // tokens of an invocation
#define TOKEN_STEP uint(TOKENS / OWN)
#define ROW_STEP uint(ROWS / 4)
#define TILE_QUADS 8u // of a row in a tile
#define X_LOADS (TOKENS * 8 / SQUARES)
#define UNPACK_QUADS 4
#define SLICE_SIZE uint((TOKENS + ROWS) * 8)

#if SLICES == 1
layout(local_size_x = 128) in;
#elif SLICES == 2
layout(local_size_x = 256) in;
#else
layout(local_size_x = 384) in;
#endif

shared vec4 tiles[uint(SLICES) * SLICE_SIZE];

// Permutes quads by row, so that invocations on neighbouring rows access different banks.
uint tile_index(uint row, uint quad)
{
    return row * TILE_QUADS + (quad ^ (row & 7u));
}

//-- prefetch of the next tiles ----------------------------------------------------------------------

struct Stage {
    vec4 x[X_LOADS];
    QuantBlock w;
};

// Blocks past the last are read as the last.
void load_stage(out Stage stage, uint lane, uint token_begin, uint block)
{
    block = min(block, params.n_block - 1u);
    for (int i = 0; i < X_LOADS; i++) {
        uint e = lane + uint(i * SQUARES);
        uint token = min(token_begin + e / TILE_QUADS, TOKEN_END - 1u);
        stage.x[i] = x_quads[X_BEGIN + token * (params.x_stride / 4u) + block * TILE_QUADS + e % TILE_QUADS];
    }
    uint row = min((gl_WorkGroupID.x + first_group) * uint(ROWS) + lane % uint(ROWS), params.n_rows - 1u);
    row += FIRST_ROW;
    stage.w = quant_load(row / TILE_ROWS, block, params.n_block, row % TILE_ROWS);
}

// `first` is a constant at each call, so that only the quads that are used are unpacked.
void store_quads(QuantBlock w, uint base, uint row, int first, float factor)
{
    vec4 v[8];
    quant_unpack(w, v);
    for (int i = first; i < first + UNPACK_QUADS; i++) {
        tiles[base + tile_index(row, uint(i))] = v[i] * factor;
    }
}

void store_stage(Stage stage, uint base, uint lane, uint block)
{
    for (int i = 0; i < X_LOADS; i++) {
        uint e = lane + uint(i * SQUARES);
        tiles[base + tile_index(e / TILE_QUADS, e % TILE_QUADS)] = stage.x[i];
    }
    base += uint(TOKENS) * TILE_QUADS;
    uint row = lane % uint(ROWS);
    float factor = block < params.n_block ? 1.0 : 0.0;
    if (lane < uint(ROWS)) {
        store_quads(stage.w, base, row, 0, factor);
    } else {
        store_quads(stage.w, base, row, UNPACK_QUADS, factor);
    }
}

//-- products --------------------------------------------------------------------------------------

// Sums have a name each and a tile's code has no loop, so that compilers keep all in registers.
#define MULTIPLY_TOKEN(i, s0, s1, s2, s3)                                                          \
    {                                                                                              \
        vec4 a = tiles[x_at + uint(i) * TOKEN_STEP * TILE_QUADS];                                  \
        ADD_PRODUCTS(s0, a, w0)                                                                    \
        ADD_PRODUCTS(s1, a, w1)                                                                    \
        ADD_PRODUCTS(s2, a, w2)                                                                    \
        ADD_PRODUCTS(s3, a, w3)                                                                    \
    }

#if OWN == 8
#define EACH_TOKEN(DO)                                                                             \
    DO(0, s00, s01, s02, s03)                                                                      \
    DO(1, s10, s11, s12, s13)                                                                      \
    DO(2, s20, s21, s22, s23)                                                                      \
    DO(3, s30, s31, s32, s33)                                                                      \
    DO(4, s40, s41, s42, s43)                                                                      \
    DO(5, s50, s51, s52, s53)                                                                      \
    DO(6, s60, s61, s62, s63)                                                                      \
    DO(7, s70, s71, s72, s73)
#else
#define EACH_TOKEN(DO)                                                                             \
    DO(0, s00, s01, s02, s03)                                                                      \
    DO(1, s10, s11, s12, s13)                                                                      \
    DO(2, s20, s21, s22, s23)                                                                      \
    DO(3, s30, s31, s32, s33)
#endif

#define MULTIPLY_QUAD(quad)                                                                        \
    {                                                                                              \
        uint x_at = x_begin + (quad ^ x_turn), w_at = w_begin + (quad ^ w_turn);                   \
        vec4 w0 = tiles[w_at];                                                                     \
        vec4 w1 = tiles[w_at + ROW_STEP * TILE_QUADS];                                             \
        vec4 w2 = tiles[w_at + 2u * ROW_STEP * TILE_QUADS];                                        \
        vec4 w3 = tiles[w_at + 3u * ROW_STEP * TILE_QUADS];                                        \
        EACH_TOKEN(MULTIPLY_TOKEN)                                                                 \
    }

#define DECLARE_SUMS(i, s0, s1, s2, s3) float s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
#define TAKE_SUMS(i, s0, s1, s2, s3) total[i] = vec4(s0, s1, s2, s3);

//-- results ---------------------------------------------------------------------------------------

void write_results(uint token, uint row, vec4 sum)
{
    row += (gl_WorkGroupID.x + first_group) * uint(ROWS);
    for (uint i = 0u; i < 4u; i++) {
        uint at = row + ROW_STEP * i;
        if (token < TOKEN_END && at < params.n_rows) {
            write_product(token, at, sum[i]);
        }
    }
}

#if SLICES > 1
void add_slices(uint slice, uint square, inout vec4 total[OWN])
{
    for (uint from = 1u; from < uint(SLICES); from++) {
        barrier();
        for (int i = 0; i < OWN; i++) {
            if (slice == from) {
                tiles[uint(i * SQUARES) + square] = total[i];
            }
        }
        barrier();
        for (int i = 0; i < OWN; i++) {
            if (slice == 0u) {
                total[i] += tiles[uint(i * SQUARES) + square];
            }
        }
    }
}
#endif

void main()
{
    open_product(x_quads[PRODUCT_TILE]);
    uint token_begin = FIRST_TOKEN(uint(TOKENS));
    uint slice = gl_LocalInvocationID.x / uint(SQUARES);
    uint square = gl_LocalInvocationID.x % uint(SQUARES);
    uint row = square / 32u % 2u * 8u + square % 8u;
    uint token = square / 64u * 4u + square / 8u % 4u;
    uint base = slice * SLICE_SIZE;
    uint x_begin = base + token * TILE_QUADS, x_turn = token & 7u;
    uint w_begin = base + (uint(TOKENS) + row) * TILE_QUADS, w_turn = row & 7u;

    EACH_TOKEN(DECLARE_SUMS)
    Stage stage;
    load_stage(stage, square, token_begin, slice);
    for (uint block = slice; block < BLOCK_END + slice; block += uint(SLICES)) {
        store_stage(stage, base, square, block);
        barrier();
        load_stage(stage, square, token_begin, block + uint(SLICES));
        MULTIPLY_QUAD(0u)
        MULTIPLY_QUAD(1u)
        MULTIPLY_QUAD(2u)
        MULTIPLY_QUAD(3u)
        MULTIPLY_QUAD(4u)
        MULTIPLY_QUAD(5u)
        MULTIPLY_QUAD(6u)
        MULTIPLY_QUAD(7u)
        barrier();
    }
    vec4 total[OWN];
    EACH_TOKEN(TAKE_SUMS)
#if SLICES > 1
    add_slices(slice, square, total);
    if (slice != 0u) {
        return;
    }
#endif
    for (int i = 0; i < OWN; i++) {
        write_results(token_begin + token + TOKEN_STEP * uint(i), row, total[i]);
    }
}
