// attention_wide.comp with its products in f16: mediump, where that is f16 and fast. The same Params and grid; the
// cache is f16, and the result, too (gemm/half_rows.glsl).
//
// Group (i, h) owns 32 tokens of head h, the last tokens first, and walks over the keys that its last token sees by
// tiles of 128. k lies in shared memory as the cache has it, v by pairs of keys, the weights likewise, so that
// pairs of halves meet pairs of halves. An invocation owns 2 tokens: by 8 neighbouring keys of the scores, and by 4
// of every 64 elements of the sum. Sums of pairs go into f32 after 64 elements of a head, and after 32 keys. A
// token's q is scaled by a power of two to below 2, so that keys may grow to 1000. Softmax is online, in f32: each
// tile rescales what was summed before. Shared memory: 4 KiB of q for every 64 elements of the head, 16 KiB of k or
// v, 8 KiB of weights.
//
// On an H200, 512 tokens, 32 heads of 64 on 8: 82 us where attention_wide.comp takes 124, each with the wait for a
// dispatch.
#include "lib/common.glsl"
#include "lib/exp_log.glsl"
#include "attention/kv_vec8.glsl"
#include "lib/step_state.glsl"

#ifndef HEAD_DIM
#error "HEAD_DIM, 64 or 128"
#endif

#define TOKENS 32u
#define KEYS 128u
#define LANES 16u // of a token: 8 keys, and 4 elements of a chunk, each
#define OWN_KEYS 8u
#define CHUNKS (HEAD_DIM / 64)
#define WORDS 8u // of 8 elements in a chunk
#define MASKED -3.0e38

layout(local_size_x = 256) in;

#include "gemm/half_rows_store.glsl"
layout(std430, binding = 1) restrict readonly buffer Q { vec4 q[]; };

#include "attention/params.glsl"
#include "attention/score_rule.glsl"

shared uvec4 q_tile[uint(CHUNKS) * TOKENS * WORDS]; // (chunk, token, word)
shared uvec4 kv_tile[KEYS * WORDS];                 // k: see key_word; v: (pair of keys, quad of elements)
shared uvec4 weight_tile[TOKENS * LANES];           // (token, lane): its 8 keys in pairs

void tile_barrier()
{
    memoryBarrierShared();
    barrier();
}

// Words of k lie at a place that depends on the key, so that invocations with every eighth key hit different banks.
uint key_word(uint key, uint word)
{
    return key * WORDS + (word ^ (key / OWN_KEYS & 7u));
}

// The built-in function alone would be worked out in 32 bits.
mediump vec2 half_pair(highp uint bits)
{
    mediump vec2 pair = unpackHalf2x16(bits);
    return pair;
}

// The assignment makes the halves highp before they are added.
float sum_of(mediump vec2 pair)
{
    highp vec2 p = pair;
    return p.x + p.y;
}

// What an invocation owns: tokens token and token + 1 of the group's, keys 8 lane ... of a tile, quad `quad` of
// every chunk.
struct Share {
    uint kv_head, first_token, n_key; // n_key: keys that the last token sees
    uint token, lane, quad;
};

//-- q, k and v on their way to shared memory ----------------------------------------------------------

// Elements 64 chunk ... of q, scaled; returns by what a product of the invocation's tokens is to be multiplied.
vec2 load_queries(Share share, uint head)
{
    uint id = gl_LocalInvocationID.x, row = id / WORDS, word = id % WORDS;
    uint token = min(share.first_token + row, state.n_tokens - 1u);
    uint at = token * (params.q_stride / 4u) + head * uint(HEAD_DIM / 4) + 2u * word;
    float largest = 0.0;
    for (uint chunk = 0u; chunk < uint(CHUNKS); chunk++) {
        largest = max(largest, largest_of_word(q[at + 16u * chunk], q[at + 16u * chunk + 1u]));
    }
    weight_tile[id].x = floatBitsToUint(largest);
    tile_barrier();
    for (uint i = 0u; i < WORDS; i++) {
        largest = max(largest, uintBitsToFloat(weight_tile[(id & ~7u) + i].x));
    }
    uint exponent = clamp(floatBitsToUint(largest) >> 23u, 8u, 246u);
    float factor = uintBitsToFloat((254u - exponent) << 23u);
    for (uint chunk = 0u; chunk < uint(CHUNKS); chunk++) {
        vec4 a = factor * q[at + 16u * chunk], b = factor * q[at + 16u * chunk + 1u];
        q_tile[(chunk * TOKENS + row) * WORDS + word] =
            uvec4(packHalf2x16(a.xy), packHalf2x16(a.zw), packHalf2x16(b.xy), packHalf2x16(b.zw));
    }
    tile_barrier();
    weight_tile[id].x = exponent << 23u;
    tile_barrier();
    vec2 back = uintBitsToFloat(uvec2(weight_tile[share.token * WORDS].x,
                                      weight_tile[share.token * WORDS + WORDS].x));
    tile_barrier();
    return params.scale * back;
}

struct Stage {
    uvec4 word0, word1, word2, word3;
};

uvec4 cached(uint begin, Share share, uint key, uint chunk)
{
    uint row = share.kv_head * params.n_ctx + min(key, share.n_key - 1u);
    return cache_word(begin + row * uint(HEAD_DIM / 8) + chunk * WORDS + gl_LocalInvocationID.x % WORDS);
}

// Keys past the last are the last.
void load_keys(out Stage stage, Share share, uint first_key, uint chunk)
{
    uint key = first_key + gl_LocalInvocationID.x / WORDS;
    stage.word0 = cached(params.k, share, key, chunk);
    stage.word1 = cached(params.k, share, key + 32u, chunk);
    stage.word2 = cached(params.k, share, key + 64u, chunk);
    stage.word3 = cached(params.k, share, key + 96u, chunk);
}

void store_keys(Stage stage)
{
    uint key = gl_LocalInvocationID.x / WORDS, word = gl_LocalInvocationID.x % WORDS;
    kv_tile[key_word(key, word)] = stage.word0;
    kv_tile[key_word(key + 32u, word)] = stage.word1;
    kv_tile[key_word(key + 64u, word)] = stage.word2;
    kv_tile[key_word(key + 96u, word)] = stage.word3;
}

void load_values(out Stage stage, Share share, uint first_key, uint chunk)
{
    uint key = first_key + gl_LocalInvocationID.x / WORDS * 2u;
    stage.word0 = cached(params.v, share, key, chunk);
    stage.word1 = cached(params.v, share, key + 1u, chunk);
    stage.word2 = cached(params.v, share, key + 64u, chunk);
    stage.word3 = cached(params.v, share, key + 65u, chunk);
}

// Two keys' word becomes two quads of pairs, the second 8 quads behind the first: see Share.quad.
void store_pairs(uint pair, uvec4 a, uvec4 b)
{
    uint at = pair * LANES + gl_LocalInvocationID.x % WORDS;
    uvec4 low = (a & 0xFFFFu) | (b << 16u), high = (a >> 16u) | (b & 0xFFFF0000u);
    kv_tile[at] = uvec4(low.x, high.x, low.y, high.y);
    kv_tile[at + WORDS] = uvec4(low.z, high.z, low.w, high.w);
}

void store_values(Stage stage)
{
    uint pair = gl_LocalInvocationID.x / WORDS;
    store_pairs(pair, stage.word0, stage.word1);
    store_pairs(pair + 32u, stage.word2, stage.word3);
}

//-- scores ------------------------------------------------------------------------------------------

#define MULTIPLY_KEY(i, s, t)                                                                      \
    {                                                                                              \
        uvec4 c = kv_tile[key_at + i * WORDS];                                                     \
        mediump vec2 kx = half_pair(c.x), ky = half_pair(c.y);                                     \
        mediump vec2 kz = half_pair(c.z), kw = half_pair(c.w);                                     \
        s += ax * kx;                                                                              \
        s += ay * ky;                                                                              \
        s += az * kz;                                                                              \
        s += aw * kw;                                                                              \
        t += bx * kx;                                                                              \
        t += by * ky;                                                                              \
        t += bz * kz;                                                                              \
        t += bw * kw;                                                                              \
    }

// Adds a chunk's share of q . k: of keys 0 ... 3 and 4 ... 7, of the first and of the second token.
void add_scores(Share share, uint chunk, inout vec4 low_a, inout vec4 high_a, inout vec4 low_b,
                inout vec4 high_b)
{
    mediump vec2 s0 = vec2(0.0), s1 = vec2(0.0), s2 = vec2(0.0), s3 = vec2(0.0);
    mediump vec2 s4 = vec2(0.0), s5 = vec2(0.0), s6 = vec2(0.0), s7 = vec2(0.0);
    mediump vec2 t0 = vec2(0.0), t1 = vec2(0.0), t2 = vec2(0.0), t3 = vec2(0.0);
    mediump vec2 t4 = vec2(0.0), t5 = vec2(0.0), t6 = vec2(0.0), t7 = vec2(0.0);
    uint q_at = (chunk * TOKENS + share.token) * WORDS;
    for (uint word = 0u; word < WORDS; word++) {
        uint key_at = key_word(share.lane * OWN_KEYS, word);
        uvec4 a = q_tile[q_at + word], b = q_tile[q_at + WORDS + word];
        mediump vec2 ax = half_pair(a.x), ay = half_pair(a.y), az = half_pair(a.z), aw = half_pair(a.w);
        mediump vec2 bx = half_pair(b.x), by = half_pair(b.y), bz = half_pair(b.z), bw = half_pair(b.w);
        MULTIPLY_KEY(0u, s0, t0)
        MULTIPLY_KEY(1u, s1, t1)
        MULTIPLY_KEY(2u, s2, t2)
        MULTIPLY_KEY(3u, s3, t3)
        MULTIPLY_KEY(4u, s4, t4)
        MULTIPLY_KEY(5u, s5, t5)
        MULTIPLY_KEY(6u, s6, t6)
        MULTIPLY_KEY(7u, s7, t7)
    }
    low_a += vec4(sum_of(s0), sum_of(s1), sum_of(s2), sum_of(s3));
    high_a += vec4(sum_of(s4), sum_of(s5), sum_of(s6), sum_of(s7));
    low_b += vec4(sum_of(t0), sum_of(t1), sum_of(t2), sum_of(t3));
    high_b += vec4(sum_of(t4), sum_of(t5), sum_of(t6), sum_of(t7));
}

// The scores of four keys of a token, masked but for those that it sees.
vec4 mask_scores(Share share, vec4 score, uint token, uint key)
{
    uint n_seen = state.n_past + share.first_token + token + 1u;
    uvec4 keys = key + uvec4(0u, 1u, 2u, 3u);
    score = vec4(cap_score(score.x), cap_score(score.y), cap_score(score.z), cap_score(score.w));
    score = mix(vec4(MASKED), score, lessThan(keys, uvec4(n_seen)));
#if WINDOW
    score = mix(score, vec4(MASKED), lessThan(keys, uvec4(first_seen(n_seen))));
#endif
    return score;
}

float largest_of(vec4 a, vec4 b)
{
    vec4 c = max(a, b);
    return max(max(c.x, c.y), max(c.z, c.w));
}

// Between its uses the tile of weights carries a number of each token of a pair from all lanes to all.
void give_pair(uint token, uint lane, vec2 pair)
{
    weight_tile[token * LANES + lane].xy = floatBitsToUint(pair);
}

vec2 take_pair(uint token, uint lane)
{
    return uintBitsToFloat(weight_tile[token * LANES + lane].xy);
}

// exp to what f16 asks for; scores that are masked are far below all others.
vec4 weights_of(vec4 score, float largest)
{
    return mix(exp(max(score - largest, -80.0)), vec4(0.0), equal(score, vec4(MASKED)));
}

// Turns scores into weights relative to the token's largest score so far, next, adds them up and returns by
// what earlier sums shrink.
float weigh(Share share, vec4 low, vec4 high, uint token, float next, inout float largest, inout float sum)
{
    vec4 a = weights_of(low, next), b = weights_of(high, next);
    float shrink = largest == MASKED ? 0.0 : exp(max(largest - next, -80.0));
    weight_tile[token * LANES + share.lane] =
        uvec4(packHalf2x16(a.xy), packHalf2x16(a.zw), packHalf2x16(b.xy), packHalf2x16(b.zw));
    a += b;
    sum = sum * shrink + ((a.x + a.y) + (a.z + a.w));
    largest = next;
    return shrink;
}

//-- sums of values ----------------------------------------------------------------------------------

#define MULTIPLY_PAIR(i, c)                                                                        \
    {                                                                                              \
        uvec4 e = kv_tile[value_at + i * LANES];                                                   \
        mediump vec2 v0 = half_pair(e.x), v1 = half_pair(e.y);                                     \
        mediump vec2 v2 = half_pair(e.z), v3 = half_pair(e.w);                                     \
        mediump vec2 p = half_pair(a.c), r = half_pair(b.c);                                       \
        s0 += p * v0;                                                                              \
        s1 += p * v1;                                                                              \
        s2 += p * v2;                                                                              \
        s3 += p * v3;                                                                              \
        t0 += r * v0;                                                                              \
        t1 += r * v1;                                                                              \
        t2 += r * v2;                                                                              \
        t3 += r * v3;                                                                              \
    }

// Adds a tile's share of a chunk for the invocation's two tokens.
void add_values(Share share, inout vec4 first, inout vec4 second)
{
    for (uint begin = 0u; begin < LANES; begin += 4u) {
        mediump vec2 s0 = vec2(0.0), s1 = vec2(0.0), s2 = vec2(0.0), s3 = vec2(0.0);
        mediump vec2 t0 = vec2(0.0), t1 = vec2(0.0), t2 = vec2(0.0), t3 = vec2(0.0);
        for (uint lane = begin; lane < begin + 4u; lane++) {
            uvec4 a = weight_tile[share.token * LANES + lane];
            uvec4 b = weight_tile[share.token * LANES + LANES + lane];
            uint value_at = lane * 4u * LANES + share.lane;
            MULTIPLY_PAIR(0u, x)
            MULTIPLY_PAIR(1u, y)
            MULTIPLY_PAIR(2u, z)
            MULTIPLY_PAIR(3u, w)
        }
        first += vec4(sum_of(s0), sum_of(s1), sum_of(s2), sum_of(s3));
        second += vec4(sum_of(t0), sum_of(t1), sum_of(t2), sum_of(t3));
    }
}

// A chunk of all tokens goes through the tile of k and v, so that an invocation has a word of one.
void write_chunk(Share share, uint head, uint chunk, vec4 first, vec4 second)
{
    uint id = gl_LocalInvocationID.x, word = id % WORDS, token = id / WORDS;
    tile_barrier();
    kv_tile[share.token * LANES + share.quad] = floatBitsToUint(first);
    kv_tile[share.token * LANES + LANES + share.quad] = floatBitsToUint(second);
    tile_barrier();
    vec4 a = uintBitsToFloat(kv_tile[token * LANES + 2u * word]);
    vec4 b = uintBitsToFloat(kv_tile[token * LANES + 2u * word + 1u]);
    weight_tile[id].x = floatBitsToUint(largest_of_word(a, b));
    tile_barrier();
    float largest = 0.0;
    for (uint i = 0u; i < WORDS; i++) {
        largest = max(largest, uintBitsToFloat(weight_tile[(id & ~7u) + i].x));
    }
    if (share.first_token + token < state.n_tokens) {
        store_half_word(share.first_token + token, head * uint(HEAD_DIM / 8) + WORDS * chunk + word,
                        params.out_stride / HALF_COLUMNS, a, b, largest);
    }
}

Share make_share(uint head)
{
    uint lane = gl_LocalInvocationID.x % 32u, warp = gl_LocalInvocationID.x / 32u;
    uint n_group = (state.n_tokens + TOKENS - 1u) / TOKENS;
    Share share;
    share.kv_head = head * params.n_kv_head / params.n_head;
    share.first_token = (n_group - 1u - min(gl_WorkGroupID.x, n_group - 1u)) * TOKENS;
    share.n_key = state.n_past + min(share.first_token + TOKENS, state.n_tokens);
    share.token = 2u * (lane / 8u + warp / 2u * 4u);
    share.lane = lane % 8u + warp % 2u * 8u;
    share.quad = share.lane % 8u * 2u + share.lane / 8u;
    return share;
}

void main()
{
    uint head = gl_WorkGroupID.y;
    Share share = make_share(head);
    float largest_a = MASKED, largest_b = MASKED, sum_a = 0.0, sum_b = 0.0;
    vec4 first[CHUNKS], second[CHUNKS];
    for (int i = 0; i < CHUNKS; i++) {
        first[i] = vec4(0.0);
        second[i] = vec4(0.0);
    }
    uint first_key = first_seen(state.n_past + share.first_token + 1u) / KEYS * KEYS;
    Stage stage;
    load_keys(stage, share, first_key, 0u);
    vec2 scale = load_queries(share, head);
    for (; first_key < share.n_key; first_key += KEYS) {
        vec4 low_a = vec4(0.0), high_a = vec4(0.0), low_b = vec4(0.0), high_b = vec4(0.0);
        for (uint chunk = 0u; chunk < uint(CHUNKS); chunk++) {
            store_keys(stage);
            tile_barrier();
            if (chunk + 1u < uint(CHUNKS)) {
                load_keys(stage, share, first_key, chunk + 1u);
            } else {
                load_values(stage, share, first_key, 0u);
            }
            add_scores(share, chunk, low_a, high_a, low_b, high_b);
            if (chunk + 1u == uint(CHUNKS)) {
                uint key = first_key + share.lane * OWN_KEYS;
                low_a = mask_scores(share, scale.x * low_a, share.token, key);
                high_a = mask_scores(share, scale.x * high_a, share.token, key + 4u);
                low_b = mask_scores(share, scale.y * low_b, share.token + 1u, key);
                high_b = mask_scores(share, scale.y * high_b, share.token + 1u, key + 4u);
                give_pair(share.token, share.lane, vec2(largest_of(low_a, high_a), largest_of(low_b, high_b)));
            }
            tile_barrier();
        }
        vec2 next = vec2(largest_a, largest_b);
        for (uint i = 0u; i < LANES; i++) {
            next = max(next, take_pair(share.token, i));
        }
        tile_barrier();
        float shrink_a = weigh(share, low_a, high_a, share.token, next.x, largest_a, sum_a);
        float shrink_b = weigh(share, low_b, high_b, share.token + 1u, next.y, largest_b, sum_b);
        for (int chunk = 0; chunk < CHUNKS; chunk++) {
            store_values(stage);
            tile_barrier();
            if (chunk + 1 < CHUNKS) {
                load_values(stage, share, first_key, uint(chunk) + 1u);
            } else {
                load_keys(stage, share, first_key + KEYS, 0u);
            }
            first[chunk] *= shrink_a;
            second[chunk] *= shrink_b;
            add_values(share, first[chunk], second[chunk]);
            tile_barrier();
        }
    }
    give_pair(share.token, share.lane, vec2(sum_a, sum_b));
    tile_barrier();
    vec2 sum = vec2(0.0);
    for (uint i = 0u; i < LANES; i++) {
        sum += take_pair(share.token, i);
    }
    for (int chunk = 0; chunk < CHUNKS; chunk++) {
        write_chunk(share, head, uint(chunk), first[chunk] / sum.x, second[chunk] / sum.y);
    }
}
