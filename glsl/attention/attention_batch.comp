// Causal attention of a batch: token m, at position n_past + m, over the keys 0..n_past + m.
//   out[m, h] = sum over j of softmax_j(scale * q[m, h] . k[g, j]) v[g, j]
//   with g = h * n_kv_head / n_head
//
//   out    (n_tokens, stride)  (n_head, HEAD_DIM) of it written
//   q      (n_tokens, stride)  (n_head, HEAD_DIM), pair order
//   cache  a layer's k and v, (n_kv_head, n_ctx, HEAD_DIM) each, attention/kv_vec8.glsl
//
// Group (i, h) owns 32 tokens of head h and walks over the keys that the last of them sees by tiles
// of 32. k and then v of a tile are staged in shared memory as f32, 64 elements of the head at a
// time. For the scores an invocation owns 2 tokens by 4 keys, for the sum 4 tokens by 4 elements of
// every 64; the weights pass from one to the other through shared memory. Softmax is online: each
// tile rescales what was summed before. Shared memory: 8 KiB of k or v, 4 KiB of weights. Each key
// and value is read once per 32 tokens and head. 9 heads of 64 on an H200: 512 tokens in 70 us,
// after 1,000 keys 214 us.
#include "lib/common.glsl"
#include "lib/exp_log.glsl"
#include "attention/kv_vec8.glsl"
#include "lib/step_state.glsl"

#if !defined(HEAD_DIM)
#error "HEAD_DIM, a multiple of 8"
#endif

#define TILE 32u // tokens, and keys
#define WG_SIZE 128u
#define N_QUAD uint(HEAD_DIM / 4)
#define CHUNKS  ((HEAD_DIM + 63) / 64)
#define N_CHUNK uint(CHUNKS)
#define CHUNK_QUADS 16u // of 64 elements
#define MASKED -3.0e38

layout(local_size_x = 128) in;

layout(std430, binding = 0) restrict writeonly buffer Out { vec4 result[]; };
layout(std430, binding = 1) restrict readonly buffer Q { vec4 q[]; };

#include "attention/params.glsl"
#include "attention/score_rule.glsl"

shared vec4 kv_tile[TILE * CHUNK_QUADS];
shared vec4 weight_tile[TILE * TILE / 4u]; // (token, key)
shared float largest_part[TILE * 8u];      // (token, group of 4 keys)
shared float rescale[TILE];

void tile_barrier()
{
    memoryBarrierShared();
    barrier();
}

// Quads lie at a place that depends on their key, so that invocations on neighbouring keys hit
// different banks.
uint tile_index(uint key, uint quad)
{
    return key * CHUNK_QUADS + (quad ^ (key & 7u));
}

uint chunk_quads(uint chunk)
{
    return min(CHUNK_QUADS, N_QUAD - chunk * CHUNK_QUADS);
}

// Stages elements 64 chunk ... of TILE rows of k or v; rows past the last are those of the last.
void load_tile(bool is_key, uint first_row, uint n_row, uint chunk)
{
    uint vec8 = gl_LocalInvocationID.x % 8u;
    if (2u * vec8 < chunk_quads(chunk)) {
        for (uint i = 0u; i < 2u; i++) {
            uint key = gl_LocalInvocationID.x / 8u + 16u * i;
            uint row = first_row + min(key, n_row - 1u);
            uint at = chunk * (CHUNK_QUADS / 2u) + vec8;
            vec4 low, high;
            if (is_key) {
                read_key(row, at, low, high);
            } else {
                read_value(row, at, low, high);
            }
            kv_tile[tile_index(key, 2u * vec8)] = low;
            kv_tile[tile_index(key, 2u * vec8 + 1u)] = high;
        }
    }
}

// Adds a chunk's share of q . k of two tokens for keys key, key + 8, key + 16, key + 24.
void add_scores(uvec2 tokens, uint key, uint chunk, inout vec4 score[2])
{
    for (uint quad = 0u; quad < chunk_quads(chunk); quad++) {
        vec4 a = q[tokens.x + chunk * CHUNK_QUADS + quad];
        vec4 b = q[tokens.y + chunk * CHUNK_QUADS + quad];
        vec4 k0 = kv_tile[tile_index(key, quad)];
        vec4 k1 = kv_tile[tile_index(key + 8u, quad)];
        vec4 k2 = kv_tile[tile_index(key + 16u, quad)];
        vec4 k3 = kv_tile[tile_index(key + 24u, quad)];
        score[0] += vec4(dot(a, k0), dot(a, k1), dot(a, k2), dot(a, k3));
        score[1] += vec4(dot(b, k0), dot(b, k1), dot(b, k2), dot(b, k3));
    }
}

// The scores of four keys, masked but for those in [first, end), their largest shared.
vec4 mask_scores(vec4 score, uint token, uint key, uint first, uint end)
{
    uvec4 keys = key + uvec4(0u, 8u, 16u, 24u);
    score = vec4(cap_score(params.scale * score.x), cap_score(params.scale * score.y),
                 cap_score(params.scale * score.z), cap_score(params.scale * score.w));
    score = mix(vec4(MASKED), score, lessThan(keys, uvec4(end)));
#if WINDOW
    score = mix(score, vec4(MASKED), lessThan(keys, uvec4(first)));
#endif
    largest_part[token * 8u + key] = max(max(score.x, score.y), max(score.z, score.w));
    return score;
}

float weight_of(float score, float largest)
{
    return score == MASKED ? 0.0 : exp_negative(score - largest);
}

// Turns scores into weights relative to the token's largest score so far.
void weigh(vec4 score, uint token, uint key, inout float largest)
{
    float next = largest;
    for (uint i = 0u; i < 8u; i++) {
        next = max(next, largest_part[token * 8u + i]);
    }
    weight_tile[token * 8u + key] = vec4(weight_of(score.x, next), weight_of(score.y, next),
                                         weight_of(score.z, next), weight_of(score.w, next));
    if (key == 0u) {
        rescale[token] = weight_of(largest, next);
    }
    largest = next;
}

// Sums of the weights and of the weighted values of four tokens.
struct Sums {
    vec4 weights;
    vec4 values[4 * CHUNKS];
};

void rescale_sums(uint token, inout Sums sums)
{
    for (uint i = 0u; i < 4u; i++) {
        float factor = rescale[token + i];
        sums.weights[i] *= factor;
        for (uint chunk = 0u; chunk < N_CHUNK; chunk++) {
            sums.values[4u * chunk + i] *= factor;
        }
    }
}

// Adds a tile's share of a chunk of four tokens; the weights themselves with the first chunk.
void add_values(uint token, uint quad, uint chunk, inout Sums sums)
{
    for (uint key = 0u; key < 8u; key++) {
        vec4 v0 = kv_tile[tile_index(key, quad)];
        vec4 v1 = kv_tile[tile_index(key + 8u, quad)];
        vec4 v2 = kv_tile[tile_index(key + 16u, quad)];
        vec4 v3 = kv_tile[tile_index(key + 24u, quad)];
        for (uint i = 0u; i < 4u; i++) {
            vec4 weight = weight_tile[(token + i) * 8u + key];
            sums.values[4u * chunk + i] += weight.x * v0;
            sums.values[4u * chunk + i] += weight.y * v1;
            sums.values[4u * chunk + i] += weight.z * v2;
            sums.values[4u * chunk + i] += weight.w * v3;
            if (chunk == 0u) {
                sums.weights[i] += (weight.x + weight.y) + (weight.z + weight.w);
            }
        }
    }
}

// What an invocation of the score and of the sum owns: tokens of the batch's tile, and where their
// q begins.
struct Share {
    uint kv_head, first_token, n_key; // n_key: keys that the tile's last token sees
    uint pair, key;                   // scores: tokens 2 pair, 2 pair + 1
    uint token, quad;                 // sums: tokens token ... token + 3
    uvec2 q;
};

void score_tile(Share share, uint first_key, inout float largest[2])
{
    uint row = share.kv_head * params.n_ctx + first_key;
    vec4 score[2];
    score[0] = vec4(0.0);
    score[1] = vec4(0.0);
    for (uint chunk = 0u; chunk < N_CHUNK; chunk++) {
        load_tile(true, row, share.n_key - first_key, chunk);
        tile_barrier();
        add_scores(share.q, share.key, chunk, score);
        if (chunk + 1u < N_CHUNK) {
            tile_barrier();
        }
    }
    for (uint i = 0u; i < 2u; i++) {
        uint token = 2u * share.pair + i;
        uint n_seen = state.n_past + share.first_token + token + 1u;
        score[i] = mask_scores(score[i], token, share.key,
                               max(first_seen(n_seen), first_key) - first_key,
                               max(n_seen, first_key) - first_key);
    }
    tile_barrier();
    weigh(score[0], 2u * share.pair, share.key, largest[0]);
    weigh(score[1], 2u * share.pair + 1u, share.key, largest[1]);
}

void sum_tile(Share share, uint first_key, inout Sums sums)
{
    uint row = share.kv_head * params.n_ctx + first_key;
    for (uint chunk = 0u; chunk < N_CHUNK; chunk++) {
        load_tile(false, row, share.n_key - first_key, chunk);
        tile_barrier();
        if (chunk == 0u) {
            rescale_sums(share.token, sums);
        }
        if (share.quad < chunk_quads(chunk)) {
            add_values(share.token, share.quad, chunk, sums);
        }
        tile_barrier();
    }
}

void write_sums(Share share, uint head, Sums sums)
{
    for (uint i = 0u; i < 4u; i++) {
        uint token = share.first_token + share.token + i;
        uint begin = token * (params.out_stride / 4u) + head * N_QUAD + share.quad;
        for (uint chunk = 0u; chunk < N_CHUNK; chunk++) {
            if (token < state.n_tokens && share.quad < chunk_quads(chunk)) {
                result[begin + chunk * CHUNK_QUADS] = sums.values[4u * chunk + i] / sums.weights[i];
            }
        }
    }
}

Share make_share(uint head)
{
    uint lane = gl_LocalInvocationID.x;
    Share share;
    share.kv_head = head * params.n_kv_head / params.n_head;
    share.first_token = gl_WorkGroupID.x * TILE;
    share.n_key = state.n_past + min(share.first_token + TILE, state.n_tokens);
    share.pair = lane / 8u;
    share.key = lane % 8u;
    share.token = lane / 16u * 4u;
    share.quad = lane % 16u;
    uvec2 token = min(share.first_token + 2u * share.pair + uvec2(0u, 1u), state.n_tokens - 1u);
    share.q = token * (params.q_stride / 4u) + head * N_QUAD;
    return share;
}

void main()
{
    uint head = gl_WorkGroupID.y;
    Share share = make_share(head);
    float largest[2];
    Sums sums;
    largest[0] = MASKED;
    largest[1] = MASKED;
    sums.weights = vec4(0.0);
    for (uint i = 0u; i < 4u * N_CHUNK; i++) {
        sums.values[i] = vec4(0.0);
    }
    uint first_key = first_seen(state.n_past + share.first_token + 1u) / TILE * TILE;
    for (; first_key < share.n_key; first_key += TILE) {
        score_tile(share, first_key, largest);
        sum_tile(share, first_key, sums);
    }
    write_sums(share, head, sums);
}
