// Attention of one token where all groups of a step have one size: what attention.comp computes,
// from the same buffers. With QKV 1 of q, k and v as their projection leaves them
// (attention/attention_qkv.glsl).
//
// A group takes a head, and every RANGES-th row of N_SLOT keys; there are no more ranges than
// groups that run at once. N_VEC8 neighbouring invocations share a key, a vec8 of elements each. A
// tile is four rows; while one is worked out the next is loaded. An invocation has a softmax of its
// own, so that invocations meet only after a group's last tile.
//
// One range takes all rows if they are few. Else each range publishes its partial result, and in a
// chain that is settled each group of a head merges a share of the elements, and consumes what the
// other ranges publish by its tags: no atomic, no fence. Otherwise the last group of a head to
// finish merges its ranges.
//
// Without arrays, and without loops that must be unrolled: in a text as long as a whole step
// NVIDIA's compiler leaves some loops, with what they index in memory (two heads a group by arrays:
// a third of the speed).
#include "lib/common.glsl"
#include "lib/publish.glsl"
#include "lib/exp_log.glsl"
#include "lib/group.glsl"
#include "params/attention.glsl"
#include "lib/slot.glsl"

#if !defined(HEAD_DIM) || !defined(RANGES)
#error "HEAD_DIM, 8 times a power of two; RANGES of keys, at most SUBGROUP"
#endif

// The layer's scratch, as attention/ranges.glsl shows it; a counter is the first uint of a head's
// word.
layout(std430, binding = 0) coherent buffer Scratch { vec4 scratch_quads[]; };
layout(std430, binding = 0) coherent buffer Counters { uvec4 counters[]; };

#if QKV
layout(std430, binding = 3) coherent buffer Cache { uvec4 cache[]; };

uvec4 cache_word(uint i)
{
    return cache[CACHE_BEGIN + i];
}

#define CACHE_DECLARED
#endif
#include "attention/kv_vec8.glsl"

#define N_VEC8 (HEAD_DIM / 8)
#define N_SLOT (WG_SIZE / N_VEC8)
#define N_QUAD uint(HEAD_DIM / 4)
#define N_SUBGROUP (WG_SIZE / SUBGROUP)
#define TILE 4u       // rows
#define ROWS_ALONE 8u // that one range takes alone
#define LOG2_E 1.4426950408889634

// Invocations that merge a quad: a power of two.
#if RANGES > 16
#define N_MERGE 32
#elif RANGES > 8
#define N_MERGE 16
#elif RANGES > 4
#define N_MERGE 8
#elif RANGES > 2
#define N_MERGE 4
#else
#define N_MERGE 2
#endif

#include "lib/lanes.glsl"
#define SCORE_LOG2 1
#include "attention/score_rule.glsl"
#include "attention/softmax.glsl"

// Results of subgroups: sums; largest score, sum of weights. Scores are times log2(e) throughout,
// so that a weight is a power of two.
shared vec4 sums[N_SUBGROUP * HEAD_DIM / 4];
shared vec2 softmax[N_SUBGROUP];
shared uint is_last;

//-- what a group works on -------------------------------------------------------------------------

struct Share {
    uint head;
    uint first_row;        // of its kv head in the cache
    uint n_key, seen;      // up to the token's own; the first that it sees
    uint key, end, stride; // of the invocation: the first, past the last, from one to the next
    bool is_alone;
};

Share find_share()
{
    Share share;
    uint range = gl_WorkGroupID.x;
    share.head = gl_WorkGroupID.y;
    share.first_row = share.head / (params.n_head / params.n_kv_head) * params.n_ctx;
    share.n_key = min(state.n_past + 1u, params.n_ctx);
    share.seen = first_seen(share.n_key);
    uint first = share.seen / uint(N_SLOT), end = (share.n_key - 1u) / uint(N_SLOT) + 1u;
    share.is_alone = RANGES == 1 || end - first <= ROWS_ALONE;
    bool has_none = is_idle() || share.head >= params.n_head || (share.is_alone && range > 0u);
    share.stride = uint(N_SLOT) * (share.is_alone ? 1u : uint(RANGES));
    share.end = has_none ? 0u : share.n_key;
    share.key = (first + (share.is_alone ? 0u : range)) * uint(N_SLOT) +
               gl_LocalInvocationIndex / uint(N_VEC8);
    return share;
}

//-- tiles -----------------------------------------------------------------------------------------

// A vec8 of a key and of its value, as the cache has them (attention/kv_vec8.glsl).
struct Row {
    uvec4 key_first, key_second, value_first, value_second;
};

struct Tile {
    Row a, b, c, d;
};

Row load_row(Share share, uint own)
{
    uint vec8 = gl_LocalInvocationIndex % uint(N_VEC8), at = share.first_row + own;
    Row row;
    fetch_vec8(K_TYPE, params.k, params.k_scale, at, vec8, row.key_first, row.key_second);
    fetch_vec8(V_TYPE, params.v, params.v_scale, at, vec8, row.value_first, row.value_second);
    return row;
}

// Row of key `own`, zero where that is past the last.
Row fetch_row(Share share, uint own)
{
    Row row = Row(uvec4(0u), uvec4(0u), uvec4(0u), uvec4(0u));
    if (own < share.end) {
        row = load_row(share, own);
    }
    return row;
}

Tile fetch_tile(Share share, uint key)
{
    return Tile(fetch_row(share, key), fetch_row(share, key + share.stride),
                fetch_row(share, key + 2u * share.stride), fetch_row(share, key + 3u * share.stride));
}

// Loads the group's first row in the place of one past the last: a load of what all ask for is
// cheaper than a branch in later tiles, which nearly always have all rows. Not the last row: the
// token's own may not be written yet.
Row load_some_row(Share share, uint own)
{
    uint slot = gl_LocalInvocationIndex / uint(N_VEC8);
    return load_row(share, own < share.end ? own : share.key - slot);
}

Tile fetch_next(Share share, uint key)
{
    return Tile(load_some_row(share, key), load_some_row(share, key + share.stride),
                load_some_row(share, key + 2u * share.stride),
                load_some_row(share, key + 3u * share.stride));
}

vec4 q_low, q_high; // a vec8 of q; times scale and log2(e) where nothing caps scores
vec4 low, high;     // a vec8 of the sum of weighted values
vec2 both;          // largest score, sum of weights

// Calls open_head() with a vec8 of q.
void begin_head(Share share);
// Replaces the token's own key and value, which the cache may not have yet.
void renew_tile(Share share, inout Tile tile, uint key);

// q as it is loaded; where nothing caps the scores it is scaled instead of them.
void open_head(vec4 a, vec4 b)
{
    q_low = a;
    q_high = b;
#if !SOFTCAP
    q_low *= LOG2_E * params.scale;
    q_high *= LOG2_E * params.scale;
#endif
    low = high = vec4(0.0);
    both = vec2(MASKED, 0.0);
}

float dot_row(Row row)
{
    vec4 a, b;
    unpack_vec8(K_TYPE, row.key_first, row.key_second, a, b);
    vec4 p = a * q_low + b * q_high;
    return (p.x + p.y) + (p.z + p.w);
}

// Scores of the keys of a tile, the first of which is `key`.
vec4 score_tile(Share share, Tile tile, uint key)
{
    vec4 s = vec4(dot_row(tile.a), dot_row(tile.b), dot_row(tile.c), dot_row(tile.d));
    s = sum_lanes(s, 1, N_VEC8);
#if SOFTCAP
    s *= params.scale;
    s = LOG2_E * vec4(cap_score(s.x), cap_score(s.y), cap_score(s.z), cap_score(s.w));
#endif
    uvec4 own = key + uvec4(0u, 1u, 2u, 3u) * share.stride;
    s = mix(s, vec4(MASKED), greaterThanEqual(own, uvec4(share.end)));
#if WINDOW
    s = mix(s, vec4(MASKED), lessThan(own, uvec4(share.seen)));
#endif
    return s;
}

void add_row(Row row, float weight)
{
    vec4 a, b;
    unpack_vec8(V_TYPE, row.value_first, row.value_second, a, b);
    low += weight * a;
    high += weight * b;
}

void work_tile(Share share, inout Tile tile, uint key)
{
    renew_tile(share, tile, key);
    vec4 s = score_tile(share, tile, key);
    float largest = max(both.x, max(max(s.x, s.y), max(s.z, s.w)));
    float base = max(largest, 0.5 * MASKED); // of masked keys alone: their weights are 0
    float factor = exp2(both.x - base);
    vec4 weights = exp2(s - base);
    both = vec2(largest,
                factor * both.y + ((weights.x + weights.y) + (weights.z + weights.w)));
    low *= factor;
    high *= factor;
    add_row(tile.a, weights.x);
    add_row(tile.b, weights.y);
    add_row(tile.c, weights.z);
    add_row(tile.d, weights.w);
}

void work_tiles(Share share)
{
    uint slot = gl_LocalInvocationIndex / uint(N_VEC8), step = TILE * share.stride;
    Tile tile_0 = fetch_tile(share, share.key);
    Tile tile_1 = fetch_tile(share, share.key + step);
    begin_head(share);
    for (uint key = share.key; key - slot < share.end; key += 2u * step) {
        work_tile(share, tile_0, key);
        if (key - slot + 2u * step < share.end) {
            tile_0 = fetch_next(share, key + 2u * step);
        }
        if (key - slot + step < share.end) {
            work_tile(share, tile_1, key + step);
        }
        if (key - slot + 3u * step < share.end) {
            tile_1 = fetch_next(share, key + 3u * step);
        }
    }
}

//-- the group -------------------------------------------------------------------------------------

// Leaves the sums of each subgroup in shared memory.
void share_sums()
{
    uint lane = gl_LocalInvocationIndex, subgroup = lane / uint(SUBGROUP);
    float largest = max_lanes(both.x, N_VEC8, SUBGROUP);
    float factor = exp2(both.x - largest);
    both = vec2(largest, sum_lanes(factor * both.y, N_VEC8, SUBGROUP));
    low = sum_lanes(factor * low, N_VEC8, SUBGROUP);
    high = sum_lanes(factor * high, N_VEC8, SUBGROUP);
    if (lane % uint(SUBGROUP) < uint(N_VEC8)) {
        uint at = subgroup * N_QUAD + 2u * (lane % uint(N_VEC8));
        sums[at] = low;
        sums[at + 1u] = high;
    }
    if (lane % uint(SUBGROUP) == 0u) {
        softmax[subgroup] = both;
    }
    group_barrier();
}

vec4 publish_quad(vec4 value)
{
    return vec4(PUBLISH(value.x), PUBLISH(value.y), PUBLISH(value.z), PUBLISH(value.w));
}

// Returns a quad of the group's result; joined: the largest score as it is published, sum of
// weights.
vec4 join(uint quad, out vec2 joined)
{
    joined = vec2(MASKED, 0.0);
    for (uint i = 0u; i < uint(N_SUBGROUP); i++) {
        joined.x = max(joined.x, softmax[i].x);
    }
    joined.x = PUBLISH(joined.x); // the same bits that other groups weigh by
    vec4 sum = vec4(0.0);
    for (uint i = 0u; i < uint(N_SUBGROUP); i++) {
        vec2 other = softmax[i];
        float factor = exp2(min(other.x - joined.x, 1.0)); // without keys: MASKED less its
                                                           // published value
        joined.y += factor * other.y;
        sum += factor * sums[i * N_QUAD + quad];
    }
    return sum;
}

uint counter_at(uint head)
{
    return (SCRATCH_BEGIN + params.counter) / 4u + head;
}

uint result_at(uint head, uint quad)
{
    return SCRATCH_BEGIN / 4u + head * N_QUAD + quad;
}

// The partial result of range i of a head, in quads: sums, then softmax.
uint partial_at(uint head, uint i)
{
    return (SCRATCH_BEGIN + params.partial) / 4u + (head * params.max_range + i) * (N_QUAD + 1u);
}

// Writes the group's result, or the partial one of its range.
void write_result(Share share)
{
    uint quad = gl_LocalInvocationIndex;
    if (quad >= N_QUAD) {
        return;
    }
    vec2 joined;
    vec4 sum = join(quad, joined);
    if (share.is_alone) {
        scratch_quads[result_at(share.head, quad)] = 
            publish_quad(sum / with_sink(joined.y, joined.x, share.head));
    } else {
        uint at = partial_at(share.head, gl_WorkGroupID.x);
        scratch_quads[at + quad] = publish_quad(sum);
        if (quad == 0u) {
            scratch_quads[at + N_QUAD] = publish_quad(vec4(joined, 0.0, 0.0));
        }
    }
}

//-- the merge of ranges ---------------------------------------------------------------------------

// Merges quads first .. end - 1 of the head; is_published: other groups may still be writing their
// partial results.
void merge_ranges(Share share, uint first, uint end, bool is_published)
{
    uint lane = gl_LocalInvocationIndex, range = lane % uint(N_MERGE);
    uint at = partial_at(share.head, min(range, uint(RANGES) - 1u));
    for (uint begin = first; begin < end; begin += uint(WG_SIZE / N_MERGE)) {
        uint quad = begin + lane / uint(N_MERGE);
        vec4 sum = vec4(0.0), own = vec4(MASKED, 0.0, 0.0, 0.0);
        if (quad < end && range < uint(RANGES)) {
            sum = scratch_quads[at + quad];
            own = scratch_quads[at + N_QUAD];
            if (is_published) {
                CONSUME_QUADS(sum, scratch_quads[at + quad], own, scratch_quads[at + N_QUAD])
            }
        }
        float largest = max_lanes(own.x, 1, N_MERGE);
        float factor = exp2(own.x - largest);
        float weight = with_sink(sum_lanes(factor * own.y, 1, N_MERGE), largest, share.head);
        sum = sum_lanes(factor * sum, 1, N_MERGE);
        if (quad < end && range == 0u) {
            scratch_quads[result_at(share.head, quad)] = publish_quad(sum / weight);
        }
    }
}

// Counts a group that has written its partial result. True in the last group of the head, which
// sees those of all.
bool is_last_range(Share share)
{
    memoryBarrierBuffer();
    group_barrier();
    if (gl_LocalInvocationIndex == 0u) {
        is_last = 0u;
        if (atomicAdd(counters[counter_at(share.head)].x, 1u) == uint(RANGES) - 1u) {
            is_last = 1u;
            counters[counter_at(share.head)].x = 0u;
        }
    }
    group_barrier();
    memoryBarrierBuffer();
    return is_last == 1u;
}

// Returns true if the partial results of the step before had tags, as those of this step have.
bool is_published_before(Share share)
{
    uint n_before = (share.n_key - 2u) / uint(N_SLOT) + 1u;
    return STAGE_PUBLISHES && n_before - first_seen(share.n_key - 1u) / uint(N_SLOT) > ROWS_ALONE;
}

// Merges the partial results of all ranges; the group's own is written.
void merge(Share share)
{
    bool is_published = is_published_before(share);
    if (is_published || is_last_range(share)) {
        uint n_own = is_published ? (N_QUAD + uint(RANGES) - 1u) / uint(RANGES) : N_QUAD;
        uint first = is_published ? gl_WorkGroupID.x * n_own : 0u;
        merge_ranges(share, first, min(first + n_own, N_QUAD), is_published);
    }
}

#if QKV
#include "attention/attention_qkv.glsl"
#else
void begin_head(Share share)
{
    uint at = share.head * N_QUAD + 2u * (gl_LocalInvocationIndex % uint(N_VEC8));
    open_head(uintBitsToFloat(cache_word(at)), uintBitsToFloat(cache_word(at + 1u)));
}

void renew_tile(Share share, inout Tile tile, uint key) {}
#endif

void main()
{
    Share share = find_share();
    if (share.end > 0u) { // the same in all of a group
        work_tiles(share);
        share_sums();
        write_result(share);
        if (RANGES > 1 && !share.is_alone) {
            merge(share);
        }
    }
}
