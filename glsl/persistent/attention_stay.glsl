// What attention of groups that stay has in common: attention_resident.comp, attention_qkv.comp. They declare Params
// with the fields of the former, scratch and counters, and include what reads the cache (attention/kv_vec8.glsl). They
// define
//
//   void begin_head(Part part)       calls open_head() with an vec8 of q
//   void renew_tile(Part part, inout Tile tile, uint key)
//                                    may put keys and values in place of what the cache had

#define N_VEC8 (HEAD_DIM / 8)
#define N_SLOT (WG_SIZE / N_VEC8)
#define N_QUAD uint(HEAD_DIM / 4)
#define N_SUBGROUP (WG_SIZE / SUBGROUP)
#define TILE 4u // rows
#define FEW 8u  // rows that one range takes alone
#define MASKED -3.0e38
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
#include "attention/score_rule.glsl"

// Results of subgroups: sums; largest score, sum of weights. Scores are times log2(e) throughout, so that a weight
// is a power of two.
shared vec4 sums[N_SUBGROUP * HEAD_DIM / 4];
shared vec2 softmax[N_SUBGROUP];
shared uint is_last;

void group_barrier()
{
    memoryBarrierShared();
    barrier();
}

//-- what a group works on -------------------------------------------------------------------------

struct Part {
    uint head;
    uint first_row;        // of its kv head in the cache
    uint n_key, seen;      // up to the token's own; the first that it sees
    uint key, end, stride; // of the invocation: the first, past the last, from one to the next
    bool is_few;
};

Part find_part()
{
    Part part;
    uint range = gl_WorkGroupID.x;
    part.head = gl_WorkGroupID.y;
    part.first_row = part.head / (params.n_head / params.n_kv_head) * params.n_ctx;
    part.n_key = min(state.n_past + 1u, params.n_ctx);
    part.seen = first_seen(part.n_key);
    uint first = part.seen / uint(N_SLOT), end = (part.n_key - 1u) / uint(N_SLOT) + 1u;
    part.is_few = RANGES == 1 || end - first <= FEW;
    bool is_idle = part.head >= params.n_head || (part.is_few && range > 0u);
    part.stride = uint(N_SLOT) * (part.is_few ? 1u : uint(RANGES));
    part.end = is_idle ? 0u : part.n_key;
    part.key = (first + (part.is_few ? 0u : range)) * uint(N_SLOT) +
               gl_LocalInvocationIndex / uint(N_VEC8);
    return part;
}

//-- tiles -----------------------------------------------------------------------------------------

// An vec8 of a key and of its value, as the cache has them (attention/kv_vec8.glsl).
struct Row {
    uvec4 key_first, key_second, value_first, value_second;
};

struct Tile {
    Row a, b, c, d;
};

Row load_row(Part part, uint own)
{
    uint vec8 = gl_LocalInvocationIndex % uint(N_VEC8), at = part.first_row + own;
    Row row;
    fetch_vec8(K_TYPE, params.k, params.k_scale, at, vec8, row.key_first, row.key_second);
    fetch_vec8(V_TYPE, params.v, params.v_scale, at, vec8, row.value_first, row.value_second);
    return row;
}

// Row of key `own`, zero where that is past the last.
Row fetch_row(Part part, uint own)
{
    Row row = Row(uvec4(0u), uvec4(0u), uvec4(0u), uvec4(0u));
    if (own < part.end) {
        row = load_row(part, own);
    }
    return row;
}

Tile fetch_tile(Part part, uint key)
{
    return Tile(fetch_row(part, key), fetch_row(part, key + part.stride),
                fetch_row(part, key + 2u * part.stride), fetch_row(part, key + 3u * part.stride));
}

// The group's first row in the place of one past the last, which costs a load of what all ask for and saves looking: of
// later tiles nearly all rows are there, of the first two often few. Not the last one: the token's own may not be there
// yet. On an H200 Llama-3.2-1B makes 2,438 tokens/s with fetch_tile throughout, 2,474 so, at 2,048 keys 2,130 and 2,173;
// Qwen3-0.6B there 2,045 and 2,056. Heads of 128 with this throughout: Llama-3.1-8B 648 and 639.
Row load_some_row(Part part, uint own)
{
    uint slot = gl_LocalInvocationIndex / uint(N_VEC8);
    return load_row(part, own < part.end ? own : part.key - slot);
}

Tile fetch_next(Part part, uint key)
{
    return Tile(load_some_row(part, key), load_some_row(part, key + part.stride),
                load_some_row(part, key + 2u * part.stride),
                load_some_row(part, key + 3u * part.stride));
}

vec4 q_low, q_high; // an vec8 of q; times scale and log2(e) where nothing caps scores
vec4 low, high;     // an vec8 of the sum of weighted values
vec2 both;          // largest score, sum of weights

// Sets q, and what has to be set anew for each head.
void begin_head(Part part);
// Puts in place of what the cache had what a kernel knows better.
void renew_tile(Part part, inout Tile tile, uint key);

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
vec4 score_tile(Part part, Tile tile, uint key)
{
    vec4 s = vec4(dot_row(tile.a), dot_row(tile.b), dot_row(tile.c), dot_row(tile.d));
    s = sum_lanes(s, 1, N_VEC8);
#if SOFTCAP
    s *= params.scale;
    s = LOG2_E * vec4(cap_score(s.x), cap_score(s.y), cap_score(s.z), cap_score(s.w));
#endif
    uvec4 own = key + uvec4(0u, 1u, 2u, 3u) * part.stride;
    s = mix(s, vec4(MASKED), greaterThanEqual(own, uvec4(part.end)));
#if WINDOW
    s = mix(s, vec4(MASKED), lessThan(own, uvec4(part.seen)));
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

void work_tile(Part part, inout Tile tile, uint key)
{
    renew_tile(part, tile, key);
    vec4 s = score_tile(part, tile, key);
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

void work_tiles(Part part)
{
    uint slot = gl_LocalInvocationIndex / uint(N_VEC8), step = TILE * part.stride;
    Tile tile_0 = fetch_tile(part, part.key);
    Tile tile_1 = fetch_tile(part, part.key + step);
    begin_head(part);
    for (uint key = part.key; key - slot < part.end; key += 2u * step) {
        work_tile(part, tile_0, key);
        if (key - slot + 2u * step < part.end) {
            tile_0 = fetch_next(part, key + 2u * step);
        }
        if (key - slot + step < part.end) {
            work_tile(part, tile_1, key + step);
        }
        if (key - slot + 3u * step < part.end) {
            tile_1 = fetch_next(part, key + 3u * step);
        }
    }
}

//-- parts -----------------------------------------------------------------------------------------

// What the invocations of a subgroup have for an vec8, together, in shared memory.
void share_parts()
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

vec4 put_quad(vec4 value)
{
    return vec4(PUT(value.x), PUT(value.y), PUT(value.z), PUT(value.w));
}

// A quad of the group's result; joined: their largest score as it is put, sum of weights.
vec4 join(uint quad, out vec2 joined)
{
    joined = vec2(MASKED, 0.0);
    for (uint i = 0u; i < uint(N_SUBGROUP); i++) {
        joined.x = max(joined.x, softmax[i].x);
    }
    joined.x = PUT(joined.x); // what the others weigh by is what was meant, to the last bit
    vec4 sum = vec4(0.0);
    for (uint i = 0u; i < uint(N_SUBGROUP); i++) {
        vec2 part = softmax[i];
        float factor = exp2(min(part.x - joined.x, 1.0)); // of no keys MASKED less what is put of it
        joined.y += factor * part.y;
        sum += factor * sums[i * N_QUAD + quad];
    }
    return sum;
}

// The partial result of range i of a head, in quads: sums, then softmax.
uint partial_at(uint head, uint i)
{
    return params.partial / 4u + (head * params.max_range + i) * (N_QUAD + 1u);
}

// Writes the group's result, or the partial one of its range.
void write_result(Part part)
{
    uint quad = gl_LocalInvocationIndex;
    if (quad >= N_QUAD) {
        return;
    }
    vec2 joined;
    vec4 sum = join(quad, joined);
    if (part.is_few) {
        scratch_quads[part.head * N_QUAD + quad] = put_quad(sum / joined.y);
    } else {
        uint at = partial_at(part.head, gl_WorkGroupID.x);
        scratch_quads[at + quad] = put_quad(sum);
        if (quad == 0u) {
            scratch_quads[at + N_QUAD] = put_quad(vec4(joined, 0.0, 0.0));
        }
    }
}

//-- the merge of ranges ---------------------------------------------------------------------------

// Quads first .. end - 1 of the head; is_told: their parts may still be on the way.
void merge_ranges(Part part, uint first, uint end, bool is_told)
{
    uint lane = gl_LocalInvocationIndex, range = lane % uint(N_MERGE);
    uint at = partial_at(part.head, min(range, uint(RANGES) - 1u));
    for (uint begin = first; begin < end; begin += uint(WG_SIZE / N_MERGE)) {
        uint quad = begin + lane / uint(N_MERGE);
        vec4 sum = vec4(0.0), own = vec4(MASKED, 0.0, 0.0, 0.0);
        if (quad < end && range < uint(RANGES)) {
            sum = scratch_quads[at + quad];
            own = scratch_quads[at + N_QUAD];
            if (is_told) {
                TAKE_PUTS(sum, scratch_quads[at + quad], own, scratch_quads[at + N_QUAD])
            }
        }
        float factor = exp2(own.x - max_lanes(own.x, 1, N_MERGE));
        float weight = sum_lanes(factor * own.y, 1, N_MERGE);
        sum = sum_lanes(factor * sum, 1, N_MERGE);
        if (quad < end && range == 0u) {
            scratch_quads[part.head * N_QUAD + quad] = put_quad(sum / weight);
        }
    }
}

// Counts a group that has written its partial result; true in the last of the head, which sees those of all.
bool is_last_range(Part part)
{
    memoryBarrierBuffer();
    group_barrier();
    if (gl_LocalInvocationIndex == 0u) {
        is_last = 0u;
        if (atomicAdd(counters[params.counter / 4u + part.head].x, 1u) == uint(RANGES) - 1u) {
            is_last = 1u;
            counters[params.counter / 4u + part.head].x = 0u;
        }
    }
    group_barrier();
    memoryBarrierBuffer();
    return is_last == 1u;
}

// Whether the partial results of the step before had tags, as they will have in this one.
bool are_told(Part part)
{
    uint n_before = (part.n_key - 2u) / uint(N_SLOT) + 1u;
    return PUTS_ARE_TOLD && n_before - first_seen(part.n_key - 1u) / uint(N_SLOT) > FEW;
}

// The merge of what all ranges have left; the group's own is written.
void merge(Part part)
{
    bool is_told = are_told(part);
    if (is_told || is_last_range(part)) {
        uint share = is_told ? (N_QUAD + uint(RANGES) - 1u) / uint(RANGES) : N_QUAD;
        uint first = is_told ? gl_WorkGroupID.x * share : 0u;
        merge_ranges(part, first, min(first + share, N_QUAD), is_told);
    }
}

void attend()
{
    Part part = find_part();
    if (part.end > 0u) { // the same in all of a group
        work_tiles(part);
        share_parts();
        write_result(part);
        if (RANGES > 1 && !part.is_few) {
            merge(part);
        }
    }
}
