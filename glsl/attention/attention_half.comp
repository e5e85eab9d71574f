// Attention of a prompt's batch by tiles of 128 keys, with products in f16: attention/tile.glsl.
// For devices whose mediump is f16 and fast; the cache is f16, and the result, too.
//
// k lies in shared memory as in the cache, v and the weights by pairs of keys, so that pairs of halves
// meet pairs of halves. Sums of pairs go into f32 after 64 elements of a head, and
// after 32 keys. A token's q is scaled by a power of two to below 2, so that keys may grow to 1000.
// Shared memory: 4 KiB of q for every 64 elements of the head, 16 KiB of k or v, 8 KiB of weights.
// Measurements: glsl/measurements.md.
#include "lib/common.glsl"
#include "lib/exp_log.glsl"
#include "lib/half_pair.glsl"
#include "attention/kv_vec8.glsl"
#include "lib/step_state.glsl"

#ifndef HEAD_DIM
#error "HEAD_DIM, 64 or 128"
#endif

#define HALF 1
#define KEYS 128u
#define OWN_KEYS 8u
#define WORDS 8u // of 8 elements in a chunk
// Neighbouring quads are 8 quads apart in the tile of v: store_pairs().
#define QUAD_OF(lane) ((lane) % 8u * 2u + (lane) / 8u)

struct Stage {
    uvec4 word0, word1, word2, word3;
};

// Holds those of keys 8 lane ... 8 lane + 7 of a tile.
struct Scores {
    vec4 low, high;
};
#define NO_SCORES Scores(vec4(0.0), vec4(0.0))

#include "attention/tile.glsl"

shared uvec4 q_tile[uint(CHUNKS) * TOKENS * WORDS]; // (chunk, token, word): see query_word
shared uvec4 kv_tile[KEYS * WORDS];                 // k: see key_word; v: (pair of keys, quad of
                                                    // elements)
shared uvec4 weight_tile[TOKENS * LANES];           // (token, lane): its 8 keys in pairs, see
                                                    // weight_word

// The places of words of q and of weights depend on the pair of tokens, so that neighbouring pairs use
// different banks.
uint query_word(uint token, uint word)
{
    return token * WORDS + (word ^ (token / 2u & 7u));
}

uint weight_word(uint token, uint lane)
{
    return token * LANES + (lane ^ (token / 2u & 7u));
}

void set_pair(uint token, uint lane, vec2 pair)
{
    weight_tile[weight_word(token, lane)].xy = floatBitsToUint(pair);
}

vec2 get_pair(uint token, uint lane)
{
    return uintBitsToFloat(weight_tile[weight_word(token, lane)].xy);
}

void set_quad(uint token, uint quad, vec4 value)
{
    kv_tile[token * LANES + quad] = floatBitsToUint(value);
}

vec4 get_quad(uint token, uint quad)
{
    return uintBitsToFloat(kv_tile[token * LANES + quad]);
}

// Words of k lie at a place that depends on the key, so that invocations with every eighth key hit
// different banks.
uint key_word(uint key, uint word)
{
    return key * WORDS + (word ^ (key / OWN_KEYS & 7u));
}

// The assignment makes the halves highp before they are added.
float sum_of(mediump vec2 pair)
{
    highp vec2 p = pair;
    return p.x + p.y;
}

//-- q, k and v on their way to shared memory ----------------------------------------------------------

vec2 load_queries(Share share)
{
    uint id = gl_LocalInvocationID.x, row = id / WORDS, word = id % WORDS;
    uint token = min(share.first_token + row, state.n_tokens - 1u);
    uint at = token * (params.q_stride / 4u) + share.head * N_QUAD + 2u * word;
    float largest = 0.0;
    for (uint chunk = 0u; chunk < uint(CHUNKS); chunk++) {
        largest = max(largest, largest_of_word(q[at + 16u * chunk], q[at + 16u * chunk + 1u]));
    }
    largest = largest_of_eight(largest);
    uint exponent = clamp(floatBitsToUint(largest) >> 23u, 8u, 246u);
    float factor = uintBitsToFloat((254u - exponent) << 23u);
    for (uint chunk = 0u; chunk < uint(CHUNKS); chunk++) {
        vec4 a = factor * q[at + 16u * chunk], b = factor * q[at + 16u * chunk + 1u];
        q_tile[query_word(chunk * TOKENS + row, word)] =
            uvec4(packHalf2x16(a.xy), packHalf2x16(a.zw), packHalf2x16(b.xy), packHalf2x16(b.zw));
    }
    group_barrier();
    weight_tile[id].x = exponent << 23u;
    group_barrier();
    vec2 back = uintBitsToFloat(uvec2(weight_tile[share.token * WORDS].x,
                                      weight_tile[share.token * WORDS + WORDS].x));
    group_barrier();
    return params.scale * back;
}

uvec4 cached(uint begin, Share share, uint key, uint chunk)
{
    uint row = share.kv_head * params.n_ctx + min(key, share.n_key - 1u);
    return cache_word(begin + row * uint(HEAD_DIM / 8) + chunk * WORDS + gl_LocalInvocationID.x % WORDS);
}

void load_keys(out Stage stage, Share share, uint first_key, uint chunk)
{
    uint key = first_key + gl_LocalInvocationID.x / WORDS;
    stage.word0 = cached(params.k, share, key, chunk);
    stage.word1 = cached(params.k, share, key + 32u, chunk);
    stage.word2 = cached(params.k, share, key + 64u, chunk);
    stage.word3 = cached(params.k, share, key + 96u, chunk);
}

void store_keys(Stage stage, Share share)
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

// Stores two keys' word as two quads of pairs, the second 8 quads after the first: QUAD_OF.
void store_pairs(uint pair, uvec4 a, uvec4 b)
{
    uint at = pair * LANES + gl_LocalInvocationID.x % WORDS;
    uvec4 low = (a & 0xFFFFu) | (b << 16u), high = (a >> 16u) | (b & 0xFFFF0000u);
    kv_tile[at] = uvec4(low.x, high.x, low.y, high.y);
    kv_tile[at + WORDS] = uvec4(low.z, high.z, low.w, high.w);
}

void store_values(Stage stage, Share share)
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

void add_scores(Share share, uint chunk, inout Scores first, inout Scores second)
{
    mediump vec2 s0 = vec2(0.0), s1 = vec2(0.0), s2 = vec2(0.0), s3 = vec2(0.0);
    mediump vec2 s4 = vec2(0.0), s5 = vec2(0.0), s6 = vec2(0.0), s7 = vec2(0.0);
    mediump vec2 t0 = vec2(0.0), t1 = vec2(0.0), t2 = vec2(0.0), t3 = vec2(0.0);
    mediump vec2 t4 = vec2(0.0), t5 = vec2(0.0), t6 = vec2(0.0), t7 = vec2(0.0);
    for (uint word = 0u; word < WORDS; word++) {
        uint key_at = key_word(share.lane * OWN_KEYS, word);
        uint q_at = query_word(chunk * TOKENS + share.token, word);
        uvec4 a = q_tile[q_at], b = q_tile[q_at + WORDS];
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
    first.low += vec4(sum_of(s0), sum_of(s1), sum_of(s2), sum_of(s3));
    first.high += vec4(sum_of(s4), sum_of(s5), sum_of(s6), sum_of(s7));
    second.low += vec4(sum_of(t0), sum_of(t1), sum_of(t2), sum_of(t3));
    second.high += vec4(sum_of(t4), sum_of(t5), sum_of(t6), sum_of(t7));
}

void finish_scores(Share share, float scale, uint token, uint first_key, inout Scores scores)
{
    uvec4 keys = first_key + share.lane * OWN_KEYS + uvec4(0u, 1u, 2u, 3u);
    scores.low *= scale;
    scores.high *= scale;
    if (!is_plain(share, first_key)) {
        scores.low = mask_scores(share, scores.low, token, keys);
        scores.high = mask_scores(share, scores.high, token, keys + 4u);
    }
}

float largest_of(Scores scores)
{
    return largest_of(max(scores.low, scores.high));
}

// exp with the precision of f16. If all scores are masked, half of MASKED counts as the largest.
vec4 weights_of(vec4 score, float largest)
{
    const float log2_e = 1.4426950408889634;
    return exp2(max(log2_e * score - log2_e * max(largest, 0.5 * MASKED), -115.0));
}

float weigh(Share share, Scores scores, uint token, float largest)
{
    vec4 a = weights_of(scores.low, largest), b = weights_of(scores.high, largest);
    weight_tile[weight_word(token, share.lane)] =
        uvec4(packHalf2x16(a.xy), packHalf2x16(a.zw), packHalf2x16(b.xy), packHalf2x16(b.zw));
    a += b;
    return (a.x + a.y) + (a.z + a.w);
}

float shrink_of(float largest, float next)
{
    return largest == MASKED ? 0.0 : exp(max(largest - next, -80.0));
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

void add_values(Share share, inout vec4 first, inout vec4 second)
{
    for (uint begin = 0u; begin < LANES; begin += 4u) {
        mediump vec2 s0 = vec2(0.0), s1 = vec2(0.0), s2 = vec2(0.0), s3 = vec2(0.0);
        mediump vec2 t0 = vec2(0.0), t1 = vec2(0.0), t2 = vec2(0.0), t3 = vec2(0.0);
        for (uint lane = begin; lane < begin + 4u; lane++) {
            uint weight_at = weight_word(share.token, lane);
            uvec4 a = weight_tile[weight_at], b = weight_tile[weight_at + LANES];
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
