// gemv_batch.comp in f16: y[m] = W x[m] + bias, or y[m] += scale * (W x[m] + bias), for few tokens;
// x are rows as gemm/half_rows.glsl lays them out in tiles of 8 tokens.
//
// A group owns 8 tokens, and each of its clusters of 256 invocations two tiles of rows. They share
// x, since groups that all read the same few lines queue. An invocation owns row r of each tile and
// every 32nd step of 64 columns. It unpacks eight columns of its rows at a time into pairs of
// halves, which all tokens share; sums of pairs are added to f32 after each step, that is after 32
// products, times the scale of x. Sums of slices meet in shuffles, then in shared memory.
#include "lib/common.glsl"
#ifndef CLUSTERS
#error "CLUSTERS of 256 invocations: 1 or 2"
#endif
#define SLICES 32 // of k
#if CLUSTERS == 1 // a layout takes a literal only
#define WG_SIZE 256
#else
#define WG_SIZE 512
#endif
#include "lib/first_group.glsl"
#include "lib/group.glsl"
#define HALF 2
#include "gemm/half_rows.glsl"
#undef HALF
#include "lib/half_pair.glsl"
#define HALF_WORDS 1
#include "gemm/product.glsl"

#define TOKENS 8
#define ROWS 16 // of a cluster
#define SUBGROUPS (SLICES / 4) // of a cluster

shared float partial[CLUSTERS * SUBGROUPS * TOKENS * ROWS];
shared uvec4 x_steps[SLICES * 66]; // a tile of x each

#if !QUANT_HALF_WORD
uvec4 quant_half_word(QuantBlock w, int k)
{
    vec4 a = quant_quad(w, 2 * k), b = quant_quad(w, 2 * k + 1);
    return uvec4(packHalf2x16(vec2(a.x, b.x)), packHalf2x16(vec2(a.y, b.y)),
                 packHalf2x16(vec2(a.z, b.z)), packHalf2x16(vec2(a.w, b.w)));
}
#endif

// DO(token, its scale, sums of pairs of both rows): every half has a name of its own, as in
// gemm/gemm_half.comp.
#define EACH_TOKEN(DO)                                                                             \
    DO(0, f.x, s00, s01)                                                                   \
    DO(1, f.y, s10, s11)                                                                   \
    DO(2, f.z, s20, s21)                                                                   \
    DO(3, f.w, s30, s31)                                                                   \
    DO(4, g.x, s40, s41)                                                                   \
    DO(5, g.y, s50, s51)                                                                   \
    DO(6, g.z, s60, s61)                                                                   \
    DO(7, g.w, s70, s71)
#define DECLARE_SUMS(i, factor, s0, s1) mediump vec2 s0 = vec2(0.0), s1 = vec2(0.0);
#define SHARE_SUMS(i, factor, s0, s1)                                                              \
    {                                                                                              \
        vec2 sum = factor * vec2(s0.x, s1.x);                                                      \
        sum += factor * vec2(s0.y, s1.y);                                                          \
        share(lane, row, i, sum, is_first);                                                        \
    }
#define MULTIPLY_TOKEN(i, factor, s0, s1)                                                   \
    {                                                                                              \
        uvec4 a = x_steps[at + uint(i % 4 * 16 + i / 4)];                               \
        mediump vec2 q = half_pair(a.x);                                                           \
        s0 += q * w00;                                                                             \
        s1 += q * w10;                                                                             \
        q = half_pair(a.y);                                                                        \
        s0 += q * w01;                                                                             \
        s1 += q * w11;                                                                             \
        q = half_pair(a.z);                                                                        \
        s0 += q * w02;                                                                             \
        s1 += q * w12;                                                                             \
        q = half_pair(a.w);                                                                        \
        s0 += q * w03;                                                                             \
        s1 += q * w13;                                                                             \
    }
#define MULTIPLY_WORD(w0, w1, k, word)                                                        \
    {                                                                                              \
        uint at = x_at + 2u * uint(word);                                                          \
        uvec4 p = quant_half_word(w0, k);                                                          \
        mediump vec2 w00 = half_pair(p.x), w01 = half_pair(p.y);                                   \
        mediump vec2 w02 = half_pair(p.z), w03 = half_pair(p.w);                                   \
        p = quant_half_word(w1, k);                                                                \
        mediump vec2 w10 = half_pair(p.x), w11 = half_pair(p.y);                                   \
        mediump vec2 w12 = half_pair(p.z), w13 = half_pair(p.w);                                   \
        EACH_TOKEN(MULTIPLY_TOKEN)                                                                 \
    }
#define LOAD_STEP                                                                                  \
    QuantBlock a0 = load(tile, block, row), a1 = load(tile + 1u, block, row);                      \
    QuantBlock b0 = load(tile, block + 1u, row), b1 = load(tile + 1u, block + 1u, row);
#define MULTIPLY_STEP                                                                              \
    MULTIPLY_BLOCK(a0, a1, 0)                                                                      \
    MULTIPLY_BLOCK(b0, b1, 4)
#define MULTIPLY_BLOCK(w0, w1, word)                                                               \
    MULTIPLY_WORD(w0, w1, 0, word)                                                                 \
    MULTIPLY_WORD(w0, w1, 1, word + 1)                                                             \
    MULTIPLY_WORD(w0, w1, 2, word + 2)                                                             \
    MULTIPLY_WORD(w0, w1, 3, word + 3)
// Tiles and blocks past the last are read as the last.
QuantBlock load(uint tile, uint block, uint row)
{
    tile = min(tile, params.n_rows / TILE_ROWS - 1u);
    return quant_load(tile, min(block, params.n_block - 1u), params.n_block, row);
}

// Adds the sums of a subgroup's slices to its partial results.
void share(uint lane, uint row, int token, vec2 value, bool is_first)
{
    value += subgroupShuffleXor(value, 8u);
    value += subgroupShuffleXor(value, 16u);
    if (lane % 32u < 8u) {
        uint at = (lane / 32u * uint(TOKENS) + uint(token)) * uint(ROWS) + row;
        vec2 before = is_first ? vec2(0.0) : vec2(partial[at], partial[at + 8u]);
        partial[at] = before.x + value.x;
        partial[at + 8u] = before.y + value.y;
    }
}

// Copies the tiles of x of steps first, first + 1, ...
void stage(uint lane, uint first_token, uint first, uint n_step)
{
    uint n = min(uint(SLICES), n_step - first) * HALF_TILE;
    uint from = half_tile(first_token, first, n_step);
    for (uint i = lane; i < n; i += uint(WG_SIZE)) {
        x_steps[i] = floatBitsToUint(x[from + i]);
    }
}

void write_results(uint lane, uint first_token, uint first_row)
{
    for (uint i = lane; i < uint(TOKENS * ROWS * CLUSTERS); i += uint(WG_SIZE)) {
        uint cluster = i / uint(TOKENS * ROWS), at = i % uint(TOKENS * ROWS);
        uint token = first_token + at / uint(ROWS);
        uint row = first_row + cluster * uint(ROWS) + at % uint(ROWS);
        if (token < state.n_tokens && row < params.n_rows) {
            float value = 0.0;
            for (uint n = 0u; n < uint(SUBGROUPS); n++) {
                value += partial[(cluster * uint(SUBGROUPS) + n) * uint(TOKENS * ROWS) + at];
            }
            write_product(token, row, value);
        }
    }
}

void main()
{
    uint lane = gl_LocalInvocationID.x, row = lane % 8u, slice = lane / 8u % uint(SLICES);
    uint first_token = gl_WorkGroupID.x * uint(TOKENS);
    uint first_tile = (gl_WorkGroupID.y + first_group) * uint(2 * CLUSTERS);
    uint tile = first_tile + lane / uint(8 * SLICES) * 2u;
    uint n_step = (params.n_block + 1u) / 2u;
    for (uint first = 0u; first < n_step; first += uint(SLICES)) {
        uint own = min(slice, n_step - first - 1u), x_at = own * HALF_TILE;
        uint block = 2u * (first + own);
        float is_there = first + slice < n_step ? 1.0 : 0.0;
        bool is_first = first == 0u;
        LOAD_STEP
        barrier();
        stage(lane, first_token, first, n_step);
        group_barrier();
        EACH_TOKEN(DECLARE_SUMS)
        MULTIPLY_STEP
        vec4 f = is_there * uintBitsToFloat(x_steps[x_at + HALF_SCALES]);
        vec4 g = is_there * uintBitsToFloat(x_steps[x_at + HALF_SCALES + 1u]);
        EACH_TOKEN(SHARE_SUMS)
    }
    group_barrier();
    write_results(lane, first_token, first_tile * TILE_ROWS);
}
