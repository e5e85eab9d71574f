// Attention of one token: what attention.comp computes, from the same buffers, for llvmpipe.
//
// A group is one vector: invocation i owns keys i, i + 8, ... of the range's tiles, for HEADS heads
// of one kv head, with q, the weighted values and softmax in private memory. Nothing branches but
// the loop over the tiles, 8 VECTORS keys each, and keys come by texel fetches, which serve all
// heads. At the end the invocations' results meet in shared memory, after a barrier that is free for
// a group of one vector. Ranges take tiles in turn; the last group to finish merges them. A
// group costs 5 us before its first key, so there are few. Measurements: glsl/measurements.md.
#include "lib/common.glsl"
#include "lib/exp_log.glsl"
#include "params/attention.glsl"
#include "lib/slot.glsl"
#include "attention/kv_vec8.glsl"

#if !defined(HEAD_DIM) || !defined(HEADS) || !defined(VECTORS) || !defined(KEYS)
#error "HEAD_DIM, a multiple of 8; HEADS of a group; VECTORS of 8 keys; KEYS of a range"
#endif

#define N_VEC8 (HEAD_DIM / 8)
#define N_QUAD uint(HEAD_DIM / 4)
#define TURNS ((HEAD_DIM / 4 + 7) / 8) // quads of a result that an invocation owns
#define TILE uint(8 * VECTORS)

layout(local_size_x = 8) in;

#include "attention/score_rule.glsl"
#include "attention/softmax.glsl"
#include "attention/ranges.glsl"

// An invocation's keys give this for each head.
vec4 q_low[HEADS][N_VEC8], q_high[HEADS][N_VEC8];
vec4 sum_low[HEADS][N_VEC8], sum_high[HEADS][N_VEC8];
float largest[HEADS], weight_sum[HEADS];

// The same of all of them: (HEADS, 8, N_QUAD) sums; largest score and sum of weights.
shared vec4 sums[HEADS * 8 * 2 * N_VEC8];
shared vec2 softmax[HEADS * 8];

// Head h of the group's, the last one of its kv head for those past it.
struct Heads {
    uint first, end;
};

uint head_of(Heads heads, int h)
{
    return min(heads.first + uint(h), heads.end - 1u);
}

void begin_heads(Heads heads)
{
    for (int h = 0; h < HEADS; h++) {
        uint begin = head_of(heads, h) * N_QUAD;
        for (int j = 0; j < N_VEC8; j++) {
            q_low[h][j] = uintBitsToFloat(cache_word(begin + uint(2 * j)));
            q_high[h][j] = uintBitsToFloat(cache_word(begin + uint(2 * j + 1)));
            sum_low[h][j] = vec4(0.0);
            sum_high[h][j] = vec4(0.0);
        }
        largest[h] = MASKED;
        weight_sum[h] = 0.0;
    }
}

void score_key(uint row, bool is_seen, out float score[HEADS])
{
    vec4 sum[HEADS];
    for (int h = 0; h < HEADS; h++) {
        sum[h] = vec4(0.0);
    }
    for (int j = 0; j < N_VEC8; j++) {
        vec4 low, high;
        read_key(row, uint(j), low, high);
        for (int h = 0; h < HEADS; h++) {
            sum[h] += q_low[h][j] * low;
            sum[h] += q_high[h][j] * high;
        }
    }
    for (int h = 0; h < HEADS; h++) {
        float value = cap_score(params.scale * ((sum[h].x + sum[h].y) + (sum[h].z + sum[h].w)));
        score[h] = is_seen ? value : MASKED;
    }
}

// Turns scores into weights relative to the largest so far, and rescales what was summed before.
void weigh(inout float weight[VECTORS][HEADS])
{
    for (int h = 0; h < HEADS; h++) {
        float top = largest[h];
        for (int n = 0; n < VECTORS; n++) {
            top = max(top, weight[n][h]);
        }
        float factor = weight_of(largest[h], top);
        weight_sum[h] *= factor;
        for (int n = 0; n < VECTORS; n++) {
            weight[n][h] = weight_of(weight[n][h], top);
            weight_sum[h] += weight[n][h];
        }
        for (int j = 0; j < N_VEC8; j++) {
            sum_low[h][j] *= factor;
            sum_high[h][j] *= factor;
        }
        largest[h] = top;
    }
}

void add_values(uint row[VECTORS], float weight[VECTORS][HEADS])
{
    for (int j = 0; j < N_VEC8; j++) {
        for (int n = 0; n < VECTORS; n++) {
            vec4 low, high;
            read_value(row[n], uint(j), low, high);
            for (int h = 0; h < HEADS; h++) {
                sum_low[h][j] += weight[n][h] * low;
                sum_high[h][j] += weight[n][h] * high;
            }
        }
    }
}

void add_tile(uint first_row, uint first_key, uint n_key)
{
    uint row[VECTORS];
    float weight[VECTORS][HEADS];
    for (int n = 0; n < VECTORS; n++) {
        uint key = first_key + uint(8 * n) + gl_LocalInvocationID.x;
        row[n] = first_row + min(key, n_key - 1u);
        score_key(row[n], key < n_key, weight[n]);
    }
    weigh(weight);
    add_values(row, weight);
}

void share_sums(uint lane)
{
    for (int h = 0; h < HEADS; h++) {
        uint at = uint(8 * h) + lane;
        for (int j = 0; j < N_VEC8; j++) {
            sums[at * N_QUAD + uint(2 * j)] = sum_low[h][j];
            sums[at * N_QUAD + uint(2 * j + 1)] = sum_high[h][j];
        }
        softmax[at] = vec2(largest[h], weight_sum[h]);
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
    Heads heads = Heads(kv_head * n_rep + gl_WorkGroupID.y % n_group * uint(HEADS), (kv_head + 1u) * n_rep);
    if (is_idle()) {
        return;
    }
    uint n_key = min(state.n_past + 1u, params.n_ctx);
    uint first_key = first_seen(n_key);
    uint n_range = (n_key - first_key + uint(KEYS) - 1u) / uint(KEYS);
    // The grid may have ranges past the keys; they do nothing.
    bool is_needed = range < n_range;

    begin_heads(heads);
    first_key += is_needed ? range * TILE : n_key;
    for (; first_key < n_key; first_key += n_range * TILE) {
        add_tile(kv_head * params.n_ctx, first_key, n_key);
    }
    share_sums(lane);
    for (int h = 0; is_needed && h < HEADS; h++) {
        vec4 sum[TURNS];
        vec2 both = join(lane, h, sum);
        write_head(lane, head_of(heads, h), range, n_range > 1u, sum, both);
    }
    if (is_last_range(lane, heads.first, n_range, is_needed && n_range > 1u)) {
        for (int h = 0; h < HEADS; h++) {
            merge_head(lane, head_of(heads, h), n_range);
        }
    }
}
