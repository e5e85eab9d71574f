// attention_batch.comp for devices with wide groups: the same attention and the same Params.
//
// Group (i, h) owns 32 tokens of head h, the last tokens first, so that the longest walks begin first. It
// walks over the keys that its last token sees by tiles of 64. q of the tokens stays in shared memory; k and
// then v of a tile are staged there as f32, 64 elements of the head at a time, and the next ones loaded
// before they are read. An invocation owns 2 tokens: by 4 keys of the scores, and by 4 of every 64 elements
// of the sum. Softmax is online: each tile rescales what was summed before. Shared memory: 8 KiB of q for
// every 64 elements of the head, 16 KiB of k or v, 8 KiB of weights.
//
// On an H200, 512 tokens, heads of 64: 9 of them on 3 in 42.7 us (attention_batch.comp 76.5), 32 on 8 in
// 109 us (112). A longer tile of keys makes the walk of the last tokens, which all wait for, half as long.
#include "lib/common.glsl"
#include "lib/exp_log.glsl"
#include "attention/kv_vec8.glsl"
#include "lib/step_state.glsl"

#if !defined(HEAD_DIM) || !defined(CHUNKS) || !defined(HALF)
#error "HEAD_DIM, a multiple of 8; CHUNKS: of 64 elements that it has, 1 or 2; HALF: 1 if the result is f16"
#endif
#if K_TYPE == CACHE_Q8_0 || V_TYPE == CACHE_Q8_0
#error "a cache of q8_0 is read by attention_batch.comp"
#endif
#define HAS_F32 (K_TYPE == CACHE_F32 || V_TYPE == CACHE_F32)

#define TOKENS 32u
#define KEYS 64u
#define LANES 16u // of a token: 4 keys, and 4 elements, each
#define WG_SIZE 256u
#define N_QUAD uint(HEAD_DIM / 4)
#define N_CHUNK uint(CHUNKS)
#define CHUNK_QUADS 16u // of 64 elements
#define N_VEC8S 2u       // that an invocation loads
#define MASKED -3.0e38

layout(local_size_x = 256) in;

#if HALF
#include "gemm/half_rows_store.glsl" // HEAD_DIM is a multiple of 64
#else
layout(std430, binding = 0) restrict writeonly buffer Out { vec4 result[]; };
#endif
layout(std430, binding = 1) restrict readonly buffer Q { vec4 q[]; };

#include "attention/params.glsl"
#include "attention/score_rule.glsl"

shared vec4 q_tile[N_CHUNK * TOKENS * CHUNK_QUADS]; // scaled
shared vec4 kv_tile[KEYS * CHUNK_QUADS];
shared vec4 weight_tile[TOKENS * LANES]; // (token, lane): its 4 keys

void tile_barrier()
{
    memoryBarrierShared();
    barrier();
}

// Quads lie at a place that depends on their row, so that invocations on neighbouring rows hit
// different banks.
uint tile_index(uint row, uint quad)
{
    return row * CHUNK_QUADS + (quad ^ (row & 7u));
}

uint weight_index(uint token, uint lane)
{
    return token * LANES + (lane ^ (token / 2u & 7u));
}

// Between its uses the tile of weights carries a number of each token of a pair from all lanes to all.
void give_pair(uint token, uint lane, vec2 pair)
{
    weight_tile[weight_index(token, lane)] = vec4(pair, 0.0, 0.0);
}

vec2 take_pair(uint token, uint lane)
{
    return weight_tile[weight_index(token, lane)].xy;
}

uint chunk_quads(uint chunk)
{
#if HEAD_DIM % 64 == 0
    return CHUNK_QUADS;
#else
    return min(CHUNK_QUADS, N_QUAD - chunk * CHUNK_QUADS);
#endif
}

// What an invocation owns: tokens token and token + 1 of the group's, keys lane, lane + 16, lane + 32 and
// lane + 48 of a tile, quad lane of every chunk.
struct Share {
    uint kv_head, first_token, n_key; // n_key: keys that the last token sees
    uint token, lane;
};

//-- k and v on their way to shared memory -----------------------------------------------------------

struct Stage {
    uvec4 low[N_VEC8S];
#if HAS_F32
    uvec4 high[N_VEC8S];
#endif
};

// Elements 64 chunk ... of the keys from first_key on; keys past the last are the last.
void load_stage(out Stage stage, uint begin, bool is_f32, Share share, uint first_key, uint chunk)
{
    uint vec8 = min(gl_LocalInvocationID.x % 8u, chunk_quads(chunk) / 2u - 1u);
    for (uint i = 0u; i < N_VEC8S; i++) {
        uint key = min(first_key + gl_LocalInvocationID.x / 8u + 32u * i, share.n_key - 1u);
        uint row = share.kv_head * params.n_ctx + key;
        uint at = row * (N_QUAD / 2u) + chunk * (CHUNK_QUADS / 2u) + vec8;
        stage.low[i] = cache_word(begin + at * (is_f32 ? 2u : 1u));
#if HAS_F32
        stage.high[i] = cache_word(begin + at * (is_f32 ? 2u : 1u) + (is_f32 ? 1u : 0u));
#endif
    }
}

void store_stage(Stage stage, bool is_f32)
{
    uint vec8 = gl_LocalInvocationID.x % 8u;
    for (uint i = 0u; i < N_VEC8S; i++) {
        uint key = gl_LocalInvocationID.x / 8u + 32u * i;
        vec4 low = cache_halves(stage.low[i].xy), high = cache_halves(stage.low[i].zw);
#if HAS_F32
        low = is_f32 ? uintBitsToFloat(stage.low[i]) : low;
        high = is_f32 ? uintBitsToFloat(stage.high[i]) : high;
#endif
        kv_tile[tile_index(key, 2u * vec8)] = low;
        kv_tile[tile_index(key, 2u * vec8 + 1u)] = high;
    }
}

void load_queries(Share share, uint head)
{
    for (uint chunk = 0u; chunk < N_CHUNK; chunk++) {
        for (uint i = 0u; i < TOKENS * CHUNK_QUADS / WG_SIZE; i++) {
            uint e = gl_LocalInvocationID.x + i * WG_SIZE;
            uint row = e / CHUNK_QUADS, quad = min(e % CHUNK_QUADS, chunk_quads(chunk) - 1u);
            uint token = min(share.first_token + row, state.n_tokens - 1u);
            uint at = token * (params.q_stride / 4u) + head * N_QUAD + chunk * CHUNK_QUADS + quad;
            q_tile[tile_index(chunk * TOKENS + row, e % CHUNK_QUADS)] = params.scale * q[at];
        }
    }
}

//-- scores ------------------------------------------------------------------------------------------

#define ADD_PRODUCTS(sum, p, q)                                                                    \
    sum += p.x * q.x;                                                                              \
    sum += p.y * q.y;                                                                              \
    sum += p.z * q.z;                                                                              \
    sum += p.w * q.w;

// Adds a chunk's share of q . k.
void add_scores(Share share, uint chunk, inout vec4 score[2])
{
    uint row = chunk * TOKENS + share.token;
    for (uint quad = 0u; quad < chunk_quads(chunk); quad++) {
        vec4 a = q_tile[tile_index(row, quad)];
        vec4 b = q_tile[tile_index(row + 1u, quad)];
        vec4 k0 = kv_tile[tile_index(share.lane, quad)];
        vec4 k1 = kv_tile[tile_index(share.lane + 16u, quad)];
        vec4 k2 = kv_tile[tile_index(share.lane + 32u, quad)];
        vec4 k3 = kv_tile[tile_index(share.lane + 48u, quad)];
        ADD_PRODUCTS(score[0].x, a, k0)
        ADD_PRODUCTS(score[0].y, a, k1)
        ADD_PRODUCTS(score[0].z, a, k2)
        ADD_PRODUCTS(score[0].w, a, k3)
        ADD_PRODUCTS(score[1].x, b, k0)
        ADD_PRODUCTS(score[1].y, b, k1)
        ADD_PRODUCTS(score[1].z, b, k2)
        ADD_PRODUCTS(score[1].w, b, k3)
    }
}

// The scores of a token, masked but for the keys that it sees.
vec4 mask_scores(Share share, vec4 score, uint token, uint first_key)
{
    uint n_seen = state.n_past + share.first_token + token + 1u;
    uvec4 keys = first_key + share.lane + uvec4(0u, 16u, 32u, 48u);
    score = vec4(cap_score(score.x), cap_score(score.y), cap_score(score.z), cap_score(score.w));
    score = mix(vec4(MASKED), score, lessThan(keys, uvec4(n_seen)));
#if WINDOW
    score = mix(score, vec4(MASKED), lessThan(keys, uvec4(first_seen(n_seen))));
#endif
    return score;
}

float largest_of(vec4 score)
{
    return max(max(score.x, score.y), max(score.z, score.w));
}

float weight_of(float score, float largest)
{
    return score == MASKED ? 0.0 : exp_negative(score - largest);
}

// Turns scores into weights relative to the token's largest score so far, next, adds them up and returns by
// what earlier sums shrink.
float weigh(Share share, vec4 score, uint token, float next, inout float largest, inout float sum)
{
    vec4 weight = vec4(weight_of(score.x, next), weight_of(score.y, next),
                       weight_of(score.z, next), weight_of(score.w, next));
    float shrink = weight_of(largest, next);
    weight_tile[weight_index(token, share.lane)] = weight;
    sum = sum * shrink + ((weight.x + weight.y) + (weight.z + weight.w));
    largest = next;
    return shrink;
}

//-- sums of values ----------------------------------------------------------------------------------

// Adds a tile's share of a chunk for the invocation's two tokens.
void add_values(Share share, inout vec4 first, inout vec4 second)
{
    for (uint lane = 0u; lane < LANES; lane++) {
        vec4 a = weight_tile[weight_index(share.token, lane)];
        vec4 b = weight_tile[weight_index(share.token + 1u, lane)];
        vec4 v0 = kv_tile[tile_index(lane, share.lane)];
        vec4 v1 = kv_tile[tile_index(lane + 16u, share.lane)];
        vec4 v2 = kv_tile[tile_index(lane + 32u, share.lane)];
        vec4 v3 = kv_tile[tile_index(lane + 48u, share.lane)];
        first += a.x * v0;
        first += a.y * v1;
        first += a.z * v2;
        first += a.w * v3;
        second += b.x * v0;
        second += b.y * v1;
        second += b.z * v2;
        second += b.w * v3;
    }
}

#if HALF
// A chunk of all tokens goes through the tile of k and v, so that an invocation has a word of one.
void write_chunk(Share share, uint head, uint chunk, vec4 first, vec4 second)
{
    uint id = gl_LocalInvocationID.x, word = id % 8u, row = share.first_token + id / 8u;
    kv_tile[tile_index(share.token, share.lane)] = first;
    kv_tile[tile_index(share.token + 1u, share.lane)] = second;
    tile_barrier();
    vec4 a = kv_tile[tile_index(id / 8u, 2u * word)];
    vec4 b = kv_tile[tile_index(id / 8u, 2u * word + 1u)];
    weight_tile[id] = vec4(largest_of_word(a, b));
    tile_barrier();
    float largest = 0.0;
    for (uint i = 0u; i < 8u; i++) {
        largest = max(largest, weight_tile[(id & ~7u) + i].x);
    }
    if (row < state.n_tokens) {
        store_half_word(row, head * (N_QUAD / 2u) + 8u * chunk + word, params.out_stride / HALF_COLUMNS,
                        a, b, largest);
    }
}
#else
void write_token(Share share, uint head, uint token, uint chunk, vec4 value)
{
    uint row = share.first_token + token;
    if (row < state.n_tokens && share.lane < chunk_quads(chunk)) {
        result[row * (params.out_stride / 4u) + head * N_QUAD + chunk * CHUNK_QUADS + share.lane] =
            value;
    }
}

void write_chunk(Share share, uint head, uint chunk, vec4 first, vec4 second)
{
    write_token(share, head, share.token, chunk, first);
    write_token(share, head, share.token + 1u, chunk, second);
}
#endif

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
    load_stage(stage, params.k, K_TYPE == CACHE_F32, share, first_key, 0u);
    load_queries(share, head);
    for (; first_key < share.n_key; first_key += KEYS) {
        vec4 score[2];
        score[0] = vec4(0.0);
        score[1] = vec4(0.0);
        for (uint chunk = 0u; chunk < N_CHUNK; chunk++) {
            store_stage(stage, K_TYPE == CACHE_F32);
            tile_barrier();
            if (chunk + 1u < N_CHUNK) {
                load_stage(stage, params.k, K_TYPE == CACHE_F32, share, first_key, chunk + 1u);
            } else {
                load_stage(stage, params.v, V_TYPE == CACHE_F32, share, first_key, 0u);
            }
            add_scores(share, chunk, score);
            if (chunk + 1u == N_CHUNK) {
                score[0] = mask_scores(share, score[0], share.token, first_key);
                score[1] = mask_scores(share, score[1], share.token + 1u, first_key);
                give_pair(share.token, share.lane, vec2(largest_of(score[0]), largest_of(score[1])));
            }
            tile_barrier();
        }
        vec2 next = vec2(largest_a, largest_b);
        for (uint i = 0u; i < LANES; i++) {
            next = max(next, take_pair(share.token, i));
        }
        tile_barrier();
        float shrink_a = weigh(share, score[0], share.token, next.x, largest_a, sum_a);
        float shrink_b = weigh(share, score[1], share.token + 1u, next.y, largest_b, sum_b);
        for (int chunk = 0; chunk < CHUNKS; chunk++) {
            store_stage(stage, V_TYPE == CACHE_F32);
            tile_barrier();
            if (chunk + 1 < CHUNKS) {
                load_stage(stage, params.v, V_TYPE == CACHE_F32, share, first_key, uint(chunk) + 1u);
            } else {
                load_stage(stage, params.k, K_TYPE == CACHE_F32, share, first_key + KEYS, 0u);
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
#if HALF
        tile_barrier();
#endif
        write_chunk(share, head, uint(chunk), first[chunk] / sum.x, second[chunk] / sum.y);
    }
}
