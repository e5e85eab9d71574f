// Attention for llvmpipe, where a group is one vector of 8 invocations and costs 5 us before its first
// key. What an invocation works on is in private memory, nothing branches but the loop over tiles of
// keys, keys come by texel fetches, since llvmpipe loads from buffers lane by lane, and each fetch serves
// several queries. Softmax is online. Measurements: glsl/measurements.md.
//
// BATCH 0: one token, from the buffers of attention.comp. Invocation i owns keys i, i + 8, ... of the
// range's tiles, 8 VECTORS keys each, for HEADS heads of one kv head. At the end the invocations' results
// meet in shared memory, after a barrier that is free for a group of one vector. Ranges take tiles in
// turn; the last group to finish merges them.
//
// BATCH 1: token m, at position n_past + m, over the keys 0..n_past + m, with AFTER also over later keys.
// Formula and bindings: attention/tile.glsl. A group has VECTORS * 8 rows: token by token, the HEADS heads
// of one kv head. Invocation i owns rows i, i + 8, ... Tiles have KEYS keys, and softmax needs no other
// invocation.
#include "lib/common.glsl"
#include "lib/exp_log.glsl"
#include "params/attention.glsl"
#if BATCH
#include "lib/first_group.glsl"
#endif
#include "lib/slot.glsl"
#include "attention/kv_vec8.glsl"

#if !defined(HEAD_DIM) || !defined(HEADS) || !defined(VECTORS) || !defined(KEYS)
#error "HEAD_DIM, a multiple of 8, in a batch over 256 of 16; HEADS; VECTORS of 8 keys or tokens; KEYS"
#endif

#define N_VEC8 (HEAD_DIM / 8)
#define N_QUAD uint(HEAD_DIM / 4)

// Loops over a head are nested where it is wide: llvmpipe unrolls one of up to 32 turns over an
// array of its length, and ends all loops that it does not unroll after 65,535 turns together.
#if BATCH && HEAD_DIM > 256
#define N_HALF 2
#else
#define N_HALF 1
#endif
#define HALF_VEC8 (N_VEC8 / N_HALF)
#define EACH_VEC8 for (int h = 0; h < N_HALF; h++) for (int j = 0; j < HALF_VEC8; j++)
#define VEC8 uint(h * HALF_VEC8 + j)

#if BATCH
#define QUERIES VECTORS // of an invocation: tokens of heads
#define EACH KEYS       // keys of a tile that an invocation meets: all
#define KEY_OF(first, n) ((first) + uint(n))
#define TOKENS (8 * VECTORS / HEADS) // of a group
#else
#define QUERIES HEADS
#define EACH VECTORS // every eighth
#define KEY_OF(first, n) ((first) + uint(8 * (n)) + gl_LocalInvocationID.x)
#endif

layout(local_size_x = 8) in;

#if BATCH
layout(std430, binding = 0) restrict writeonly buffer Out { vec4 result[]; };
layout(std430, binding = 1) restrict readonly buffer Q { vec4 q[]; };
#define query_at(i) q[i]
#else
#define query_at(i) uintBitsToFloat(cache_word(i))
#endif

#include "attention/score_rule.glsl"
#include "attention/softmax.glsl"

// An invocation owns these.
vec4 query_low[QUERIES][N_HALF][HALF_VEC8], query_high[QUERIES][N_HALF][HALF_VEC8];
vec4 sum_low[QUERIES][N_HALF][HALF_VEC8], sum_high[QUERIES][N_HALF][HALF_VEC8];
float weight_sum[QUERIES], largest[QUERIES];

// Begins query i, whose quads are from `begin` on.
void begin_query(int i, uint begin)
{
    EACH_VEC8 {
        query_low[i][h][j] = query_at(begin + 2u * VEC8);
        query_high[i][h][j] = query_at(begin + 2u * VEC8 + 1u);
        sum_low[i][h][j] = vec4(0.0);
        sum_high[i][h][j] = vec4(0.0);
    }
    weight_sum[i] = 0.0;
    largest[i] = MASKED;
}

#if BATCH
uint token[QUERIES], head[QUERIES];

// Returns a score of query i as its token sees it.
float mask_score(int i, uint key, uint n_key, float score)
{
    uint n_seen = state.n_past + token[i] + 1u;
#if ALIBI
    score -= alibi_bias(head[i], n_seen, key);
#endif
    score = key < end_seen(n_seen) ? score : MASKED;
    return key >= first_seen(n_seen) ? score : MASKED;
}
#else
float mask_score(int i, uint key, uint n_key, float score)
{
    return key < n_key ? score : MASKED;
}
#endif

void score_key(uint row, out float score[QUERIES])
{
    vec4 sum[QUERIES];
    for (int i = 0; i < QUERIES; i++) {
        sum[i] = vec4(0.0);
    }
    EACH_VEC8 {
        vec4 low, high;
        read_key(row, VEC8, low, high);
        for (int i = 0; i < QUERIES; i++) {
            sum[i] += query_low[i][h][j] * low;
            sum[i] += query_high[i][h][j] * high;
        }
    }
    for (int i = 0; i < QUERIES; i++) {
        score[i] = cap_score(params.scale * ((sum[i].x + sum[i].y) + (sum[i].z + sum[i].w)));
    }
}

// Turns scores into weights relative to the largest so far, and rescales what was summed before.
void weigh(inout float weight[EACH][QUERIES])
{
    for (int i = 0; i < QUERIES; i++) {
        float top = largest[i];
        for (int n = 0; n < EACH; n++) {
            top = max(top, weight[n][i]);
        }
        float factor = weight_of(largest[i], top);
        weight_sum[i] *= factor;
        for (int n = 0; n < EACH; n++) {
            weight[n][i] = weight_of(weight[n][i], top);
            weight_sum[i] += weight[n][i];
        }
        EACH_VEC8 {
            sum_low[i][h][j] *= factor;
            sum_high[i][h][j] *= factor;
        }
        largest[i] = top;
    }
}

void add_value(uint row, float weight[QUERIES])
{
    EACH_VEC8 {
        vec4 low, high;
        read_value(row, VEC8, low, high);
        for (int i = 0; i < QUERIES; i++) {
            sum_low[i][h][j] += weight[i] * low;
            sum_high[i][h][j] += weight[i] * high;
        }
    }
}

// Adds the tile at first_key, of n_key keys in all.
void add_tile(uint first_row, uint first_key, uint n_key)
{
    float weight[EACH][QUERIES];
    for (int n = 0; n < EACH; n++) {
        uint key = KEY_OF(first_key, n);
        score_key(first_row + min(key, n_key - 1u), weight[n]);
        for (int i = 0; i < QUERIES; i++) {
            weight[n][i] = mask_score(i, key, n_key, weight[n][i]);
        }
    }
    weigh(weight);
    for (int n = 0; n < EACH; n++) {
        add_value(first_row + min(KEY_OF(first_key, n), n_key - 1u), weight[n]);
    }
}

#if BATCH
void write_tokens(uint end)
{
    for (int i = 0; i < QUERIES; i++) {
        uint begin = token[i] * (params.out_stride / 4u) + head[i] * N_QUAD;
        float total = with_sink(weight_sum[i], largest[i], head[i]);
        if (token[i] < end) {
            EACH_VEC8 {
                result[begin + 2u * VEC8] = sum_low[i][h][j] / total;
                result[begin + 2u * VEC8 + 1u] = sum_high[i][h][j] / total;
            }
        }
    }
}

void main()
{
    uint n_rep = params.n_head / params.n_kv_head, n_run = (n_rep + uint(HEADS) - 1u) / uint(HEADS);
    uint run = gl_WorkGroupID.y + first_group, kv_head = run / n_run;
    uint first_head = kv_head * n_rep + run % n_run * uint(HEADS);
    uint last_head = (kv_head + 1u) * n_rep - 1u; // stands in for those past it
    uint first_token = gl_WorkGroupID.x * uint(TOKENS);
    uint end = min(first_token + uint(TOKENS), state.n_tokens), n_key = end_seen(state.n_past + end);
    for (int i = 0; i < QUERIES; i++) {
        uint row = uint(8 * i) + gl_LocalInvocationID.x;
        token[i] = first_token + row / uint(HEADS);
        head[i] = min(first_head + row % uint(HEADS), last_head);
        begin_query(i, min(token[i], end - 1u) * (params.q_stride / 4u) + head[i] * N_QUAD);
    }
    for (uint key = first_seen(state.n_past + first_token + 1u); key < n_key; key += uint(KEYS)) {
        add_tile(kv_head * params.n_ctx, key, n_key);
    }
    write_tokens(end);
}
#else
#include "attention/ranges.glsl"

#define TURNS ((HEAD_DIM / 4 + 7) / 8) // quads of a result that an invocation owns
#define TILE uint(8 * VECTORS)

// The results of all invocations: (HEADS, 8, N_QUAD) sums; largest score and sum of weights.
shared vec4 sums[HEADS * 8 * 2 * N_VEC8];
shared vec2 softmax[HEADS * 8];

void share_sums(uint lane)
{
    for (int i = 0; i < HEADS; i++) {
        uint at = uint(8 * i) + lane;
        EACH_VEC8 {
            sums[at * N_QUAD + 2u * VEC8] = sum_low[i][h][j];
            sums[at * N_QUAD + 2u * VEC8 + 1u] = sum_high[i][h][j];
        }
        softmax[at] = vec2(largest[i], weight_sum[i]);
    }
    group_barrier();
}

// Joins quads lane, lane + 8, ... of the invocations' results for a head; returns their largest
// score and sum of weights.
vec2 join(uint lane, int head, out vec4 sum[TURNS])
{
    vec2 both = vec2(MASKED, 0.0);
    for (int i = 0; i < 8; i++) {
        both.x = max(both.x, softmax[8 * head + i].x);
    }
    for (int j = 0; j < TURNS; j++) {
        sum[j] = vec4(0.0);
    }
    for (int i = 0; i < 8; i++) {
        vec2 own = softmax[8 * head + i];
        float factor = weight_of(own.x, both.x);
        both.y += factor * own.y;
        for (int j = 0; j < TURNS; j++) {
            uint quad = min(lane + uint(8 * j), N_QUAD - 1u);
            sum[j] += factor * sums[uint(8 * head + i) * N_QUAD + quad];
        }
    }
    return both;
}

// Writes an invocation's quads of a head's result, or of the partial one of a range.
void write_head(uint lane, uint head, uint range, bool is_split, vec4 sum[TURNS], vec2 both)
{
    for (int j = 0; j < TURNS; j++) {
        uint quad = lane + uint(8 * j);
        if (quad < N_QUAD) {
            write_head_quad(head, range, quad, is_split, sum[j], both);
        }
    }
}

void merge_head(uint lane, uint head, uint n_range)
{
    vec4 sum[TURNS];
    vec2 both;
    for (int j = 0; j < TURNS; j++) {
        sum[j] = merge_ranges(head, 0u, n_range, min(lane + uint(8 * j), N_QUAD - 1u), both);
    }
    write_head(lane, head, 0u, false, sum, both);
}

void main()
{
    uint lane = gl_LocalInvocationID.x;
    uint range = gl_WorkGroupID.x;
    uint n_group = gl_NumWorkGroups.y / params.n_kv_head;
    uint kv_head = gl_WorkGroupID.y / n_group;
    uint n_rep = params.n_head / params.n_kv_head;
    uint first_head = kv_head * n_rep + gl_WorkGroupID.y % n_group * uint(HEADS);
    uint last_head = (kv_head + 1u) * n_rep - 1u; // stands in for those past it
    if (is_idle()) {
        return;
    }
    uint n_key = min(state.n_past + 1u, params.n_ctx);
    uint first_key = first_seen(n_key);
    uint n_range = (n_key - first_key + uint(KEYS) - 1u) / uint(KEYS);
    // The grid may have ranges past the keys; they do nothing.
    bool is_needed = range < n_range;
    for (int i = 0; i < HEADS; i++) {
        begin_query(i, min(first_head + uint(i), last_head) * N_QUAD);
    }
    first_key += is_needed ? range * TILE : n_key;
    for (; first_key < n_key; first_key += n_range * TILE) {
        add_tile(kv_head * params.n_ctx, first_key, n_key);
    }
    share_sums(lane);
    for (int i = 0; is_needed && i < HEADS; i++) {
        vec4 sum[TURNS];
        vec2 both = join(lane, i, sum);
        write_head(lane, min(first_head + uint(i), last_head), range, n_range > 1u, sum, both);
    }
    if (is_last_range(lane, first_head, n_range, is_needed && n_range > 1u)) {
        for (int i = 0; i < HEADS; i++) {
            merge_head(lane, min(first_head + uint(i), last_head), n_range);
        }
    }
}
#endif
