// The product of gemm_wide.comp with its products in f16: mediump, where that is f16 and fast. The same Params.
//
// Tiles, slices and invocations are those of gemm_wide.comp, but a step is two blocks: both operands lie in
// shared memory as words of 8 elements, 16 bytes, in the pairs (0, 4) (1, 5) (2, 6) (3, 7) of halves. A sum is
// a pair of halves, too, and goes into f32 after each step, that is, after 32 products a half. x is divided by
// HALF_UNIT, so that elements and sums may grow to 16 times what a half holds; what that loses below is far
// under their rounding. 12 shared loads of 16 bytes for 128 pairs of multiply-adds.
//
// On an H200, 512 tokens, Q4_0, x in halves already, us, against gemm_wide.comp:
//
//   16384 x 2048   2048 x 8192   3072 x 2048   3072 x 576   576 x 1536
//   605 (919)      320 (483)     118 (178)     37 (55)      49 (57)
//
// Every half that is multiplied has a name of its own: as members of a structure or of an array they cost
// twice the time and more. Relative to the sum of magnitudes the error is about 1e-3: perplexity of
// SmolLM2-135M Q4_1 on 24 kB of English 18.266, in f32 18.263.
#include "lib/common.glsl"
#include "lib/step_state.glsl"

#if !defined(ADD) || !defined(HAS_BIAS)
#error "ADD: 1 to add to y, 0 to write it; HAS_BIAS: 1 if the part carries a bias"
#endif
#if !defined(TILE_TOKENS) || !defined(SLICES)
#error "TILE_TOKENS: 32 or 64; SLICES: of the group"
#endif

#define TOKENS TILE_TOKENS
#define ROWS 64
#define SQUARES 128 // invocations of a slice
#define OWN (TOKENS * ROWS / 4 / SQUARES) // tokens of an invocation
#define TOKEN_STEP uint(TOKENS / OWN)
#define ROW_STEP uint(ROWS / 4)
#define TILE_WORDS 8u  // of a row in a tile
#define STEP_BLOCKS 2u // of 32 columns
#define HALF_UNIT 16.0
#define X_LOADS (TOKENS * 8 / SQUARES)
#define SLICE_SIZE uint((TOKENS + ROWS) * 8)

#if SLICES == 1
layout(local_size_x = 128) in;
#elif SLICES == 2
layout(local_size_x = 256) in;
#else
layout(local_size_x = 384) in;
#endif

layout(std430, binding = 0) restrict buffer Y { float y[]; };
layout(std430, binding = 1) restrict readonly buffer X { vec4 x[]; };

#include "lib/quant.glsl"

layout(std140, binding = 0) uniform Params
{
    uint n_rows, n_block, x_stride, y_stride;
    uint y_begin, bias;
    float scale;
} params;

shared uvec4 tiles[uint(SLICES) * SLICE_SIZE];

// Words lie at a place that depends on their row, so that invocations on neighbouring rows hit
// different banks.
uint tile_index(uint row, uint word)
{
    return row * TILE_WORDS + (word ^ (row & 7u));
}

//-- the next tiles, on their way to shared memory ---------------------------------------------------

struct Stage {
    vec4 x[2 * X_LOADS];
    QuantBlock w;
};

// Blocks past the last are the last.
void load_stage(out Stage stage, uint lane, uint token_begin, uint step)
{
    for (int i = 0; i < X_LOADS; i++) {
        uint e = lane + uint(i * SQUARES);
        uint token = min(token_begin + e / TILE_WORDS, state.n_tokens - 1u);
        uint word = min(step * TILE_WORDS + e % TILE_WORDS, params.n_block * 4u - 1u);
        uint at = token * (params.x_stride / 4u) + 2u * word;
        stage.x[2 * i] = x[at];
        stage.x[2 * i + 1] = x[at + 1u];
    }
    uint row = min(gl_WorkGroupID.x * uint(ROWS) + lane % uint(ROWS), params.n_rows - 1u);
    uint block = min(step * STEP_BLOCKS + lane / uint(ROWS), params.n_block - 1u);
    stage.w = quant_load(row / TILE_ROWS, block, params.n_block, row % TILE_ROWS);
}

// a and b are elements 8 i ... and 8 i + 4 ...
uvec4 pack_word(vec4 a, vec4 b)
{
    return uvec4(packHalf2x16(vec2(a.x, b.x)), packHalf2x16(vec2(a.y, b.y)),
                 packHalf2x16(vec2(a.z, b.z)), packHalf2x16(vec2(a.w, b.w)));
}

// An invocation unpacks a block of a row: its words are first ... first + 3 of the tile's row.
void store_block(QuantBlock w, uint base, uint row, uint first, bool is_there)
{
    vec4 v[8];
    quant_unpack(w, v);
    for (int i = 0; i < 4; i++) {
        uvec4 word = pack_word(v[2 * i], v[2 * i + 1]);
        tiles[base + tile_index(row, first + uint(i))] = is_there ? word : uvec4(0u);
    }
}

void store_stage(Stage stage, uint base, uint lane, uint step)
{
    for (int i = 0; i < X_LOADS; i++) {
        uint e = lane + uint(i * SQUARES);
        vec4 a = stage.x[2 * i] * (1.0 / HALF_UNIT), b = stage.x[2 * i + 1] * (1.0 / HALF_UNIT);
        uvec4 word = pack_word(a, b);
        tiles[base + tile_index(e / TILE_WORDS, e % TILE_WORDS)] = word;
    }
    uint half_step = lane / uint(ROWS);
    store_block(stage.w, base + uint(TOKENS) * TILE_WORDS, lane % uint(ROWS), 4u * half_step,
                step * STEP_BLOCKS + half_step < params.n_block);
}

//-- products --------------------------------------------------------------------------------------

// The built-in function alone would be worked out in 32 bits.
mediump vec2 half_pair(highp uint bits)
{
    mediump vec2 pair = unpackHalf2x16(bits);
    return pair;
}

#define ADD_PRODUCTS(sum, wx, wy, wz, ww)                                                          \
    sum += ax * wx;                                                                                \
    sum += ay * wy;                                                                                \
    sum += az * wz;                                                                                \
    sum += aw * ww;

#define MULTIPLY_TOKEN(i, s0, s1, s2, s3)                                                          \
    {                                                                                              \
        uvec4 a = tiles[x_at + uint(i) * TOKEN_STEP * TILE_WORDS];                                 \
        mediump vec2 ax = half_pair(a.x), ay = half_pair(a.y);                                     \
        mediump vec2 az = half_pair(a.z), aw = half_pair(a.w);                                     \
        ADD_PRODUCTS(s0, w0x, w0y, w0z, w0w)                                                       \
        ADD_PRODUCTS(s1, w1x, w1y, w1z, w1w)                                                       \
        ADD_PRODUCTS(s2, w2x, w2y, w2z, w2w)                                                       \
        ADD_PRODUCTS(s3, w3x, w3y, w3z, w3w)                                                       \
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

#define MULTIPLY_WORD(word)                                                                        \
    {                                                                                              \
        uint x_at = x_begin + (word ^ x_turn), w_at = w_begin + (word ^ w_turn);                   \
        uvec4 b0 = tiles[w_at];                                                                    \
        mediump vec2 w0x = half_pair(b0.x), w0y = half_pair(b0.y);                                 \
        mediump vec2 w0z = half_pair(b0.z), w0w = half_pair(b0.w);                                 \
        uvec4 b1 = tiles[w_at + 1u * ROW_STEP * TILE_WORDS];                                       \
        mediump vec2 w1x = half_pair(b1.x), w1y = half_pair(b1.y);                                 \
        mediump vec2 w1z = half_pair(b1.z), w1w = half_pair(b1.w);                                 \
        uvec4 b2 = tiles[w_at + 2u * ROW_STEP * TILE_WORDS];                                       \
        mediump vec2 w2x = half_pair(b2.x), w2y = half_pair(b2.y);                                 \
        mediump vec2 w2z = half_pair(b2.z), w2w = half_pair(b2.w);                                 \
        uvec4 b3 = tiles[w_at + 3u * ROW_STEP * TILE_WORDS];                                       \
        mediump vec2 w3x = half_pair(b3.x), w3y = half_pair(b3.y);                                 \
        mediump vec2 w3z = half_pair(b3.z), w3w = half_pair(b3.w);                                 \
        EACH_TOKEN(MULTIPLY_TOKEN)                                                                 \
    }

#define DECLARE_SUMS(i, s0, s1, s2, s3)                                                            \
    mediump vec2 s0 = vec2(0.0), s1 = vec2(0.0), s2 = vec2(0.0), s3 = vec2(0.0);
#define ADD_TOTAL(i, s0, s1, s2, s3)                                                               \
    total[i] += vec4(s0.x, s1.x, s2.x, s3.x);                                                      \
    total[i] += vec4(s0.y, s1.y, s2.y, s3.y);

//-- results ---------------------------------------------------------------------------------------

void write_results(uint token, uint row, vec4 sum)
{
    row += gl_WorkGroupID.x * uint(ROWS);
    for (uint i = 0u; i < 4u; i++) {
        uint at = row + ROW_STEP * i;
        if (token < state.n_tokens && at < params.n_rows) {
            float value = sum[i] * HALF_UNIT;
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

#if SLICES > 1
void add_slices(uint slice, uint square, inout vec4 total[OWN])
{
    for (uint from = 1u; from < uint(SLICES); from++) {
        barrier();
        for (int i = 0; i < OWN; i++) {
            if (slice == from) {
                tiles[uint(i * SQUARES) + square] = floatBitsToUint(total[i]);
            }
        }
        barrier();
        for (int i = 0; i < OWN; i++) {
            if (slice == 0u) {
                total[i] += uintBitsToFloat(tiles[uint(i * SQUARES) + square]);
            }
        }
    }
}
#endif

void main()
{
    uint token_begin = gl_WorkGroupID.y * uint(TOKENS);
    uint slice = gl_LocalInvocationID.x / uint(SQUARES);
    uint square = gl_LocalInvocationID.x % uint(SQUARES);
    uint row = square / 32u % 2u * 8u + square % 8u;
    uint token = square / 64u * 4u + square / 8u % 4u;
    uint base = slice * SLICE_SIZE;
    uint x_begin = base + token * TILE_WORDS, x_turn = token & 7u;
    uint w_begin = base + (uint(TOKENS) + row) * TILE_WORDS, w_turn = row & 7u;

    vec4 total[OWN];
    for (int i = 0; i < OWN; i++) {
        total[i] = vec4(0.0);
    }
    uint n_step = (params.n_block + STEP_BLOCKS - 1u) / STEP_BLOCKS;
    Stage stage;
    load_stage(stage, square, token_begin, slice);
    for (uint i = slice; i < n_step + slice; i += uint(SLICES)) {
        store_stage(stage, base, square, i);
        barrier();
        load_stage(stage, square, token_begin, i + uint(SLICES));
        EACH_TOKEN(DECLARE_SUMS)
        MULTIPLY_WORD(0u)
        MULTIPLY_WORD(1u)
        MULTIPLY_WORD(2u)
        MULTIPLY_WORD(3u)
        MULTIPLY_WORD(4u)
        MULTIPLY_WORD(5u)
        MULTIPLY_WORD(6u)
        MULTIPLY_WORD(7u)
        EACH_TOKEN(ADD_TOTAL)
        barrier();
    }
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
