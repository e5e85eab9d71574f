// Attention of one token: what attention.comp computes, from the same buffers, by subgroups.
//
// A group takes HEADS heads of a kv head, so that a key is read and converted once for all of them,
// and every n_range-th tile of KEYS keys. Where tiles are few it takes one head and all tiles: a
// merge is more to wait for. N_VEC8 neighbouring invocations share a key, a vec8 of elements each;
// a tile's keys and values are all asked for before the first is waited for. Scores meet by
// shuffles, each step of them for all keys and heads before the next, and each subgroup has a
// softmax of its own: one barrier brings the subgroups together. The last group of a run of heads
// to finish merges its ranges, always in the same order. Reads each key and value once per run of
// heads. Measurements: glsl/measurements.md.
#define SCRATCH_QUADS 1
#include "lib/common.glsl"
#include "lib/exp_log.glsl"
#include "params/attention.glsl"
#include "lib/slot.glsl"
#include "attention/kv_vec8.glsl"

#if !defined(WG_SIZE) || !defined(HEAD_DIM) || !defined(KEYS) || !defined(HEADS)
#error "WG_SIZE; HEAD_DIM, 8 times a power of two; KEYS of a tile, 8 WG_SIZE / HEAD_DIM or more; HEADS"
#endif

#define N_VEC8 (HEAD_DIM / 8)
#define N_SLOT (WG_SIZE / N_VEC8)
#define TURNS (KEYS / N_SLOT)
#define N_QUAD uint(HEAD_DIM / 4)
#define N_OWN (HEADS * HEAD_DIM / 4) // quads of a group's result
#define N_SUBGROUP (WG_SIZE / SUBGROUP)
#define N_MERGE max(1, WG_SIZE / N_OWN)
#define N_PART max(N_SUBGROUP, N_MERGE)
#define N_PREFETCH 4 // ranges that an invocation asks for at once
#define SHORT_TILES 3   // tiles that are not worth ranges of their own
#define LOG2_E 1.4426950408889634

layout(local_size_x = WG_SIZE) in;

#include "attention/score_rule.glsl"
#include "attention/softmax.glsl"
#include "attention/ranges.glsl"

// Results of subgroups, or of every N_MERGE-th range: (N_PART, HEADS, N_QUAD) sums; of each head
// the largest score and the sum of weights.
shared vec4 sums[N_PART * N_OWN];
shared vec2 softmax[N_PART * HEADS];

// exp(x) for x <= 0, whose error counts a few units in the last place only where the weight does.
float exp_of(float x)
{
    return exp2(LOG2_E * x);
}

// HEADS heads of a kv head, whose last one stands for those past it.
uint first_head, last_head;

uint head_of(uint h)
{
    return min(first_head + h, last_head);
}

vec4 q_low[HEADS], q_high[HEADS];
vec2 both[HEADS]; // of the subgroup's keys so far: largest score, sum of weights

void begin_heads(int heads, uint vec8)
{
    for (int h = 0; h < heads; h++) {
        uint at = head_of(uint(h)) * N_QUAD + 2u * vec8;
        q_low[h] = uintBitsToFloat(cache_word(at));
        q_high[h] = uintBitsToFloat(cache_word(at + 1u));
        both[h] = vec2(MASKED, 0.0);
    }
}

//-- a tile ----------------------------------------------------------------------------------------

uvec4 key_first[TURNS], key_second[TURNS]; // as the cache has them: attention/kv_vec8.glsl
uvec4 value_first[TURNS], value_second[TURNS];
float weights[TURNS * HEADS]; // of key i and head h at i * HEADS + h; before, their scores
float factors[HEADS];   // of what was summed before

void fetch_tile(uint first_row, uint key, uint n_key, uint vec8)
{
    for (int i = 0; i < TURNS; i++) {
        uint row = first_row + min(key + uint(i * N_SLOT), n_key - 1u);
        fetch_vec8(K_TYPE, params.k, params.k_scale, row, vec8, key_first[i], key_second[i]);
        fetch_vec8(V_TYPE, params.v, params.v_scale, row, vec8, value_first[i], value_second[i]);
    }
}

void score_tile(int heads, uint key, uint seen, uint n_key)
{
    for (int i = 0; i < TURNS; i++) {
        vec4 low, high;
        unpack_vec8(K_TYPE, key_first[i], key_second[i], low, high);
        for (int h = 0; h < heads; h++) {
            vec4 p = low * q_low[h] + high * q_high[h];
            weights[i * HEADS + h] = (p.x + p.y) + (p.z + p.w);
        }
    }
    for (uint n = 1u; n < uint(N_VEC8); n *= 2u) {
        float other[TURNS * HEADS];
        for (int i = 0; i < TURNS; i++) {
            for (int h = 0; h < heads; h++) {
                other[i * HEADS + h] = subgroupShuffleXor(weights[i * HEADS + h], n);
            }
        }
        for (int i = 0; i < TURNS; i++) {
            for (int h = 0; h < heads; h++) {
                weights[i * HEADS + h] += other[i * HEADS + h];
            }
        }
    }
    for (int i = 0; i < TURNS; i++) {
        uint own = key + uint(i * N_SLOT);
        bool is_seen = own >= seen && own < n_key;
        for (int h = 0; h < heads; h++) {
            float score = cap_score(params.scale * weights[i * HEADS + h]);
            weights[i * HEADS + h] = is_seen ? score : MASKED;
        }
    }
}

// The largest score of each head so far, in the subgroup.
void find_largest(int heads, out float largest[HEADS])
{
    for (int h = 0; h < heads; h++) {
        largest[h] = both[h].x;
        for (int i = 0; i < TURNS; i++) {
            largest[h] = max(largest[h], weights[i * HEADS + h]);
        }
    }
    for (uint n = uint(N_VEC8); n < uint(SUBGROUP); n *= 2u) {
        float other[HEADS];
        for (int h = 0; h < heads; h++) {
            other[h] = subgroupShuffleXor(largest[h], n);
        }
        for (int h = 0; h < heads; h++) {
            largest[h] = max(largest[h], other[h]);
        }
    }
}

// Turns scores into weights.
void weigh_tile(int heads)
{
    float largest[HEADS], sum[HEADS];
    find_largest(heads, largest);
    for (int h = 0; h < heads; h++) {
        sum[h] = 0.0;
        for (int i = 0; i < TURNS; i++) {
            float score = weights[i * HEADS + h];
            weights[i * HEADS + h] = score == MASKED ? 0.0 : exp_of(score - largest[h]);
            sum[h] += weights[i * HEADS + h];
        }
    }
    for (uint n = uint(N_VEC8); n < uint(SUBGROUP); n *= 2u) {
        float other[HEADS];
        for (int h = 0; h < heads; h++) {
            other[h] = subgroupShuffleXor(sum[h], n);
        }
        for (int h = 0; h < heads; h++) {
            sum[h] += other[h];
        }
    }
    for (int h = 0; h < heads; h++) {
        factors[h] = exp_of(both[h].x - largest[h]);
        both[h] = vec2(largest[h], factors[h] * both[h].y + sum[h]);
    }
}

void sum_vec8s(int heads, out vec4 low[HEADS], out vec4 high[HEADS])
{
    for (int h = 0; h < heads; h++) {
        low[h] = vec4(0.0);
        high[h] = vec4(0.0);
    }
    for (int i = 0; i < TURNS; i++) {
        vec4 value_low, value_high;
        unpack_vec8(V_TYPE, value_first[i], value_second[i], value_low, value_high);
        for (int h = 0; h < heads; h++) {
            low[h] += weights[i * HEADS + h] * value_low;
            high[h] += weights[i * HEADS + h] * value_high;
        }
    }
}

// Adds the subgroup's weighted values to its part in shared memory.
void add_values(int heads, uint lane, uint vec8, bool is_first)
{
    vec4 low[HEADS], high[HEADS];
    sum_vec8s(heads, low, high);
    for (uint n = uint(N_VEC8); n < uint(SUBGROUP); n *= 2u) {
        for (int h = 0; h < heads; h++) {
            low[h] += subgroupShuffleXor(low[h], n);
            high[h] += subgroupShuffleXor(high[h], n);
        }
    }
    if (lane % uint(SUBGROUP) < uint(N_VEC8)) {
        uint at = lane / uint(SUBGROUP) * uint(N_OWN) + 2u * vec8;
        for (int h = 0; h < heads; h++) {
            uint own = at + uint(h) * N_QUAD;
            sums[own] = is_first ? low[h] : low[h] + factors[h] * sums[own];
            sums[own + 1u] = is_first ? high[h] : high[h] + factors[h] * sums[own + 1u];
        }
    }
}

//-- parts -----------------------------------------------------------------------------------------

void share_softmax(int heads, uint lane)
{
    if (lane % uint(SUBGROUP) == 0u) {
        for (int h = 0; h < heads; h++) {
            softmax[lane / uint(SUBGROUP) * uint(HEADS) + uint(h)] = both[h];
        }
    }
    group_barrier();
}

// Quad `own` of what n parts give together; joined: their largest score, sum of weights.
vec4 join(uint own, uint n, out vec2 joined)
{
    uint h = own / N_QUAD;
    joined = vec2(MASKED, 0.0);
    for (uint i = 0u; i < n; i++) {
        joined.x = max(joined.x, softmax[i * uint(HEADS) + h].x);
    }
    vec4 sum = vec4(0.0);
    for (uint i = 0u; i < n; i++) {
        vec2 part = softmax[i * uint(HEADS) + h];
        float factor = exp_of(part.x - joined.x);
        joined.y += factor * part.y;
        sum += factor * sums[i * uint(N_OWN) + own];
    }
    return sum;
}

// Writes the result of n parts, or the partial one of a range.
void write_result(int heads, uint lane, uint n, uint range, bool is_partial)
{
    for (uint own = lane; own < uint(heads) * N_QUAD; own += uint(WG_SIZE)) {
        uint head = head_of(own / N_QUAD), quad = own % N_QUAD;
        vec2 joined;
        vec4 sum = join(own, n, joined);
        uint begin = is_partial ? partial_begin(head, range) : head * uint(HEAD_DIM);
        write_quad(begin + 4u * quad, is_partial ? sum : sum / with_sink(joined.y, joined.x, head));
        if (is_partial && quad == 0u) {
            write_softmax(begin, joined);
        }
    }
}

// Ranges i, i + N_MERGE, ... of n_range, a part of the merge: its quad `own`.
vec4 merge_part(uint own, uint i, uint n_range, out vec2 merged)
{
    uint head = head_of(own / N_QUAD), quad = own % N_QUAD;
    vec4 sum = vec4(0.0);
    merged = vec2(MASKED, 0.0);
    for (; i < n_range; i += uint(N_PREFETCH * N_MERGE)) {
        vec4 quads[N_PREFETCH];
        vec2 softmaxes[N_PREFETCH];
        float largest = merged.x;
        for (int j = 0; j < N_PREFETCH; j++) {
            uint begin = partial_begin(head, min(i + uint(j * N_MERGE), n_range - 1u));
            quads[j] = read_quad(begin + 4u * quad);
            softmaxes[j] = read_softmax(begin);
        }
        for (int j = 0; j < N_PREFETCH; j++) {
            largest = max(largest, softmaxes[j].x);
        }
        float factor = exp_of(merged.x - largest);
        sum *= factor;
        merged = vec2(largest, factor * merged.y);
        for (int j = 0; j < N_PREFETCH; j++) {
            bool is_own = i + uint(j * N_MERGE) < n_range;
            factor = is_own ? exp_of(softmaxes[j].x - largest) : 0.0;
            merged.y += factor * softmaxes[j].y;
            sum += factor * quads[j];
        }
    }
    return sum;
}

void merge_ranges(uint lane, uint n_range)
{
    for (uint at = lane; at < uint(N_MERGE * N_OWN); at += uint(WG_SIZE)) {
        uint own = at % uint(N_OWN), part = at / uint(N_OWN);
        vec2 merged;
        sums[at] = merge_part(own, part, n_range, merged);
        if (own % N_QUAD == 0u) {
            softmax[part * uint(HEADS) + own / N_QUAD] = merged;
        }
    }
    group_barrier();
    write_result(HEADS, lane, min(n_range, uint(N_MERGE)), 0u, false);
}

// Tiles range, range + n_range, ... for the first `heads` heads.
void attend(int heads, uint first_row, uint seen, uint n_key, uint range, uint n_range)
{
    uint lane = gl_LocalInvocationIndex, vec8 = lane % uint(N_VEC8);
    uint first_key = (seen / uint(KEYS) + range) * uint(KEYS);
    begin_heads(heads, vec8);
    for (uint begin = first_key; begin < n_key; begin += n_range * uint(KEYS)) {
        uint key = begin + lane / uint(N_VEC8);
        fetch_tile(first_row, key, n_key, vec8);
        score_tile(heads, key, seen, n_key);
        weigh_tile(heads);
        add_values(heads, lane, vec8, begin == first_key);
    }
    share_softmax(heads, lane);
    write_result(heads, lane, uint(N_SUBGROUP), range, n_range > 1u);
}

void main()
{
    uint n_rep = params.n_head / params.n_kv_head;
    uint n_run = (n_rep + uint(HEADS) - 1u) / uint(HEADS);
    uint run = gl_WorkGroupID.y / uint(HEADS), one = gl_WorkGroupID.y % uint(HEADS);
    uint kv_head = run / n_run, first_row = kv_head * params.n_ctx;
    uint n_key = min(state.n_past + 1u, params.n_ctx);
    uint seen = first_seen(n_key);
    uint n_tile = (n_key - 1u) / uint(KEYS) + 1u - seen / uint(KEYS);
    bool is_short = n_tile <= uint(SHORT_TILES);
    uint n_range = is_short ? 1u : min(n_tile, params.max_range);
    uint range = is_short ? gl_WorkGroupID.x : gl_WorkGroupID.x * uint(HEADS) + one;
    first_head = kv_head * n_rep + run % n_run * uint(HEADS) + (is_short ? one : 0u);
    last_head = kv_head * n_rep + n_rep - 1u;
    // The grid may have ranges past the keys, and with few keys heads past the last.
    if (is_idle() || range >= n_range || first_head > last_head) {
        return;
    }
    if (HEADS > 1 && is_short) {
        attend(1, first_row, seen, n_key, 0u, 1u);
    } else {
        attend(HEADS, first_row, seen, n_key, range, n_range);
        if (n_range > 1u && is_last_range(gl_LocalInvocationIndex, run, n_range, true)) {
            merge_ranges(gl_LocalInvocationIndex, n_range);
        }
    }
}
