// Attention of one token over the keys 0..n_past of a layer's cache, in ranges of KEYS keys.
//   out[h] = sum over j of softmax_j(scale * q[h] . k[g, j]) v[g, j],  g = h * n_kv_head / n_head
//
//   scratch  attention/ranges.glsl: out (n_head, HEAD_DIM) at 0, with WRITE_SUMS its sums, partial results of ranges, counters
//   cache    q (n_head, HEAD_DIM) f32, k and v (n_kv_head, n_ctx, HEAD_DIM), attention/kv_vec8.glsl
//
// Group (range, head) takes an invocation a key for the scores, then an vec8 of v's elements and
// every N_SLICE-th key an invocation for the sum. The last group of a head to finish merges the
// head's ranges in their order, so that the result is the same whichever that is; with one range a
// group writes out itself. Reads each key and value once per head of its group. 9 heads of 64 on an
// H200, with its dispatch: 8.4 us at 500 keys, 29 at 8,192; on llvmpipe 0.6 ms and 27 ms.
#include "lib/common.glsl"
#include "lib/exp_log.glsl"
#include "attention/kv_vec8.glsl"
#include "lib/step_state.glsl"

#if !defined(HEAD_DIM) || !defined(KEYS)
#error "HEAD_DIM, a multiple of 8; KEYS of a range"
#endif

#define N_VEC8 (HEAD_DIM / 8)
#define N_SLICE (KEYS / N_VEC8)
#define N_QUAD uint(HEAD_DIM / 4)

layout(local_size_x = KEYS) in;

#include "attention/params.glsl"
#include "attention/score_rule.glsl"
#include "norm/sums.glsl"
#include "attention/softmax.glsl"
#include "attention/weigh.glsl"
#include "attention/ranges.glsl"

shared vec4 sums[2 * KEYS];

float score(uint head, uint row)
{
    uint q = head * uint(HEAD_DIM / 4);
    vec4 sum = vec4(0.0);
    for (uint i = 0u; i < uint(N_VEC8); i++) {
        vec4 low, high;
        read_key(row, i, low, high);
        sum += low * uintBitsToFloat(cache_word(q + 2u * i));
        sum += high * uintBitsToFloat(cache_word(q + 2u * i + 1u));
    }
    return cap_score(params.scale * (sum.x + sum.y + sum.z + sum.w));
}

// Adds up this invocation's vec8 over its keys, then the slices of each vec8 through shared
// memory; the sums of vec8 i are left in sums[2 i] and sums[2 i + 1].
void sum_values(uint lane, uint first_row, uint n_key)
{
    uint vec8 = lane % uint(N_VEC8);
    uint slice = lane / uint(N_VEC8);
    vec4 low_sum = vec4(0.0);
    vec4 high_sum = vec4(0.0);
    if (slice < uint(N_SLICE)) {
        for (uint key = slice; key < n_key; key += uint(N_SLICE)) {
            vec4 low, high;
            read_value(first_row + key, vec8, low, high);
            low_sum += weights[key] * low;
            high_sum += weights[key] * high;
        }
    }
    sums[2u * lane] = low_sum;
    sums[2u * lane + 1u] = high_sum;
    group_barrier();
    if (lane < N_QUAD) {
        vec4 sum = sums[lane];
        for (uint i = 1u; i < uint(N_SLICE); i++) {
            sum += sums[lane + i * N_QUAD];
        }
        sums[lane] = sum;
    }
}

// Quad `lane` of what the ranges from first on together give.
vec4 merge_ranges(uint lane, uint head, uint first, uint n_range)
{
    float largest = MASKED;
    for (uint i = first; i < n_range; i++) {
        largest = max(largest, read_softmax(partial_begin(head, i)).x);
    }
    vec4 sum = vec4(0.0);
    float weight_sum = 0.0;
    for (uint i = first; i < n_range; i++) {
        uint begin = partial_begin(head, i);
        vec2 both = read_softmax(begin);
        float factor = exp_negative(both.x - largest);
        weight_sum += factor * both.y;
        sum += factor * read_quad(begin + 4u * lane);
    }
    return sum / weight_sum;
}

void write_partial(uint lane, uint begin, float largest, float weight_sum)
{
    if (lane < N_QUAD) {
        write_quad(begin + 4u * lane, sums[lane]);
    }
    if (lane == 0u) {
        write_softmax(begin, vec2(largest, weight_sum));
    }
}

#if WRITE_SUMS
// Of the head's results, which this group has written.
void write_sums(uint lane, uint head)
{
    if (lane < uint(HEAD_DIM) / SUM_SIZE) {
        uint begin = head * uint(HEAD_DIM) + SUM_SIZE * lane;
        vec4 sum = vec4(0.0);
        for (uint i = 0u; i < SUM_SIZE; i += 4u) {
            sum += read_quad(begin + i);
        }
        uint sums = sums_begin(params.n_head * uint(HEAD_DIM));
        scratch[sums + begin / SUM_SIZE] = floatBitsToUint((sum.x + sum.y) + (sum.z + sum.w));
    }
}
#endif

void main()
{
    uint lane = gl_LocalInvocationID.x;
    uint range = gl_WorkGroupID.x;
    uint head = gl_WorkGroupID.y;
    uint n_all = min(state.n_past + 1u, params.n_ctx);
    uint n_range = (n_all + uint(KEYS) - 1u) / uint(KEYS);
    // The grid may have ranges past the keys, after the end of a text, and before a window; they do nothing.
    uint seen = first_seen(n_all);
    uint first_range = seen / uint(KEYS);
    bool is_needed = range >= first_range && range < n_range;
    uint first_key = is_needed ? range * uint(KEYS) : 0u;
    uint n_key = is_needed ? min(n_all - first_key, uint(KEYS)) : 0u;

    uint first_row = head * params.n_kv_head / params.n_head * params.n_ctx + first_key;
    float value = score(head, first_row + min(lane, max(n_key, 1u) - 1u));
    float largest = weigh_keys(lane, lane < n_key && first_key + lane >= seen ? value : MASKED, MASKED);
    sum_weights(lane);
    sum_values(lane, first_row, n_key);
    float weight_sum = sum_stripes();

    uint out_quad = head * uint(HEAD_DIM) + 4u * lane;
    bool is_split = n_range - first_range > 1u;
    if (is_needed && is_split) {
        write_partial(lane, partial_begin(head, range), largest, weight_sum);
    }
    if (is_needed && !is_split && lane < N_QUAD) {
        write_quad(out_quad, sums[lane] / weight_sum);
    }
    bool is_merging = is_last_range(lane, head, n_range - first_range, is_needed && is_split);
    if (is_merging && lane < N_QUAD) {
        write_quad(out_quad, merge_ranges(lane, head, first_range, n_range));
    }
#if WRITE_SUMS
    memoryBarrierBuffer();
    group_barrier();
    if (is_merging || (is_needed && !is_split)) {
        write_sums(lane, head);
    }
#endif
}
