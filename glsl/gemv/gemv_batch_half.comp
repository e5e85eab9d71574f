// gemv_batch.comp in f16: y[m] = W x[m] + bias, or with is_added y[m] += scale * (W x[m] + bias),
// for few tokens. x_form 0: x are rows as gemm/half_rows.glsl lays them out in tiles of 8 tokens; 1: rows
// in f32; 2: rows in f32 that are to be normed, with x / sqrt(mean(x^2) + eps) * gamma in place of x.
//
// A group owns 8 tokens. Each of its clusters of 8 n_slice invocations owns n_set times two tiles of rows:
// narrow clusters side by side where the group has many. Clusters share x, since groups that all read the
// same few lines queue. An invocation owns one row in each tile and every n_slice-th step of 64 columns.
// It takes a block at a time and loads the next block before it multiplies. It unpacks eight columns of
// its rows into pairs of halves, which all tokens share. Sums of pairs are converted to f32 after each
// step, that is after 32 products, times the scale of x. Sums of slices of k are added by shuffles, after
// which an invocation holds two tokens, then in shared memory. That takes 1,056 bytes a step and 544 a
// subgroup.
//
// Each group converts rows in f32 to tiles while it stages them. It multiplies the result by 1 / rms, not
// x: each row of a tile has a scale of its own, so x keeps its precision. One program serves all forms of
// x, so that it stays in the instruction cache from one product to the next.
#include "lib/common.glsl"
#if !defined(STEPS) || !defined(MOST_TOKENS)
#error "WG_SIZE: 8 STEPS or twice as much; STEPS at a time, 16 or 32; MOST_TOKENS of a group: 2, 4 or 8"
#endif
#define PIPELINED 1 // scales are unpacked where they are used
#include "lib/first_group.glsl"
#include "lib/group.glsl"
#define HALF 2
#include "gemm/half_rows.glsl"
#undef HALF
#include "lib/half_pair.glsl"
#define SUBGROUP 32
#include "lib/lanes.glsl"
#define HALF_WORDS 1
#define ADD 0
#include "gemm/product.glsl"

#define TOKENS 8u
#define SET_ROWS (2u * TILE_ROWS)
#define LOADS int((uint(STEPS) * HALF_TILE + uint(WG_SIZE) - 1u) / uint(WG_SIZE)) // of an invocation
#define RESULTS (TOKENS * TILE_ROWS) // pairs of rows of a subgroup

shared vec2 partial[uint(WG_SIZE / 32) * RESULTS]; // (cluster, subgroup, token, row)
shared uvec4 x_steps[uint(STEPS) * HALF_TILE];
shared float squares[uint(WG_SIZE / 32) * TOKENS]; // (subgroup, token)

layout(std430, binding = 4) restrict readonly buffer Vectors { vec4 vectors[]; };

#if !QUANT_HALF_WORD
uvec4 quant_half_word(QuantBlock w, int k)
{
    return pack_word(quant_quad(w, 2 * k), quant_quad(w, 2 * k + 1));
}
#endif

// DO(token, its scale, its sums, sums of pairs of both rows): every half has a name of its own, as
// in gemm/gemm_half.comp.
#define PAIR_OF_TOKENS(DO)                                                                         \
    DO(0, f.x, t0, s00, s01)                                                                       \
    DO(1, f.y, t1, s10, s11)
#define OTHER_PAIR(DO)                                                                             \
    DO(2, f.z, t2, s20, s21)                                                                       \
    DO(3, f.w, t3, s30, s31)
#if MOST_TOKENS > 2
#define LOW_TOKENS(DO) PAIR_OF_TOKENS(DO) OTHER_PAIR(DO)
#else
#define LOW_TOKENS(DO) PAIR_OF_TOKENS(DO)
#endif
#define HIGH_TOKENS(DO)                                                                            \
    DO(4, g.x, t4, s40, s41)                                                                       \
    DO(5, g.y, t5, s50, s51)                                                                       \
    DO(6, g.z, t6, s60, s61)                                                                       \
    DO(7, g.w, t7, s70, s71)
#define EACH_TOKEN(DO) PAIR_OF_TOKENS(DO) OTHER_PAIR(DO) HIGH_TOKENS(DO)
#define DECLARE_SUMS(i, factor, t, s0, s1) mediump vec2 s0 = vec2(0.0), s1 = vec2(0.0);
#define DECLARE_TOTAL(i, factor, t, s0, s1) vec2 t = vec2(0.0);
#define CLEAR_TOTAL(i, factor, t, s0, s1) t = vec2(0.0);
#define ADD_TO_TOTAL(i, factor, t, s0, s1)                                                         \
    t += factor * vec2(s0.x, s1.x);                                                                \
    t += factor * vec2(s0.y, s1.y);
#define MULTIPLY_TOKEN(i, factor, t, s0, s1)                                                       \
    {                                                                                              \
        uvec4 v = x_steps[at + uint(i % 4 * 16 + i / 4)];                                          \
        mediump vec2 q = half_pair(v.x);                                                           \
        s0 += q * w00;                                                                             \
        s1 += q * w10;                                                                             \
        q = half_pair(v.y);                                                                        \
        s0 += q * w01;                                                                             \
        s1 += q * w11;                                                                             \
        q = half_pair(v.z);                                                                        \
        s0 += q * w02;                                                                             \
        s1 += q * w12;                                                                             \
        q = half_pair(v.w);                                                                        \
        s0 += q * w03;                                                                             \
        s1 += q * w13;                                                                             \
    }
#define MULTIPLY_WORD(a, b, k)                                                                     \
    {                                                                                              \
        uint at = x_at + 2u * uint(k);                                                             \
        uvec4 p = quant_half_word(a, k);                                                           \
        mediump vec2 w00 = half_pair(p.x), w01 = half_pair(p.y);                                   \
        mediump vec2 w02 = half_pair(p.z), w03 = half_pair(p.w);                                   \
        p = quant_half_word(b, k);                                                                 \
        mediump vec2 w10 = half_pair(p.x), w11 = half_pair(p.y);                                   \
        mediump vec2 w12 = half_pair(p.z), w13 = half_pair(p.w);                                   \
        LOW_TOKENS(MULTIPLY_TOKEN)                                                                 \
        if (has_high) {                                                                            \
            HIGH_TOKENS(MULTIPLY_TOKEN)                                                            \
        }                                                                                          \
    }

// Tiles and blocks past the last are read as the last.
QuantBlock load(uint tile, uint block, uint row)
{
    tile = min(tile, params.n_rows / TILE_ROWS - 1u);
    return quant_load(tile, min(block, params.n_block - 1u), params.n_block, row);
}

// Stages tiles of x of steps first, first + 1, ..., of half the tokens unless has_high. All loads are in
// flight together.
void stage(uint index, uint first_token, uint first, uint n_step, bool has_high)
{
    uint from = half_tile(first_token, first, n_step), each = has_high ? 1u : 2u;
    uint n = min(uint(STEPS), n_step - first) * HALF_TILE / each;
    uvec4 loaded[LOADS];
    for (int k = 0; k < LOADS; k++) {
        loaded[k] = floatBitsToUint(x_quads[from + each * min(index + uint(k * WG_SIZE), n - 1u)]);
    }
    for (int k = 0; k < LOADS; k++) {
        uint i = index + uint(k * WG_SIZE);
        if (i < n) {
            x_steps[each * i] = loaded[k];
        }
    }
}

#if MOST_TOKENS > 2
#define EACH_OF_FOUR(DO) DO(0) DO(1) DO(2) DO(3)
#else
#define EACH_OF_FOUR(DO) DO(0) DO(1)
#endif
#define LOAD_TOKEN(i)                                                                              \
    {                                                                                              \
        uint from = min(token + uint(i), state.n_tokens - 1u) * (params.x_stride / 4u) + column;   \
        a[i] = x_quads[from];                                                                      \
        b[i] = x_quads[from + 1u];                                                                 \
    }
#define MEASURE_TOKEN(i)                                                                           \
    sum[i] = dot(a[i], a[i]) + dot(b[i], b[i]);                                                    \
    a[i] *= factor_a;                                                                              \
    b[i] *= factor_b;                                                                              \
    largest[i] = largest_of_word(a[i], b[i]);
#define STAGE_TOKEN(i)                                                                             \
    exponent[i] = half_exponent(largest[i]);                                                       \
    scale[i] = half_scale(exponent[i]);                                                            \
    if (is_staged) {                                                                               \
        x_steps[tile + half_place(4u * four + uint(i), word)] =                                    \
            half_word(a[i], b[i], exponent[i]);                                                    \
    }

// Stages rows in f32 of steps first, first + 1, ... as tiles, and adds up their squares if has_squares.
// Each invocation converts a word of four tokens, which are the same in all of a subgroup. All loads are
// in flight together: none may depend on a condition.
void convert(uint index, uint first_token, uint first, bool has_high, bool is_normed, bool has_squares)
{
    uint n_word = min(8u * uint(STEPS), 4u * params.n_block - 8u * first), n_padded = (n_word + 31u) & ~31u;
    uint n = (has_high ? 2u : 1u) * n_padded;
    for (uint begin = 0u; begin < n; begin += uint(WG_SIZE)) {
        uint i = begin + index, four = i >= n_padded ? 1u : 0u, word = i - four * n_padded;
        uint token = first_token + 4u * four, tile = word / 8u * HALF_TILE;
        bool is_staged = i < n, is_there = is_staged && word < n_word;
        uint column = is_there ? 2u * (8u * first + word) : 0u;
        vec4 a[4], b[4], sum = vec4(0.0), largest = vec4(0.0);
        vec4 factor_a = vectors[params.gamma / 4u + column];
        vec4 factor_b = vectors[params.gamma / 4u + column + 1u];
        EACH_OF_FOUR(LOAD_TOKEN)
        float there = is_there ? 1.0 : 0.0;
        factor_a = is_normed ? there * factor_a : vec4(there);
        factor_b = is_normed ? there * factor_b : vec4(there);
        EACH_OF_FOUR(MEASURE_TOKEN)
        largest = max_lanes(largest, 1, 8);
        uvec4 exponent = uvec4(0u), scale = uvec4(0u);
        EACH_OF_FOUR(STAGE_TOKEN)
        if (is_staged && word % 8u == 0u) {
            x_steps[tile + HALF_SCALES + four] = scale;
        }
        if (has_squares) {
            sum = sum_lanes(there * sum, 1, 32);
            if (is_staged && index % 32u == 0u) {
                uint at = index / 32u * TOKENS + 4u * four;
                squares[at] += sum.x;
                squares[at + 1u] += sum.y;
                squares[at + 2u] += sum.z;
                squares[at + 3u] += sum.w;
            }
        }
    }
}

// Adds two sums of two invocations at a distance: the one gets the first, the other the second.
vec2 share(vec2 first, vec2 second, bool is_second, uint distance)
{
    vec2 own = is_second ? second : first, given = is_second ? first : second;
    return own + subgroupShuffleXor(given, distance);
}

void write_row(uint token, uint row, float value)
{
    if (row < params.n_rows) {
        uint place = token * params.y_stride + params.y_begin + row;
        value += product_bias(row);
        y[place] = params.is_added != 0u ? y[place] + params.scale * value : value;
    }
}

// Returns 1 / rms(x) of a token of the group.
float norm_factor(uint token)
{
    float sum = 0.0;
    for (uint n = 0u; n < uint(WG_SIZE / 32); n++) {
        sum += squares[n * TOKENS + token];
    }
    return inversesqrt(sum / float(32u * params.n_block) + params.eps);
}

// Adds up the partial sums of n subgroups from `first` on. factor: norm_factor of token at / TILE_ROWS,
// or 1.
void write_results(uint first, uint n, uint at, uint first_token, uint first_row, float factor)
{
    uint token = first_token + at / TILE_ROWS, row = first_row + at % TILE_ROWS;
    if (at < RESULTS && token < state.n_tokens) {
        vec2 sum = vec2(0.0);
        for (uint i = 0u; i < n; i++) {
            sum += partial[(first + i) * RESULTS + at];
        }
        write_row(token, row, factor * sum.x);
        write_row(token, row + TILE_ROWS, factor * sum.y);
    }
}

void main()
{
    uint n_slice = params.n_slice, size = 8u * n_slice; // of a cluster
    uint index = gl_LocalInvocationID.x, cluster = index / size, lane = index % size;
    uint row = lane % TILE_ROWS, slice = lane / TILE_ROWS;
    uint first_token = gl_WorkGroupID.x * TOKENS;
    bool has_high = MOST_TOKENS > 4 && state.n_tokens - first_token > 4u, is_normed = params.x_form == 2u;
    bool is_high = (lane & 8u) != 0u, is_top = (lane & 16u) != 0u;
    uint own_token = (is_high ? 4u : 0u) + (is_top ? 2u : 0u);
    uint place = (index / 32u * TOKENS + own_token) * TILE_ROWS + row;
    uint n_step = (params.n_block + 1u) / 2u, n_turn = (n_step + uint(STEPS) - 1u) / uint(STEPS);
    uint n_round = (min(n_step, uint(STEPS)) + n_slice - 1u) / n_slice; // of slices in a turn
    uint set = ((gl_WorkGroupID.y + first_group) * (uint(WG_SIZE) / size) + cluster) * params.n_set;
    uint turn = 0u, round = 0u, block = 2u * min(slice, n_step - 1u), n = params.n_set * n_turn * n_round;
    float factor = 1.0;
    EACH_TOKEN(DECLARE_TOTAL)
    if (index < uint(WG_SIZE / 32) * TOKENS) {
        squares[index] = 0.0;
    }
    QuantBlock next0 = load(2u * set, block, row), next1 = load(2u * set + 1u, block, row);
    for (uint i = 0u; i < n; i++) {
        uint first = turn * uint(STEPS), step = first + round * n_slice + slice, first_row = set * SET_ROWS;
        uint x_begin = (min(step, n_step - 1u) - first) * HALF_TILE, x_at = x_begin;
        bool is_turn_over = round + 1u == n_round, is_last = is_turn_over && turn + 1u == n_turn;
        if (round == 0u && (i == 0u || n_turn > 1u)) {
            barrier();
            if (params.x_form == 0u) {
                stage(index, first_token, first, n_step, has_high);
            } else {
                convert(index, first_token, first, has_high, is_normed, is_normed && i < n_turn * n_round);
            }
            group_barrier();
        }
        EACH_TOKEN(DECLARE_SUMS)
        for (uint odd = 0u; odd < 2u; odd++) {
            QuantBlock a = next0, b = next1;
            block++;
            if (odd == 1u) {
                set += is_last ? 1u : 0u;
                turn = is_last ? 0u : is_turn_over ? turn + 1u : turn;
                round = is_turn_over ? 0u : round + 1u;
                block = 2u * min(turn * uint(STEPS) + round * n_slice + slice, n_step - 1u);
            }
            if (odd == 0u || i + 1u < n) {
                next0 = load(2u * set, block, row);
                next1 = load(2u * set + 1u, block, row);
            }
            quant_begin_block(odd);
            MULTIPLY_WORD(a, b, 0)
            MULTIPLY_WORD(a, b, 1)
            MULTIPLY_WORD(a, b, 2)
            MULTIPLY_WORD(a, b, 3)
            x_at += 8u;
        }
        float is_there = step < n_step ? 1.0 : 0.0;
        vec4 f = is_there * uintBitsToFloat(x_steps[x_begin + HALF_SCALES]);
        LOW_TOKENS(ADD_TO_TOTAL)
        if (has_high) {
            vec4 g = is_there * uintBitsToFloat(x_steps[x_begin + HALF_SCALES + 1u]);
            HIGH_TOKENS(ADD_TO_TOTAL)
        }
        if (is_last) {
            vec2 u0 = share(t0, t4, is_high, 8u), u1 = share(t1, t5, is_high, 8u);
            vec2 u2 = share(t2, t6, is_high, 8u), u3 = share(t3, t7, is_high, 8u);
            EACH_TOKEN(CLEAR_TOTAL)
            barrier(); // the results of the set before are read
            partial[place] = share(u0, u2, is_top, 16u);
            partial[place + TILE_ROWS] = share(u1, u3, is_top, 16u);
            group_barrier();
            if (is_normed && i < n_turn * n_round) {
                factor = norm_factor(lane / TILE_ROWS % TOKENS);
            }
            write_results(cluster * (n_slice / 4u), n_slice / 4u, lane, first_token, first_row, factor);
        }
    }
}
