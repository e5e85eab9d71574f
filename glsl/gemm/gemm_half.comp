// The product of gemm_wide.comp with its products in f16 (mediump, where that is f16 and fast). The
// same Params; x are rows as gemm/half_rows.glsl lays them out.
//
// A group owns TILE_TOKENS tokens by GROUP_ROWS rows. Its SLICES slices take the steps of 64 columns in
// turn; their sums are added in the order of the slices at the end. Both operands lie in shared
// memory by pairs of columns, four tokens or rows to a word of 16 bytes, so that a pair of halves
// is multiplied by a pair of halves and none is broadcast: 3 shared loads for 32 pairs of
// multiply-adds. With BY_WORDS weights are unpacked by eight columns of four rows and stored at
// once; other types are unpacked by 32 columns of a row and stored in two passes, by rows and then
// transposed. Sums of pairs are added to f32 after each step, that is after 32 products, times the
// scale of x.
//
// With EXPERTS 1 the rows of x are sorted by expert (gemm/expert_tile.glsl), each expert's from a
// multiple of four on. A warp then owns 16 tokens by 64 rows and leaves out the products if none of
// its tokens is there, since most experts end within a tile: on average 8 tokens are worked out for
// nothing in place of 32.
//
// Every half that is multiplied has a name of its own: members of structures are slower.
#include "lib/common.glsl"
#include "lib/first_group.glsl"
#define HALF 1
#include "gemm/half_rows.glsl"
#undef HALF
#include "lib/half_pair.glsl"
#include "lib/step_state.glsl"

#if !defined(HAS_BIAS) || !defined(TILE_TOKENS) || !defined(GROUP_ROWS) || !defined(SLICES) ||      \
    !defined(BY_WORDS)
#error "HAS_BIAS; TILE_TOKENS: 64 or 128; GROUP_ROWS: 32 or 64; SLICES: of the group; BY_WORDS: 1 for types with QUANT_WORDS"
#endif

#ifndef EXPERTS
#define EXPERTS 0
#endif

#define WORDS BY_WORDS // of quant/quant.glsl
#define TOKENS TILE_TOKENS
#define ROWS GROUP_ROWS
#define SQUARES (TOKENS * ROWS / 32) // invocations of a slice, with 8 tokens by 4 rows each
#define PAIRS 32                     // of columns in a step
#define UNPACKERS uint(ROWS * 2)     // invocations of a slice with weights to unpack
#define X_TURNS (64 / ROWS)
#define STEP_BLOCKS 2u
#define X_QUADS uint(TOKENS / 4)
#define W_QUADS uint(ROWS / 4)
#define X_SIZE uint(PAIRS * TOKENS / 4)
#define SLICE_SIZE uint(PAIRS * (TOKENS + ROWS) / 4)
#define ROW_WORDS 8u // of a row in a step
#if EXPERTS
#define SECOND_QUAD 2u // of an invocation's tokens, after the first
#else
#define SECOND_QUAD (X_QUADS / 2u)
#endif

#if SQUARES * SLICES == 128
layout(local_size_x = 128) in;
#else
layout(local_size_x = 256) in;
#endif

layout(std430, binding = 0) restrict buffer Y { vec4 y[]; };
layout(std430, binding = 1) restrict readonly buffer X { uvec4 x[]; };

#include "quant/quant.glsl"

#include "params/gemm.glsl"

#include "gemm/expert_tile.glsl"

shared uvec4 tiles[uint(SLICES) * SLICE_SIZE]; // of a slice: (pair, quad of tokens), (pair, quad of
                                               // rows)

// Stores a word of each of four tokens or rows as four pairs of columns of a tile.
#define STORE_TURNED(at, stride, r0, r1, r2, r3)                                                   \
    tiles[at] = uvec4(r0.x, r1.x, r2.x, r3.x);                                                     \
    tiles[at + stride] = uvec4(r0.y, r1.y, r2.y, r3.y);                                            \
    tiles[at + 2u * stride] = uvec4(r0.z, r1.z, r2.z, r3.z);                                       \
    tiles[at + 3u * stride] = uvec4(r0.w, r1.w, r2.w, r3.w);

//-- weights -----------------------------------------------------------------------------------------

#if QUANT_WORDS
#define Weights QuantWords

// Prefetches: invocation `square` unpacks word square / W_QUADS of four rows. Steps past the last
// are read as the last.
QuantWords load_weights(uint square, uint step)
{
    uint row = min((gl_WorkGroupID.x + first_group) * uint(ROWS) + square % W_QUADS * 4u, params.n_rows - 4u);
    row += FIRST_ROW;
    uint word = square / W_QUADS % ROW_WORDS;
    uint block = min(STEP_BLOCKS * step + word / 4u, params.n_block - 1u);
    return quant_load_words(row / TILE_ROWS, block, params.n_block, row % TILE_ROWS, word % 4u);
}

// Needs a barrier before it: the one at the end of a step.
void store_weights(QuantWords w, uint slice, uint square)
{
    uint word = square / W_QUADS, quad = square % W_QUADS;
    uint to = slice * SLICE_SIZE + X_SIZE + 4u * word * W_QUADS + quad;
    if (square < UNPACKERS) {
        uvec4 p[4];
        quant_half_words(w, p);
        STORE_TURNED(to, W_QUADS, p[0], p[1], p[2], p[3])
    }
}
#else
#define Weights QuantBlock
#define ROWS_SIZE uint(ROWS * 8)

shared uvec4 rows[uint(SLICES) * ROWS_SIZE]; // of a slice: (row, word)

// Permutes the words of a row by its number, so that neighbours access different banks: those that
// write a word of every fourth row, and those that read one of every row.
uint row_word(uint row, uint word)
{
    return row * ROW_WORDS + (word ^ (row / 4u & 7u));
}

// Invocation `square` unpacks block square / ROWS of this row of the tile.
uint unpacked_row(uint square)
{
    return square % 8u * 4u + square / 8u % 4u + square / 32u % uint(ROWS / 32) * 32u;
}

// Steps past the last are read as the last.
QuantBlock load_weights(uint square, uint step)
{
    uint row = min((gl_WorkGroupID.x + first_group) * uint(ROWS) + unpacked_row(square), params.n_rows - 1u);
    row += FIRST_ROW;
    uint block = min(STEP_BLOCKS * step + square / uint(ROWS) % STEP_BLOCKS, params.n_block - 1u);
    return quant_load(row / TILE_ROWS, block, params.n_block, row % TILE_ROWS);
}

uvec4 unpacked_word(QuantBlock w, int k)
{
    return pack_word(quant_quad(w, 2 * k), quant_quad(w, 2 * k + 1));
}

void store_rows(QuantBlock w, uint slice, uint square)
{
    uint begin = slice * ROWS_SIZE, row = unpacked_row(square), word = square / uint(ROWS) * 4u;
    if (square < UNPACKERS) {
        rows[begin + row_word(row, word)] = unpacked_word(w, 0);
        rows[begin + row_word(row, word + 1u)] = unpacked_word(w, 1);
        rows[begin + row_word(row, word + 2u)] = unpacked_word(w, 2);
        rows[begin + row_word(row, word + 3u)] = unpacked_word(w, 3);
    }
}

void turn_rows(uint slice, uint square)
{
    uint word = square / W_QUADS, quad = square % W_QUADS;
    uint from = slice * ROWS_SIZE + row_word(4u * quad, word);
    uint to = slice * SLICE_SIZE + X_SIZE + 4u * word * W_QUADS + quad;
    if (square < UNPACKERS) {
        uvec4 a = rows[from], b = rows[from + ROW_WORDS];
        uvec4 c = rows[from + 2u * ROW_WORDS], d = rows[from + 3u * ROW_WORDS];
        STORE_TURNED(to, W_QUADS, a, b, c, d)
    }
}

// The barrier also ends the reads of the step before.
void store_weights(QuantBlock w, uint slice, uint square)
{
    store_rows(w, slice, square);
    barrier();
    turn_rows(slice, square);
}
#endif

//-- products ----------------------------------------------------------------------------------------

#define MULTIPLY_TOKEN(bits, s0, s1, s2, s3)                                                       \
    {                                                                                              \
        mediump vec2 p = half_pair(bits);                                                          \
        s0 += p * w0;                                                                              \
        s1 += p * w1;                                                                              \
        s2 += p * w2;                                                                              \
        s3 += p * w3;                                                                              \
    }
#define MULTIPLY_PAIR(k)                                                                           \
    {                                                                                              \
        uvec4 a = tiles[x_at + uint(k) * X_QUADS];                                                 \
        uvec4 b = tiles[x_at + uint(k) * X_QUADS + SECOND_QUAD];                                   \
        uvec4 c = tiles[w_at + uint(k) * W_QUADS];                                                 \
        mediump vec2 w0 = half_pair(c.x), w1 = half_pair(c.y);                                     \
        mediump vec2 w2 = half_pair(c.z), w3 = half_pair(c.w);                                     \
        MULTIPLY_TOKEN(a.x, s00, s01, s02, s03)                                                    \
        MULTIPLY_TOKEN(a.y, s10, s11, s12, s13)                                                    \
        MULTIPLY_TOKEN(a.z, s20, s21, s22, s23)                                                    \
        MULTIPLY_TOKEN(a.w, s30, s31, s32, s33)                                                    \
        MULTIPLY_TOKEN(b.x, s40, s41, s42, s43)                                                    \
        MULTIPLY_TOKEN(b.y, s50, s51, s52, s53)                                                    \
        MULTIPLY_TOKEN(b.z, s60, s61, s62, s63)                                                    \
        MULTIPLY_TOKEN(b.w, s70, s71, s72, s73)                                                    \
    }
#define MULTIPLY_WORD(k)                                                                           \
    MULTIPLY_PAIR(4 * k)                                                                           \
    MULTIPLY_PAIR(4 * k + 1)                                                                       \
    MULTIPLY_PAIR(4 * k + 2)                                                                       \
    MULTIPLY_PAIR(4 * k + 3)

#define EACH_TOKEN(DO)                                                                             \
    DO(0, f.x, total0, s00, s01, s02, s03)                                                         \
    DO(1, f.y, total1, s10, s11, s12, s13)                                                         \
    DO(2, f.z, total2, s20, s21, s22, s23)                                                         \
    DO(3, f.w, total3, s30, s31, s32, s33)                                                         \
    DO(4, g.x, total4, s40, s41, s42, s43)                                                         \
    DO(5, g.y, total5, s50, s51, s52, s53)                                                         \
    DO(6, g.z, total6, s60, s61, s62, s63)                                                         \
    DO(7, g.w, total7, s70, s71, s72, s73)

#define DECLARE_TOTAL(i, factor, total, s0, s1, s2, s3) vec4 total = vec4(0.0);
#define DECLARE_SUMS(i, factor, total, s0, s1, s2, s3)                                             \
    mediump vec2 s0 = vec2(0.0), s1 = vec2(0.0), s2 = vec2(0.0), s3 = vec2(0.0);
// Multiplying one factor at a time converts the halves to highp before they are added.
#define ADD_SUMS(i, factor, total, s0, s1, s2, s3)                                                 \
    total += factor * vec4(s0.x, s1.x, s2.x, s3.x);                                                \
    total += factor * vec4(s0.y, s1.y, s2.y, s3.y);

//-- results -----------------------------------------------------------------------------------------

void write_result(uint token, uint row, vec4 value)
{
    row += (gl_WorkGroupID.x + first_group) * uint(ROWS);
    if (token < TOKEN_END && row < params.n_rows) {
#if HAS_BIAS
        uint at = params.bias + FIRST_ROW + row;
        value += uintBitsToFloat(uvec4(aux_at(at), aux_at(at + 1u), aux_at(at + 2u), aux_at(at + 3u)));
#endif
        uint place = ((token - TOKEN_SHIFT) * params.y_stride + params.y_begin + row) / 4u;
        if (params.is_added != 0u) {
            value = y[place] + params.scale * value;
        }
        y[place] = value;
    }
}

#define WRITE_RESULT(i, factor, total, s0, s1, s2, s3)                                             \
    write_result(token_begin + 4u * (token + uint(i / 4) * SECOND_QUAD) + uint(i % 4), 4u * row, total);
#define GIVE_TOTAL(i, factor, total, s0, s1, s2, s3)                                               \
    tiles[uint(i * SQUARES) + square] = floatBitsToUint(total);
#define TAKE_TOTAL(i, factor, total, s0, s1, s2, s3)                                               \
    total += uintBitsToFloat(tiles[uint(i * SQUARES) + square]);

// Returns the place of a quad of tokens in a step of x.
uint quad_place(uint quad, uint step, uint n_step)
{
    return X_BEGIN + half_tile(4u * quad, step, n_step) + quad % HALF_QUADS_OF_TOKENS;
}

void main()
{
#if EXPERTS
    open_product(uintBitsToFloat(x[PRODUCT_TILE]));
#endif
#if SLICES == 1
    const uint slice = 0u;
    uint square = gl_LocalInvocationID.x;
#else
    uint slice = gl_LocalInvocationID.x / uint(SQUARES);
    uint square = gl_LocalInvocationID.x % uint(SQUARES);
#endif
    // A warp of 32 takes 4 quads of tokens, twice, by 8 of rows; with EXPERTS 2 by 16.
#if EXPERTS
    uint row = square % W_QUADS, token = square / 32u * 4u + square / W_QUADS % 2u;
#else
    uint row = square / 32u % (W_QUADS / 8u) * 8u + square % 8u;
    uint token = square / (4u * W_QUADS) * 4u + square / 8u % 4u;
#endif
    uint x_at = slice * SLICE_SIZE + token, w_at = slice * SLICE_SIZE + X_SIZE + row;
    uint token_begin = FIRST_TOKEN(uint(TOKENS));
    uint n_step = (params.n_block + STEP_BLOCKS - 1u) / STEP_BLOCKS;
    // An invocation stages X_TURNS words of x of each of four tokens.
    uint x_word = square / X_QUADS, x_quad = square % X_QUADS;
    uint x_to = slice * SLICE_SIZE + 4u * x_word * X_QUADS + x_quad;
#if EXPERTS
    // Quads past the last are read as the last: a tile may reach over two of x.
    uint last_quad = (TOKEN_END - 1u) / 4u, quad = token_begin / 4u + token;
    uint x_from = quad_place(min(token_begin / 4u + x_quad, last_quad), slice, n_step) + x_word * 32u;
    uint scale_at = quad_place(min(quad, last_quad), slice, n_step) + HALF_SCALES;
    uint second_scale = quad_place(min(quad + SECOND_QUAD, last_quad), slice, n_step) + HALF_SCALES - scale_at;
    uint step_end = BLOCK_END > 0u ? n_step : 0u;
    bool is_there = token_begin + square / 32u * 16u < TOKEN_END;
#else
    uint first_quad = token_begin / 4u, step_end = n_step;
    uint x_from = quad_place(first_quad, min(slice, n_step - 1u), n_step) + x_word * 32u + x_quad;
    uint scale_at = quad_place(first_quad, slice, n_step) + HALF_SCALES + token;
    const uint second_scale = SECOND_QUAD;
    const bool is_there = true;
#endif

    EACH_TOKEN(DECLARE_TOTAL)
    Weights w = load_weights(square, slice);
    uvec4 x0 = x[x_from], x1 = x[x_from + 256u], x2 = x[x_from + 512u], x3 = x[x_from + 768u];
#if X_TURNS == 2
    uvec4 x4 = x[x_from + 128u], x5 = x[x_from + 384u], x6 = x[x_from + 640u], x7 = x[x_from + 896u];
#endif
    for (uint step = slice; step < step_end + slice; step += uint(SLICES)) {
        store_weights(w, slice, square);
        STORE_TURNED(x_to, X_QUADS, x0, x1, x2, x3)
#if X_TURNS == 2
        STORE_TURNED(x_to + X_SIZE / 2u, X_QUADS, x4, x5, x6, x7)
#endif
        barrier();
        uint next = step + uint(SLICES);
        x_from += next < n_step ? uint(SLICES) * HALF_TILE : 0u;
        w = load_weights(square, next);
        x0 = x[x_from];
        x1 = x[x_from + 256u];
        x2 = x[x_from + 512u];
        x3 = x[x_from + 768u];
#if X_TURNS == 2
        x4 = x[x_from + 128u];
        x5 = x[x_from + 384u];
        x6 = x[x_from + 640u];
        x7 = x[x_from + 896u];
#endif
        if (is_there) {
            EACH_TOKEN(DECLARE_SUMS)
            MULTIPLY_WORD(0)
            MULTIPLY_WORD(1)
            MULTIPLY_WORD(2)
            MULTIPLY_WORD(3)
            MULTIPLY_WORD(4)
            MULTIPLY_WORD(5)
            MULTIPLY_WORD(6)
            MULTIPLY_WORD(7)
#if SLICES == 1
            vec4 f = uintBitsToFloat(x[scale_at]), g = uintBitsToFloat(x[scale_at + second_scale]);
#else
            vec4 f = vec4(0.0), g = vec4(0.0);
            if (step < n_step) {
                f = uintBitsToFloat(x[scale_at]);
                g = uintBitsToFloat(x[scale_at + second_scale]);
            }
#endif
            EACH_TOKEN(ADD_SUMS)
        }
        scale_at += uint(SLICES) * HALF_TILE;
#if QUANT_WORDS
        barrier();
#endif
    }
#if SLICES > 1
    for (uint from = 1u; from < uint(SLICES); from++) {
        barrier();
        if (slice == from) {
            EACH_TOKEN(GIVE_TOTAL)
        }
        barrier();
        if (slice == 0u) {
            EACH_TOKEN(TAKE_TOTAL)
        }
    }
    if (slice != 0u) {
        return;
    }
#endif
    EACH_TOKEN(WRITE_RESULT)
}
