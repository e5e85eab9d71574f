// Attention of a prompt's batch by tiles of 64 keys, with products in f16:
// token m, at position n_past + m, over the keys 0..n_past + m, with AFTER also over later keys.
//   out[m, h] = sum over j of softmax_j(scale * q[m, h] . k[g, j]) v[g, j]
//   with g = h * n_kv_head / n_head
// For devices whose mediump is f16 and fast; the cache is f16, and the result, too.
//
//   out    (n_tokens, stride)  (n_head, HEAD_DIM) of it written in f16, gemm/half_rows.glsl
//   q      (n_tokens, stride)  (n_head, HEAD_DIM), pair order
//   cache  a layer's k and v, (n_kv_head, n_ctx, HEAD_DIM) each, attention/kv_vec8.glsl
//
// Group (i, h) owns 32 or 64 tokens of head h, the last tokens first, so that the longest walks begin
// first. k and then v of a tile are staged in shared memory, a chunk of 64 elements of the head at a
// time, and the next chunk is loaded before this one is worked on. An invocation owns 4 tokens: by 4
// keys of the scores, and by 4 elements of every chunk of the sum. Loads from shared memory bound it: a
// warp's vectors of 16 bytes take four cycles.
//
// k lies in shared memory as in the cache, v and the weights by pairs of keys, so that pairs of halves
// meet pairs of halves. Sums of pairs go into f32 after 64 elements of a head, and after 64 keys. They
// are variables of their own: NVIDIA's compiler makes f32 of halves in a struct. A token's q is scaled
// by a power of two to below 2, so that keys may grow to 1000.
// Softmax is online, in f32. A token's weights are relative to a score that is at most SLACK less than
// the largest so far: a tile with a larger one raises it, for all tokens of the group, and rescales
// their sums.
// Shared memory for 64 tokens: 16 KiB, and 8 KiB of q for every 64 elements of the head.
// Measurements: glsl/measurements.md.
#include "lib/common.glsl"
#include "lib/exp_log.glsl"
#include "lib/half_pair.glsl"
#include "attention/kv_vec8.glsl"
#include "lib/step_state.glsl"

#ifndef HEAD_DIM
#error "HEAD_DIM, 64 or 128; TALL 1: groups of 64 tokens"
#endif

#ifndef TALL
#define TALL 0
#endif

#if TALL
#define TOKENS 64u
#define TURNS 1 // of a stage
layout(local_size_x = 256) in;
#else
#define TOKENS 32u
#define TURNS 2
layout(local_size_x = 128) in;
#endif
#define KEYS 64u
#define HALF_GROUP (TOKENS / 2u) // rows of which an invocation has a word
#define FOUR 4u   // tokens, and keys of a tile, of an invocation
#define LANES 16u // of a token
#define WORDS 8u  // of 8 elements of a chunk, or of 8 keys of a tile
#define CHUNKS ((HEAD_DIM + 63) / 64)
#define N_QUAD uint(HEAD_DIM / 4)
#define SLACK 1.0 // nats
// Stands in place of weights if a tile has a score above the one of its token: a pair of NaN.
#define RISE (TOKENS * WORDS - 1u)
#define EXPONENTS (TOKENS * 4u) // in the place of weights, after those that largest_of_eight uses
#define NO_WEIGHTS 0xFFFFFFFFu

#define HALF 1
#include "gemm/half_rows_store.glsl"
layout(std430, binding = 1) restrict readonly buffer Q { vec4 q[]; };

#define MASKS_TILES
#include "params/attention.glsl"
#include "lib/first_group.glsl"
#include "attention/softmax.glsl"
#include "attention/score_rule.glsl"

shared uvec4 q_tile[uint(CHUNKS) * TOKENS * WORDS]; // (chunk, token, word): see query_word
shared uvec4 kv_tile[KEYS * WORDS];                 // k: see key_word; v: (pair of keys, quad of
                                                    // elements)
shared uvec4 weight_tile[TOKENS * WORDS];           // (token, word): see weight_word

// An invocation owns tokens token ... token + 3 of the group's, keys 4 lane ... 4 lane + 3 of a tile,
// and quad `quad` of every chunk.
struct Share {
    uint head, kv_head, first_token, n_key; // n_key: keys that the last token sees
    uint token, lane, quad;
};

struct Stage { // a chunk of k or v on its way to shared memory
    uvec4 words[2 * TURNS];
};

struct Scores { // of a token and the invocation's keys
    vec4 keys;
};
#define NO_SCORES Scores(vec4(0.0))

struct Sums { // of the invocation's tokens
    vec4 a, b, c, d;
};

// The places of words of q and of weights depend on the four tokens, so that neighbouring fours use
// different banks.
uint query_word(uint token, uint word)
{
    return token * WORDS + (word ^ (token / FOUR & 7u));
}

uint weight_word(uint token, uint word)
{
    return token * WORDS + (word ^ (token / FOUR & 7u));
}

// Words of k lie at a place that depends on the key, so that invocations with every fourth key hit
// different banks.
uint key_word(uint key, uint word)
{
    return key * WORDS + (word ^ (key / FOUR & 7u));
}

// The assignment makes the halves highp before they are added.
float sum_of(mediump vec2 pair)
{
    highp vec2 p = pair;
    return p.x + p.y;
}

//-- exchange through the weights' place ----------------------------------------------------------------

void set_lane(Share share, vec4 value)
{
    weight_tile[share.token / FOUR * LANES + share.lane] = floatBitsToUint(value);
}

vec4 get_lane(Share share, uint lane)
{
    return uintBitsToFloat(weight_tile[share.token / FOUR * LANES + lane]);
}

vec4 largest_of_lanes(Share share, vec4 largest)
{
    set_lane(share, largest);
    group_barrier();
    for (uint i = 0u; i < LANES; i++) {
        largest = max(largest, get_lane(share, i));
    }
    group_barrier();
    return largest;
}

vec4 sum_of_lanes(Share share, vec4 value)
{
    set_lane(share, value);
    group_barrier();
    vec4 sum = vec4(0.0);
    for (uint i = 0u; i < LANES; i++) {
        sum += get_lane(share, i);
    }
    group_barrier();
    return sum;
}

// Returns the largest x of eight neighbouring invocations.
float largest_of_eight(float x)
{
    uint id = gl_LocalInvocationID.x;
    group_barrier();
    weight_tile[id].x = floatBitsToUint(x);
    group_barrier();
    for (uint i = 0u; i < 8u; i++) {
        x = max(x, uintBitsToFloat(weight_tile[id / 8u * 8u + i].x));
    }
    group_barrier();
    return x;
}

//-- q, k and v on their way to shared memory -----------------------------------------------------------

// Stages q of half a group's tokens, and the exponent of the largest of each in the place of weights.
void load_query(Share share, uint begin)
{
    uint id = gl_LocalInvocationID.x, row = begin + id / WORDS, word = id % WORDS;
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
    if (word == 0u) {
        weight_tile[EXPONENTS + row].x = exponent << 23u;
    }
}

// Stages q. Returns the factors of the products of the invocation's tokens.
vec4 load_queries(Share share)
{
    load_query(share, 0u);
    load_query(share, HALF_GROUP);
    group_barrier();
    uint at = EXPONENTS + share.token;
    vec4 back = uintBitsToFloat(uvec4(weight_tile[at].x, weight_tile[at + 1u].x,
                                      weight_tile[at + 2u].x, weight_tile[at + 3u].x));
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
    for (int i = 0; i < 2 * TURNS; i++) {
        stage.words[i] = cached(params.k, share, key + uint(i) * HALF_GROUP, chunk);
    }
}

void store_keys(Stage stage)
{
    uint key = gl_LocalInvocationID.x / WORDS, word = gl_LocalInvocationID.x % WORDS;
    for (int i = 0; i < 2 * TURNS; i++) {
        kv_tile[key_word(key + uint(i) * HALF_GROUP, word)] = stage.words[i];
    }
}

void load_values(out Stage stage, Share share, uint first_key, uint chunk)
{
    uint key = first_key + gl_LocalInvocationID.x / WORDS * 2u;
    for (int i = 0; i < TURNS; i++) {
        stage.words[2 * i] = cached(params.v, share, key + uint(i) * TOKENS, chunk);
        stage.words[2 * i + 1] = cached(params.v, share, key + uint(i) * TOKENS + 1u, chunk);
    }
}

// Stores two keys' word as two quads of pairs, the second 8 quads after the first.
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
    for (int i = 0; i < TURNS; i++) {
        store_pairs(pair + uint(i) * HALF_GROUP, stage.words[2 * i], stage.words[2 * i + 1]);
    }
}

//-- scores ---------------------------------------------------------------------------------------------

#define MULTIPLY_KEY(i, s, t, u, v)                                                                \
    {                                                                                              \
        uvec4 e = kv_tile[key_at + i * WORDS];                                                     \
        mediump vec2 x = half_pair(e.x), y = half_pair(e.y);                                       \
        mediump vec2 z = half_pair(e.z), w = half_pair(e.w);                                       \
        s += ax * x;                                                                               \
        t += bx * x;                                                                               \
        u += cx * x;                                                                               \
        v += dx * x;                                                                               \
        s += ay * y;                                                                               \
        t += by * y;                                                                               \
        u += cy * y;                                                                               \
        v += dy * y;                                                                               \
        s += az * z;                                                                               \
        t += bz * z;                                                                               \
        u += cz * z;                                                                               \
        v += dz * z;                                                                               \
        s += aw * w;                                                                               \
        t += bw * w;                                                                               \
        u += cw * w;                                                                               \
        v += dw * w;                                                                               \
    }

// Adds a chunk's share of q . k.
void add_scores(Share share, uint chunk, inout Scores first, inout Scores second, inout Scores third,
                inout Scores fourth)
{
    mediump vec2 s0 = vec2(0.0), s1 = vec2(0.0), s2 = vec2(0.0), s3 = vec2(0.0);
    mediump vec2 t0 = vec2(0.0), t1 = vec2(0.0), t2 = vec2(0.0), t3 = vec2(0.0);
    mediump vec2 u0 = vec2(0.0), u1 = vec2(0.0), u2 = vec2(0.0), u3 = vec2(0.0);
    mediump vec2 v0 = vec2(0.0), v1 = vec2(0.0), v2 = vec2(0.0), v3 = vec2(0.0);
    for (uint word = 0u; word < WORDS; word++) {
        uint key_at = key_word(share.lane * FOUR, word);
        uint q_at = query_word(chunk * TOKENS + share.token, word);
        uvec4 a = q_tile[q_at], b = q_tile[q_at + WORDS];
        uvec4 c = q_tile[q_at + 2u * WORDS], d = q_tile[q_at + 3u * WORDS];
        mediump vec2 ax = half_pair(a.x), ay = half_pair(a.y), az = half_pair(a.z), aw = half_pair(a.w);
        mediump vec2 bx = half_pair(b.x), by = half_pair(b.y), bz = half_pair(b.z), bw = half_pair(b.w);
        mediump vec2 cx = half_pair(c.x), cy = half_pair(c.y), cz = half_pair(c.z), cw = half_pair(c.w);
        mediump vec2 dx = half_pair(d.x), dy = half_pair(d.y), dz = half_pair(d.z), dw = half_pair(d.w);
        MULTIPLY_KEY(0u, s0, t0, u0, v0)
        MULTIPLY_KEY(1u, s1, t1, u1, v1)
        MULTIPLY_KEY(2u, s2, t2, u2, v2)
        MULTIPLY_KEY(3u, s3, t3, u3, v3)
    }
    first.keys += vec4(sum_of(s0), sum_of(s1), sum_of(s2), sum_of(s3));
    second.keys += vec4(sum_of(t0), sum_of(t1), sum_of(t2), sum_of(t3));
    third.keys += vec4(sum_of(u0), sum_of(u1), sum_of(u2), sum_of(u3));
    fourth.keys += vec4(sum_of(v0), sum_of(v1), sum_of(v2), sum_of(v3));
}

// Returns true if all tokens of the group see all keys of a tile and no rule changes their scores.
bool is_plain(Share share, uint first_key)
{
    return SOFTCAP == 0 && WINDOW == 0 && ALIBI == 0 &&
           first_key + KEYS <= end_seen(state.n_past + share.first_token + 1u);
}

// Scales, caps and masks the scores of a token.
void finish_scores(Share share, bool plain, float scale, uint token, uint first_key, inout Scores scores)
{
    uint n_seen = state.n_past + share.first_token + token + 1u;
    uvec4 keys = first_key + share.lane * FOUR + uvec4(0u, 1u, 2u, 3u);
    scores.keys *= scale;
    scores.keys = plain ? scores.keys : mask_scores(scores.keys, share.head, n_seen, keys);
}

float largest_of(Scores scores)
{
    return max(max(scores.keys.x, scores.keys.y), max(scores.keys.z, scores.keys.w));
}

// exp with the precision of f16. If all scores are masked, half of MASKED counts as the largest.
vec4 weights_of(vec4 score, float largest)
{
    const float log2_e = 1.4426950408889634;
    return exp2(max(log2_e * score - log2_e * max(largest, 0.5 * MASKED), -115.0));
}

// Stores the weights of a token's keys; returns their sum.
float weigh(Share share, Scores scores, uint token, float largest)
{
    vec4 a = weights_of(scores.keys, largest);
    uvec2 pairs = uvec2(packHalf2x16(a.xy), packHalf2x16(a.zw));
    uint at = weight_word(token, share.lane / 2u);
    if (share.lane % 2u == 0u) {
        weight_tile[at].xy = pairs;
    } else {
        weight_tile[at].zw = pairs;
    }
    return (a.x + a.y) + (a.z + a.w);
}

// Returns by what sums shrink when the score that weights are relative to grows to `next`.
vec4 shrink_of(vec4 largest, vec4 next)
{
    return mix(exp(max(largest - next, -80.0)), vec4(0.0), equal(largest, vec4(MASKED)));
}

//-- sums of values -------------------------------------------------------------------------------------

#define MULTIPLY_PAIR(i, n)                                                                        \
    {                                                                                              \
        uvec4 e = kv_tile[value_at + i * LANES];                                                   \
        mediump vec2 x = half_pair(e.x), y = half_pair(e.y);                                       \
        mediump vec2 z = half_pair(e.z), w = half_pair(e.w);                                       \
        mediump vec2 a = half_pair(wa.n), b = half_pair(wb.n);                                     \
        mediump vec2 c = half_pair(wc.n), d = half_pair(wd.n);                                     \
        s0 += a * x;                                                                               \
        s1 += a * y;                                                                               \
        s2 += a * z;                                                                               \
        s3 += a * w;                                                                               \
        t0 += b * x;                                                                               \
        t1 += b * y;                                                                               \
        t2 += b * z;                                                                               \
        t3 += b * w;                                                                               \
        u0 += c * x;                                                                               \
        u1 += c * y;                                                                               \
        u2 += c * z;                                                                               \
        u3 += c * w;                                                                               \
        v0 += d * x;                                                                               \
        v1 += d * y;                                                                               \
        v2 += d * z;                                                                               \
        v3 += d * w;                                                                               \
    }

// Adds a tile's share of a chunk.
void add_values(Share share, inout Sums sums)
{
    mediump vec2 s0 = vec2(0.0), s1 = vec2(0.0), s2 = vec2(0.0), s3 = vec2(0.0);
    mediump vec2 t0 = vec2(0.0), t1 = vec2(0.0), t2 = vec2(0.0), t3 = vec2(0.0);
    mediump vec2 u0 = vec2(0.0), u1 = vec2(0.0), u2 = vec2(0.0), u3 = vec2(0.0);
    mediump vec2 v0 = vec2(0.0), v1 = vec2(0.0), v2 = vec2(0.0), v3 = vec2(0.0);
    for (uint word = 0u; word < WORDS; word++) {
        uint at = weight_word(share.token, word);
        uvec4 wa = weight_tile[at], wb = weight_tile[at + WORDS];
        uvec4 wc = weight_tile[at + 2u * WORDS], wd = weight_tile[at + 3u * WORDS];
        uint value_at = word * 4u * LANES + share.lane;
        MULTIPLY_PAIR(0u, x)
        MULTIPLY_PAIR(1u, y)
        MULTIPLY_PAIR(2u, z)
        MULTIPLY_PAIR(3u, w)
    }
    sums.a += vec4(sum_of(s0), sum_of(s1), sum_of(s2), sum_of(s3));
    sums.b += vec4(sum_of(t0), sum_of(t1), sum_of(t2), sum_of(t3));
    sums.c += vec4(sum_of(u0), sum_of(u1), sum_of(u2), sum_of(u3));
    sums.d += vec4(sum_of(v0), sum_of(v1), sum_of(v2), sum_of(v3));
}

// Writes a chunk of half a group's tokens, which goes through the tile of k and v, so that an invocation has a
// word of one token.
void write_rows(Share share, uint begin, uint chunk, Sums sums)
{
    uint id = gl_LocalInvocationID.x, word = id % 8u, row = share.first_token + begin + id / 8u;
    group_barrier();
    if (share.token / HALF_GROUP == begin / HALF_GROUP) {
        uint at = share.token % HALF_GROUP * LANES + share.quad;
        kv_tile[at] = floatBitsToUint(sums.a);
        kv_tile[at + LANES] = floatBitsToUint(sums.b);
        kv_tile[at + 2u * LANES] = floatBitsToUint(sums.c);
        kv_tile[at + 3u * LANES] = floatBitsToUint(sums.d);
    }
    group_barrier();
    vec4 a = uintBitsToFloat(kv_tile[id / 8u * LANES + 2u * word]);
    vec4 b = uintBitsToFloat(kv_tile[id / 8u * LANES + 2u * word + 1u]);
    float largest = largest_of_eight(largest_of_word(a, b));
    if (row < state.n_tokens) {
        store_half_word(row, share.head * (N_QUAD / 2u) + 8u * chunk + word,
                        params.out_stride / HALF_COLUMNS, a, b, largest);
    }
}

//-- the walk -------------------------------------------------------------------------------------------

Share make_share(uint head)
{
    uint n_group = (state.n_tokens + TOKENS - 1u) / TOKENS;
    uint lane = gl_LocalInvocationID.x % 32u, warp = gl_LocalInvocationID.x / 32u;
    Share share;
    share.head = head;
    share.kv_head = head * params.n_kv_head / params.n_head;
    share.first_token = (n_group - 1u - min(gl_WorkGroupID.x, n_group - 1u)) * TOKENS;
    share.n_key = end_seen(state.n_past + min(share.first_token + TOKENS, state.n_tokens));
    share.token = FOUR * (lane / 8u + warp / 2u * 4u);
    share.lane = lane % 8u + warp % 2u * 8u;
    share.quad = share.lane % 8u * 2u + share.lane / 8u;
    return share;
}

void scale_sums(inout Sums sums, vec4 scale)
{
    sums.a *= scale.x;
    sums.b *= scale.y;
    sums.c *= scale.z;
    sums.d *= scale.w;
}

void main()
{
    Share share = make_share(gl_WorkGroupID.y + first_group);
    vec4 largest = vec4(MASKED), sum = vec4(0.0);
    Sums sums[CHUNKS];
    for (int i = 0; i < CHUNKS; i++) {
        sums[i] = Sums(vec4(0.0), vec4(0.0), vec4(0.0), vec4(0.0));
    }
    uint first_key = first_seen(state.n_past + share.first_token + 1u) / KEYS * KEYS;
    Stage stage;
    load_keys(stage, share, first_key, 0u);
    vec4 scale = load_queries(share);
    for (; first_key < share.n_key; first_key += KEYS) {
        Scores a = NO_SCORES, b = NO_SCORES, c = NO_SCORES, d = NO_SCORES;
        for (uint chunk = 0u; chunk < uint(CHUNKS); chunk++) {
            store_keys(stage);
            group_barrier();
            if (chunk + 1u < uint(CHUNKS)) {
                load_keys(stage, share, first_key, chunk + 1u);
            } else {
                load_values(stage, share, first_key, 0u);
            }
            add_scores(share, chunk, a, b, c, d);
            if (chunk + 1u < uint(CHUNKS)) {
                group_barrier();
            }
        }
        bool plain = is_plain(share, first_key);
        finish_scores(share, plain, scale.x, share.token, first_key, a);
        finish_scores(share, plain, scale.y, share.token + 1u, first_key, b);
        finish_scores(share, plain, scale.z, share.token + 2u, first_key, c);
        finish_scores(share, plain, scale.w, share.token + 3u, first_key, d);
        vec4 own = vec4(largest_of(a), largest_of(b), largest_of(c), largest_of(d));
        if (any(greaterThan(own - SLACK, largest))) {
            weight_tile[RISE].x = NO_WEIGHTS;
        }
        group_barrier();
        bool rises = weight_tile[RISE].x == NO_WEIGHTS;
        group_barrier();
        if (rises) {
            vec4 next = max(largest, largest_of_lanes(share, own));
            vec4 shrink = shrink_of(largest, next);
            largest = next;
            sum *= shrink;
            for (int chunk = 0; chunk < CHUNKS; chunk++) {
                scale_sums(sums[chunk], shrink);
            }
        }
        sum += vec4(weigh(share, a, share.token, largest.x), weigh(share, b, share.token + 1u, largest.y),
                    weigh(share, c, share.token + 2u, largest.z),
                    weigh(share, d, share.token + 3u, largest.w));
        for (int chunk = 0; chunk < CHUNKS; chunk++) {
            store_values(stage);
            group_barrier();
            if (chunk + 1 < CHUNKS) {
                load_values(stage, share, first_key, uint(chunk) + 1u);
            } else {
                load_keys(stage, share, first_key + KEYS, 0u);
            }
            add_values(share, sums[chunk]);
            group_barrier();
        }
    }
    sum = sum_of_lanes(share, sum);
    sum = vec4(with_sink(sum.x, largest.x, share.head), with_sink(sum.y, largest.y, share.head),
               with_sink(sum.z, largest.z, share.head), with_sink(sum.w, largest.w, share.head));
    for (int chunk = 0; chunk < CHUNKS; chunk++) {
        scale_sums(sums[chunk], 1.0 / sum);
        write_rows(share, 0u, uint(chunk), sums[chunk]);
        write_rows(share, HALF_GROUP, uint(chunk), sums[chunk]);
    }
}
