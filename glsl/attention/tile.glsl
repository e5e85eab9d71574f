// Attention of a prompt's batch by tiles, the core of attention_batch.comp:
// token m, at position n_past + m, over the keys 0..n_past + m, with AFTER also over later keys.
//   out[m, h] = sum over j of softmax_j(scale * q[m, h] . k[g, j]) v[g, j]
//   with g = h * n_kv_head / n_head
//
//   out    (n_tokens, stride)  (n_head, HEAD_DIM) of it written; with HALF 1 in f16, gemm/half_rows.glsl
//   q      (n_tokens, stride)  (n_head, HEAD_DIM), pair order
//   cache  a layer's k and v, (n_kv_head, n_ctx, HEAD_DIM) each, attention/kv_vec8.glsl
//
// Group (i, h) owns 32 tokens of head h, with TALL 1 64, the last tokens first, so that the longest
// walks begin first. It walks over the keys that its last token sees by tiles of KEYS. k and then v
// of a tile are staged in shared memory, a chunk of 64 elements of the head at a time, and the next
// chunk is loaded before this one is worked on. An invocation owns 2 tokens: by KEYS / 16 keys of
// the scores, and by 4 elements of every chunk of the sum. Softmax is online, in f32: each tile
// rescales what was summed before.
//
// ROLLED 1 is for compilers that run out of registers, or have fewer lanes or waves then: loops
// over a tile have a bound that they do not know, a chunk is loaded when it is stored, and values
// derived from an invocation's number are computed again for each tile, and after its scores.
//
// A kernel defines KEYS, HALF, and before this file the structs Stage (a chunk
// of k or v on its way to shared memory) and Scores (of a token and the invocation's keys of a
// tile).
#ifndef TALL
#define TALL 0
#endif
#ifndef ROLLED
#define ROLLED 0
#endif
#define GROUP (TALL == 1 ? 512u : 256u)
#define TOKENS (GROUP / 8u)
#define LANES 16u // of a token
#if ROLLED
#define UNKNOWN_ZERO (params.n_head >> 31u)
#else
#define UNKNOWN_ZERO 0u
#endif
#define CHUNKS ((HEAD_DIM + 63) / 64)
#ifndef SPLITS // groups (i, h, part) that share the sum of a wide head; each has all scores
#define SPLITS 1
#endif
#define OWN_CHUNKS (CHUNKS / SPLITS)
#define N_QUAD uint(HEAD_DIM / 4)

#if TALL
layout(local_size_x = 512) in;
#else
layout(local_size_x = 256) in;
#endif

#if HALF
#include "gemm/half_rows_store.glsl" // HEAD_DIM is a multiple of 64
#else
layout(std430, binding = 0) restrict writeonly buffer Out { vec4 result[]; };
#endif
layout(std430, binding = 1) restrict readonly buffer Q { vec4 q[]; };

#include "params/attention.glsl"
#include "lib/first_group.glsl"
#define MASKS_TILES
#include "attention/softmax.glsl"
#include "attention/score_rule.glsl"

// An invocation owns tokens token and token + 1 of the group's, lane `lane` of their keys, and
// quad `lane` of every chunk.
struct Share {
    uint head, kv_head, first_token, n_key; // n_key: keys that the last token sees
    uint id, token, lane;                   // id: the invocation's number
};

//-- what a kernel defines -------------------------------------------------------------------------

// Loads a chunk of the keys, or their values, from first_key on; keys past the last are the last.
void load_keys(out Stage stage, Share share, uint first_key, uint chunk);
void load_values(out Stage stage, Share share, uint first_key, uint chunk);
// Stores it in the tile in shared memory.
void store_keys(Stage stage, Share share);
void store_values(Stage stage, Share share);
// Stages q where it is read from shared memory; returns the factor of the products of both tokens.
vec2 load_queries(Share share);
// Adds a chunk's share of q . k of both tokens.
void add_scores(Share share, uint chunk, inout Scores a, inout Scores b);
// Scales, caps and masks the scores of a token: all but those of the keys that it sees.
void finish_scores(Share share, float scale, uint token, uint first_key, inout Scores scores);
float largest_of(Scores scores);
// Stores the weights of a token's keys relative to `largest` in shared memory; returns their sum.
float weigh(Share share, Scores scores, uint token, float largest);
// Returns by what sums shrink when the largest score grows from `largest` to `next`.
float shrink_of(float largest, float next);
// Adds a tile's share of a chunk for both tokens.
void add_values(Share share, inout vec4 first, inout vec4 second);
// Two numbers of a token's lane, in the place of its weights.
void set_pair(uint token, uint lane, vec2 pair);
vec2 get_pair(uint token, uint lane);
// A quad of a token's chunk, in the place of the tile.
void set_quad(uint token, uint quad, vec4 value);
vec4 get_quad(uint token, uint quad);

//-- scores ----------------------------------------------------------------------------------------

// Returns the scores of four keys of a token, masked but for those that it sees.
vec4 mask_scores(Share share, vec4 score, uint token, uvec4 keys)
{
    return mask_scores(score, share.head, state.n_past + share.first_token + token + 1u, keys);
}

// Returns true if all tokens of the group see all keys of a tile and no rule changes their scores.
bool is_plain(Share share, uint first_key)
{
    return SOFTCAP == 0 && WINDOW == 0 && ALIBI == 0 &&
           first_key + KEYS <= end_seen(state.n_past + share.first_token + 1u);
}

float largest_of(vec4 score)
{
    return max(max(score.x, score.y), max(score.z, score.w));
}

//-- results ---------------------------------------------------------------------------------------

#if HALF
// Returns the largest x of eight neighbouring invocations.
float largest_of_eight(float x)
{
    uint id = gl_LocalInvocationID.x;
    set_pair(id / LANES, id % LANES, vec2(x, 0.0));
    group_barrier();
    for (uint i = 0u; i < 8u; i++) {
        x = max(x, get_pair(id / LANES, id % LANES / 8u * 8u + i).x);
    }
    return x;
}

// Writes a chunk, which goes through the tile of k and v, so that an invocation has a word of one
// token.
void write_chunk(Share share, uint chunk, vec4 first, vec4 second)
{
    uint id = gl_LocalInvocationID.x, word = id % 8u, row = share.first_token + id / 8u;
    group_barrier();
    set_quad(share.token, share.lane, first);
    set_quad(share.token + 1u, share.lane, second);
    group_barrier();
    vec4 a = get_quad(id / 8u, 2u * word), b = get_quad(id / 8u, 2u * word + 1u);
    float largest = largest_of_eight(largest_of_word(a, b));
    if (row < state.n_tokens) {
        store_half_word(row, share.head * (N_QUAD / 2u) + 8u * chunk + word,
                        params.out_stride / HALF_COLUMNS, a, b, largest);
    }
}
#else
void write_token(Share share, uint token, uint chunk, vec4 value)
{
    uint row = share.first_token + token, quad = 16u * chunk + share.lane;
    if (row < state.n_tokens && quad < N_QUAD) {
        result[row * (params.out_stride / 4u) + share.head * N_QUAD + quad] = value;
    }
}

void write_chunk(Share share, uint chunk, vec4 first, vec4 second)
{
    write_token(share, share.token, chunk, first);
    write_token(share, share.token + 1u, chunk, second);
}
#endif

//-- the walk --------------------------------------------------------------------------------------

// Sets what follows from the number of an invocation.
void place(inout Share share, uint id)
{
    uint lane = id % 32u, warp = id / 32u;
    share.id = id;
    share.token = 2u * (lane / 8u + warp / 2u * 4u);
    share.lane = lane % 8u + warp % 2u * 8u;
}

Share make_share(uint head)
{
    uint n_group = (state.n_tokens + TOKENS - 1u) / TOKENS;
    Share share;
    share.head = head;
    share.kv_head = head * params.n_kv_head / params.n_head;
    share.first_token = (n_group - 1u - min(gl_WorkGroupID.x, n_group - 1u)) * TOKENS;
    share.n_key = end_seen(state.n_past + min(share.first_token + TOKENS, state.n_tokens));
    place(share, gl_LocalInvocationID.x);
    return share;
}

void main()
{
    Share share = make_share(gl_WorkGroupID.y + first_group);
    float largest_a = MASKED, largest_b = MASKED, sum_a = 0.0, sum_b = 0.0;
    uint own = SPLITS > 1 ? gl_WorkGroupID.z * uint(OWN_CHUNKS) : 0u; // the first chunk of its sum
    vec4 first[OWN_CHUNKS], second[OWN_CHUNKS];
    for (int i = 0; i < OWN_CHUNKS; i++) {
        first[i] = vec4(0.0);
        second[i] = vec4(0.0);
    }
    uint first_key = first_seen(state.n_past + share.first_token + 1u) / KEYS * KEYS;
    Stage stage;
#if !ROLLED
    load_keys(stage, share, first_key, 0u);
#endif
    vec2 scale = load_queries(share);
    for (; first_key < share.n_key; first_key += KEYS) {
#if ROLLED
        place(share, gl_LocalInvocationID.x + (first_key >> 31u)); // the same number: it only looks new
#endif
        Scores a = NO_SCORES, b = NO_SCORES;
        for (uint chunk = 0u; chunk < uint(CHUNKS); chunk++) {
#if ROLLED
            load_keys(stage, share, first_key, chunk);
#endif
            store_keys(stage, share);
            group_barrier();
#if !ROLLED
            if (chunk + 1u < uint(CHUNKS)) {
                load_keys(stage, share, first_key, chunk + 1u);
            } else {
                load_values(stage, share, first_key, own);
            }
#endif
            add_scores(share, chunk, a, b);
#if ROLLED
            place(share, gl_LocalInvocationID.x + (first_key >> 30u));
#endif
            if (chunk + 1u == uint(CHUNKS)) {
                finish_scores(share, scale.x, share.token, first_key, a);
                finish_scores(share, scale.y, share.token + 1u, first_key, b);
                set_pair(share.token, share.lane, vec2(largest_of(a), largest_of(b)));
            }
            group_barrier();
        }
        vec2 next = vec2(largest_a, largest_b);
        for (uint i = 0u; i < LANES + UNKNOWN_ZERO; i++) {
            next = max(next, get_pair(share.token, i));
        }
        group_barrier();
        float shrink_a = shrink_of(largest_a, next.x), shrink_b = shrink_of(largest_b, next.y);
        sum_a = sum_a * shrink_a + weigh(share, a, share.token, next.x);
        sum_b = sum_b * shrink_b + weigh(share, b, share.token + 1u, next.y);
        largest_a = next.x;
        largest_b = next.y;
        for (int chunk = 0; chunk < OWN_CHUNKS; chunk++) {
#if ROLLED
            load_values(stage, share, first_key, own + uint(chunk));
#endif
            store_values(stage, share);
            group_barrier();
#if !ROLLED
            if (chunk + 1 < OWN_CHUNKS) {
                load_values(stage, share, first_key, own + uint(chunk) + 1u);
            } else {
                load_keys(stage, share, first_key + KEYS, 0u);
            }
#endif
            first[chunk] *= shrink_a;
            second[chunk] *= shrink_b;
            add_values(share, first[chunk], second[chunk]);
            group_barrier();
        }
    }
    set_pair(share.token, share.lane, vec2(sum_a, sum_b));
    group_barrier();
    vec2 sum = vec2(0.0);
    for (uint i = 0u; i < LANES + UNKNOWN_ZERO; i++) {
        sum += get_pair(share.token, i);
    }
    sum = vec2(with_sink(sum.x, largest_a, share.head), with_sink(sum.y, largest_b, share.head));
    for (int chunk = 0; chunk < OWN_CHUNKS; chunk++) {
        write_chunk(share, own + uint(chunk), first[chunk] / sum.x, second[chunk] / sum.y);
    }
}
