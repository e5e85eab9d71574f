// Attention of a prompt's batch by tiles of 64 keys, in f32: attention/tile.glsl.
//
// With SHARED_Q 1 q of the tokens stays in shared memory, else it is read again for each tile.
// Shared memory: 16 KiB of k or v, 8 KiB of weights, with TALL 1 16, and as much as of weights of q
// for every 64 elements of the head. Measurements: glsl/measurements.md.
#include "lib/common.glsl"
#include "lib/add_products.glsl"
#include "lib/exp_log.glsl"
#include "attention/kv_vec8.glsl"
#include "lib/step_state.glsl"

#if !defined(HEAD_DIM) || !defined(SHARED_Q) || !defined(HALF)
#error "HEAD_DIM, a multiple of 8; SHARED_Q: 1 if q is in shared memory; HALF: 1 if the result is f16"
#endif

#define KEYS 64u
#define CHUNK_QUADS 16u // of 64 elements

// Vec8s as the cache has them.
#ifndef TALL
#define TALL 0
#endif
#define N_STAGED (TALL == 1 ? 1 : 2)
struct Stage {
    uvec4 first[N_STAGED], second[N_STAGED];
};

// Holds those of keys lane, lane + 16, lane + 32 and lane + 48 of a tile.
struct Scores {
    vec4 keys;
};
#define NO_SCORES Scores(vec4(0.0))

#include "attention/tile.glsl"

#if SHARED_Q
shared vec4 q_tile[uint(CHUNKS) * TOKENS * CHUNK_QUADS];
#endif
shared vec4 kv_tile[KEYS * CHUNK_QUADS];
shared vec4 weight_tile[TOKENS * LANES]; // (token, lane): its 4 keys

// Quads lie at a place that depends on their row, so that invocations on neighbouring rows hit
// different banks: quad i at the place of quad 0, xor i. Rows 16 apart are alike.
uint tile_index(uint row, uint quad)
{
    return (row * CHUNK_QUADS + (row & 7u)) ^ quad;
}

// The same for quads, or weights, of tokens, whose pairs are alike.
uint token_index(uint token, uint quad)
{
    return (token * CHUNK_QUADS + (token / 2u & 7u)) ^ quad;
}

void set_pair(uint token, uint lane, vec2 pair)
{
    weight_tile[token_index(token, lane)] = vec4(pair, 0.0, 0.0);
}

vec2 get_pair(uint token, uint lane)
{
    return weight_tile[token_index(token, lane)].xy;
}

void set_quad(uint token, uint quad, vec4 value)
{
    kv_tile[tile_index(token, quad)] = value;
}

vec4 get_quad(uint token, uint quad)
{
    return kv_tile[tile_index(token, quad)];
}

uint chunk_quads(uint chunk)
{
#if HEAD_DIM % 64 == 0
    return CHUNK_QUADS;
#else
    return min(CHUNK_QUADS, N_QUAD - chunk * CHUNK_QUADS);
#endif
}

//-- q, k and v on their way to shared memory ------------------------------------------------------

void load_stage(out Stage stage, int type, uint data, uint scales, Share share, uint first_key, uint chunk)
{
    uint vec8 = min(share.id % 8u, chunk_quads(chunk) / 2u - 1u);
    for (uint i = 0u; i < uint(N_STAGED); i++) {
        uint key = min(first_key + share.id / 8u + 32u * i, share.n_key - 1u);
        fetch_vec8(type, data, scales, share.kv_head * params.n_ctx + key,
                   chunk * (CHUNK_QUADS / 2u) + vec8, stage.first[i], stage.second[i]);
    }
}

void store_stage(Stage stage, int type, Share share)
{
    uint vec8 = share.id % 8u;
    for (uint i = 0u; i < uint(N_STAGED); i++) {
        uint key = share.id / 8u + 32u * i;
        vec4 low, high;
        unpack_vec8(type, stage.first[i], stage.second[i], low, high);
        kv_tile[tile_index(key, 2u * vec8)] = low;
        kv_tile[tile_index(key, 2u * vec8 + 1u)] = high;
    }
}

void load_keys(out Stage stage, Share share, uint first_key, uint chunk)
{
    load_stage(stage, K_TYPE, params.k, params.k_scale, share, first_key, chunk);
}

void load_values(out Stage stage, Share share, uint first_key, uint chunk)
{
    load_stage(stage, V_TYPE, params.v, params.v_scale, share, first_key, chunk);
}

void store_keys(Stage stage, Share share)
{
    store_stage(stage, K_TYPE, share);
}

void store_values(Stage stage, Share share)
{
    store_stage(stage, V_TYPE, share);
}

// Returns the offset of q of a token.
uint query_begin(Share share, uint token)
{
    uint row = min(share.first_token + token, state.n_tokens - 1u);
    return row * (params.q_stride / 4u) + share.head * N_QUAD;
}

vec2 load_queries(Share share)
{
#if SHARED_Q
    for (uint chunk = 0u; chunk < uint(CHUNKS); chunk++) {
        for (uint i = 0u; i < TOKENS * CHUNK_QUADS / GROUP; i++) {
            uint e = gl_LocalInvocationID.x + i * GROUP;
            uint token = e / CHUNK_QUADS, quad = min(e % CHUNK_QUADS, chunk_quads(chunk) - 1u);
            q_tile[token_index(chunk * TOKENS + token, e % CHUNK_QUADS)] =
                q[query_begin(share, token) + chunk * CHUNK_QUADS + quad];
        }
    }
#endif
    return vec2(params.scale);
}

// Returns the places of a chunk of q of both tokens, for query().
uvec2 query_rows(Share share, uint chunk)
{
#if SHARED_Q
    uint first = token_index(chunk * TOKENS + share.token, 0u);
    return uvec2(first, first + CHUNK_QUADS);
#else
    return chunk * CHUNK_QUADS + uvec2(query_begin(share, share.token), query_begin(share, share.token + 1u));
#endif
}

vec4 query(uint row, uint quad)
{
#if SHARED_Q
    return q_tile[row ^ quad];
#else
    return q[row + quad];
#endif
}

//-- scores ----------------------------------------------------------------------------------------

void add_scores(Share share, uint chunk, inout Scores a, inout Scores b)
{
    uvec2 row = query_rows(share, chunk);
    uint first = tile_index(share.lane, 0u);
    for (uint quad = 0u; quad < chunk_quads(chunk) + UNKNOWN_ZERO; quad++) {
        vec4 q_a = query(row.x, quad);
        vec4 q_b = query(row.y, quad);
        uint place = first ^ quad;
        vec4 k = kv_tile[place];
        ADD_PRODUCTS(a.keys.x, q_a, k)
        ADD_PRODUCTS(b.keys.x, q_b, k)
        k = kv_tile[place + 16u * CHUNK_QUADS];
        ADD_PRODUCTS(a.keys.y, q_a, k)
        ADD_PRODUCTS(b.keys.y, q_b, k)
        k = kv_tile[place + 32u * CHUNK_QUADS];
        ADD_PRODUCTS(a.keys.z, q_a, k)
        ADD_PRODUCTS(b.keys.z, q_b, k)
        k = kv_tile[place + 48u * CHUNK_QUADS];
        ADD_PRODUCTS(a.keys.w, q_a, k)
        ADD_PRODUCTS(b.keys.w, q_b, k)
    }
}

void finish_scores(Share share, float scale, uint token, uint first_key, inout Scores scores)
{
    uvec4 keys = first_key + share.lane + uvec4(0u, 16u, 32u, 48u);
    scores.keys = mask_scores(share, scale * scores.keys, token, keys);
}

float largest_of(Scores scores)
{
    return largest_of(scores.keys);
}

float weigh(Share share, Scores scores, uint token, float largest)
{
    // Far below the least that has a weight if masked: cheaper than a branch around exp_negative.
    vec4 x = mix(scores.keys - largest, vec4(MASKED), equal(scores.keys, vec4(MASKED)));
    vec4 weight = vec4(exp_negative(x.x), exp_negative(x.y), exp_negative(x.z), exp_negative(x.w));
    weight_tile[token_index(token, share.lane)] = weight;
    return (weight.x + weight.y) + (weight.z + weight.w);
}

float shrink_of(float largest, float next)
{
    return exp_negative(largest == MASKED ? MASKED : largest - next);
}

//-- sums of values --------------------------------------------------------------------------------

void add_values(Share share, inout vec4 first, inout vec4 second)
{
    uint first_weight = token_index(share.token, 0u);
    for (uint lane = 0u; lane < LANES + UNKNOWN_ZERO; lane++) {
        uint weights = first_weight ^ lane, place = tile_index(lane, share.lane);
        vec4 a = weight_tile[weights];
        vec4 b = weight_tile[weights + LANES];
        vec4 v0 = kv_tile[place];
        vec4 v1 = kv_tile[place + 16u * CHUNK_QUADS];
        vec4 v2 = kv_tile[place + 32u * CHUNK_QUADS];
        vec4 v3 = kv_tile[place + 48u * CHUNK_QUADS];
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
