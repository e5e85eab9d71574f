// Attention of one token by groups that take HEADS heads of a kv head, the last of these groups maybe
// some that another has, too, and every n_range-th tile of its keys: a key and a value are read and
// converted once for all of these heads, and what does not depend on the number of keys is done
// once for them. For GPUs of boards and Intel's.
//
// First an invocation scores EACH keys of a tile at a time, with q from a uniform block; then the
// scores, all in shared memory, become weights; then it takes a vec8 of the values of every
// N_SLICE-th key. The last group of a run of heads to finish merges its ranges, in their order.
// Buffers are those of attention.comp. Reads each key and value once per run of heads.
//
// Scores are times log2(e), so that a weight is a power of two. Trip counts are the same in all groups:
// V3D, whose subgroups may have invocations of several groups, else masks each instruction.
// Measurements: glsl/measurements.md.
#if !defined(WG_SIZE) || !defined(REP) || !defined(HEADS) || !defined(EACH) || !defined(Q_QUADS)
#error "WG_SIZE; REP heads a kv head; HEADS of a group, 4 at most; EACH; DOTS; Q_QUADS; RANGE_TILES"
#endif

layout(local_size_x = WG_SIZE) in;

#if ROWS // kv heads of all slots, one slot after another
#define KV_HEAD ((gl_WorkGroupID.z + first_group) % params.n_kv_head)
#define query_at(i) uintBitsToFloat(cache_word(i))
#else
#define KV_HEAD (gl_WorkGroupID.z + first_group)
#define query_at(i) query[i]
#endif

#define N_SLICE (WG_SIZE / N_VEC8)
#define N_OWN (HEADS * HEAD_DIM / 4) // quads of a group's result
#define N_SCORE (EACH * HEADS)       // of an invocation at a time
#define TILE uint(WG_SIZE * EACH)
#define RANGE_KEYS 512 // keys that a group has room for: src/ops/attention/attention_heads.c
#define TOGETHER (DOTS == 1 && EACH == 1 && N_VEC8 % 2 == 0 ? 2 : 1) // vec8s of a turn
#define LOG2_E 1.4426950408889634
// Types are written out: what reads declarations for other executors knows no macros.
#if HEADS == 1
#define PER_HEAD float
#define OF_HEAD(value, h) value
shared float weights[RANGE_KEYS]; // scores at first
shared float weight_sums[N_SLICE];
#elif HEADS == 2
#define PER_HEAD vec2
shared vec2 weights[RANGE_KEYS];
shared vec2 weight_sums[N_SLICE];
#elif HEADS == 3
#define PER_HEAD vec3
shared vec3 weights[RANGE_KEYS];
shared vec3 weight_sums[N_SLICE];
#else
#define PER_HEAD vec4
shared vec4 weights[RANGE_KEYS];
shared vec4 weight_sums[N_SLICE];
#endif
#ifndef OF_HEAD
#define OF_HEAD(value, h) value[h]
#endif

#if !ROWS
layout(std140, binding = 2) uniform Query { vec4 query[Q_QUADS]; };
#endif

shared int largest_bits[HEADS]; // of a score, as order_of gives it
shared vec4 sums[N_SLICE * N_OWN];

// Returns n, which the compiler does not know, so that it does not unroll a loop.
uint bound(int n)
{
    return uint(n) + (params.n_ctx >> 31u);
}

// The quads of the group's result that the invocation owns, after the heads of another group.
#if REP % HEADS == 0
#define FIRST_OWN 0u
#else
#define FIRST_OWN (max(gl_WorkGroupID.y * uint(HEADS), uint(REP - HEADS)) - uint(REP - HEADS)) * N_QUAD
#endif
#if N_OWN <= WG_SIZE
#define EACH_OWN(i) uint i = lane + FIRST_OWN; if (i < uint(N_OWN))
#else
#define EACH_OWN(i) for (uint i = lane + FIRST_OWN; i < uint(N_OWN); i += uint(WG_SIZE))
#endif

// The group's: its kv head's first row in the cache, its first head, keys up to the token's own,
// keys before the first that it sees.
uint lane, k_data, v_data, first_row, first_head, n_key, n_seen, n_tile, n_range;

// Returns the score of a key whose products with q, times LOG2_E params.scale, are sum.
float finish_score(vec4 sum)
{
    float score = params.scale * ((sum.x + sum.y) + (sum.z + sum.w));
    return LOG2_E * cap_score(score);
}

// Adds a vec8's products with q to the sums of the keys from first on; with DOTS 1 to one sum a key
// and head, which takes not as many registers than four.
void add_products(uint first, uint vec8, inout vec4 sum[N_SCORE])
{
    vec4 low[EACH], high[EACH];
    for (int i = 0; i < EACH; i++) {
        uint key = min(first + uint(i * WG_SIZE), n_key - 1u);
        read_vec8(K_TYPE, k_data, params.k_scale, first_row + key, vec8, low[i], high[i]);
    }
    for (int h = 0; h < HEADS; h++) {
        uint head = first_head + uint(h);
        uint at = head * N_QUAD + 2u * vec8;
        vec4 a = query_at(at), b = query_at(at + 1u);
        for (int i = 0; i < EACH; i++) {
#if DOTS
            sum[i * HEADS + h].x += dot(low[i], a) + dot(high[i], b);
#else
            sum[i * HEADS + h] += low[i] * a;
            sum[i * HEADS + h] += high[i] * b;
#endif
        }
    }
}

// Leaves the scores of the range's keys in weights, and the largest of each head.
void score_range()
{
    PER_HEAD largest = PER_HEAD(MASKED);
    uint own = lane, first = n_seen + gl_WorkGroupID.x * TILE + lane;
    for (uint tile = 0u; tile < n_tile; tile += n_range) {
        vec4 sum[N_SCORE];
        for (int i = 0; i < N_SCORE; i++) {
            sum[i] = vec4(0.0);
        }
        for (uint vec8 = 0u; vec8 < bound(N_VEC8); vec8 += uint(TOGETHER)) {
            for (uint j = 0u; j < uint(TOGETHER); j++) {
                add_products(first, vec8 + j, sum);
            }
        }
        for (int i = 0; i < EACH; i++) {
            PER_HEAD score;
            for (int h = 0; h < HEADS; h++) {
                OF_HEAD(score, h) = finish_score(sum[i * HEADS + h]);
            }
            score = first + uint(i * WG_SIZE) < n_key ? score : PER_HEAD(MASKED);
            largest = max(largest, score);
            weights[own + uint(i * WG_SIZE)] = score;
        }
        own += TILE;
        first += n_range * TILE;
    }
    for (int h = 0; h < HEADS; h++) {
        atomicMax(largest_bits[h], order_of(OF_HEAD(largest, h)));
    }
    group_barrier();
}

// Turns scores into weights.
void weigh_range()
{
    PER_HEAD largest;
    for (int h = 0; h < HEADS; h++) {
        OF_HEAD(largest, h) = value_of(largest_bits[h]);
    }
    uint own = lane;
    for (uint tile = 0u; tile < n_tile; tile += n_range) {
        for (int i = 0; i < EACH; i++) {
            weights[own] = exp2(max(weights[own] - largest, PER_HEAD(-126.0)));
            own += uint(WG_SIZE);
        }
    }
    group_barrier();
}

// Leaves the slices' weighted values in sums, and their sums of weights.
void sum_values()
{
    vec4 low_sum[HEADS], high_sum[HEADS];
    PER_HEAD weight_sum = PER_HEAD(0.0);
    for (int h = 0; h < HEADS; h++) {
        low_sum[h] = vec4(0.0);
        high_sum[h] = vec4(0.0);
    }
    uint vec8 = lane % uint(N_VEC8), slice = lane / uint(N_VEC8);
    uint own = slice, first = n_seen + gl_WorkGroupID.x * TILE + slice;
    for (uint tile = 0u; tile < n_tile; tile += n_range) {
        for (uint i = 0u; i < bound(int(TILE)); i += uint(N_SLICE)) {
            vec4 low, high;
            uint row = first_row + min(first + i, n_key - 1u);
            read_vec8(V_TYPE, v_data, params.v_scale, row, vec8, low, high);
            PER_HEAD weight = weights[own + i];
            weight_sum += weight;
            for (int h = 0; h < HEADS; h++) {
                low_sum[h] += OF_HEAD(weight, h) * low;
                high_sum[h] += OF_HEAD(weight, h) * high;
            }
        }
        own += TILE;
        first += n_range * TILE;
    }
    for (int h = 0; h < HEADS; h++) {
        uint at = slice * uint(N_OWN) + uint(h) * N_QUAD + 2u * vec8;
        sums[at] = low_sum[h];
        sums[at + 1u] = high_sum[h];
    }
    weight_sums[slice] = weight_sum;
    group_barrier();
}

// Writes quad `own` of the group's results, or of its range's partial ones.
void write_own(uint own, bool is_partial, vec4 sum, vec2 softmax)
{
    uint head = first_head + own / N_QUAD;
    write_head_quad(head, gl_WorkGroupID.x, own % N_QUAD, is_partial, sum, softmax);
#if WRITE_SUMS
    vec4 value = sum / with_sink(softmax.y, softmax.x, head);
    sums[own].x = (value.x + value.y) + (value.z + value.w);
#endif
}

// Adds up the slices.
void write_range(uint own, bool is_partial)
{
    uint h = own / N_QUAD;
    vec4 sum = sums[own];
    float weight_sum = OF_HEAD(weight_sums[0], h);
    for (uint i = 1u; i < bound(N_SLICE); i++) {
        sum += sums[i * uint(N_OWN) + own];
        weight_sum += OF_HEAD(weight_sums[i], h);
    }
    write_own(own, is_partial, sum, vec2(value_of(largest_bits[h]), weight_sum));
}

void merge(uint own)
{
    vec4 sum = vec4(0.0);
    vec2 both = vec2(MASKED, 0.0); // largest score, sum of weights
    uint begin = partial_begin(first_head + own / N_QUAD, 0u);
    for (uint i = 0u; i < n_range; i++) {
        vec2 other = read_softmax(begin);
        float largest = max(both.x, other.x);
        vec2 factor = exp2(max(vec2(both.x, other.x) - largest, vec2(-126.0)));
        sum = factor.x * sum + factor.y * read_quad(begin + 4u * (own % N_QUAD));
        both = vec2(largest, factor.x * both.y + factor.y * other.y);
        begin += uint(HEAD_DIM + 4);
    }
    write_own(own, false, sum, both);
}

#if WRITE_SUMS
// Writes the sums of the group's results, whose quads' are in sums.
void write_sums()
{
    group_barrier();
    uint begin = sums_begin(params.n_head * uint(HEAD_DIM));
    begin += first_head * uint(HEAD_DIM) / SUM_SIZE;
    EACH_OWN(i) {
        if (i % 4u == 0u) {
            float sum = (sums[i].x + sums[i + 1u].x) + (sums[i + 2u].x + sums[i + 3u].x);
            uint at = SCRATCH_BEGIN + begin + i / 4u;
            scratch_quads[at / 4u][at % 4u] = floatBitsToUint(sum);
        }
    }
}
#endif

void main()
{
    if (is_idle()) {
        return;
    }
    lane = gl_LocalInvocationIndex;
    k_data = params.k;
    v_data = params.v;
    first_head = KV_HEAD * uint(REP) + min(gl_WorkGroupID.y * uint(HEADS), uint(REP - HEADS));
    first_row = KV_HEAD * params.n_ctx;
    n_key = min(state.n_past + 1u, params.n_ctx);
    n_seen = first_seen(n_key);
    n_tile = (n_key - n_seen - 1u) / TILE + 1u;
    n_range = min((n_tile - 1u) / uint(RANGE_TILES) + 1u, params.max_range);
    if (lane < uint(HEADS)) {
        largest_bits[lane] = order_of(MASKED);
    }
    group_barrier();
    score_range();
    weigh_range();
    sum_values();

    // The grid may have ranges past the keys, after the end of a text and before a window; they
    // write nothing.
    bool is_needed = gl_WorkGroupID.x < n_range, is_split = n_range > 1u;
    if (is_needed) {
        EACH_OWN(own) {
            write_range(own, is_split);
        }
    }
    bool is_last = !is_split || is_last_range(lane, first_head, n_range, is_needed);
    if (is_split && is_last) {
        EACH_OWN(own) {
            merge(own);
        }
    }
#if WRITE_SUMS
    if (is_needed && is_last) {
        write_sums();
    }
#endif
}
