// Attention of one token over the keys 0..n_past by groups of KEYS invocations, each with a key for
// the scores, then with a vec8 of v's elements and every N_SLICE-th key for the sum.
//   out[h] = sum over j of softmax_j(scale * q[h] . k[g, j]) v[g, j],  g = h * n_kv_head / n_head
//   scratch  attention/ranges.glsl: out (n_head, HEAD_DIM) at 0, with WRITE_SUMS its sums, partial results of ranges,
//            counters
//   cache    q (n_head, HEAD_DIM) f32, k and v (n_kv_head, n_ctx, HEAD_DIM), attention/kv_vec8.glsl
// Group (range, head), of KEYS keys. The last group of a head to finish merges the head's ranges in their order,
// so that the result is the same whichever that is; with one range a group writes out itself.
//
// With JOINT the same by attention/heads.glsl. With ROWS (lib/slot.glsl) a group is of a slot, too, the
// grid's third axis; each has its scratch and its cache.
#ifdef JOINT
#define SCRATCH_QUADS 1
#define SLOT ((gl_WorkGroupID.z + first_group) / params.n_kv_head)
#endif
#include "lib/common.glsl"
#include "lib/exp_log.glsl"

#if !defined(HEAD_DIM) || !(defined(KEYS) || defined(JOINT))
#error "HEAD_DIM, a multiple of 8; KEYS of a range"
#endif
#ifndef PIECES
#define PIECES 0 // 1: a step's heads may run in pieces (lib/first_group.glsl)
#endif
#ifndef ROLLED
#define ROLLED 0 // 1: long loops stay loops, for compilers that otherwise spill
#endif

#if PIECES
#include "lib/first_group.glsl"
#else
#define first_group 0u
#endif
#include "params/attention.glsl"
#include "lib/slot.glsl"
#include "attention/kv_vec8.glsl"

#define N_VEC8 (HEAD_DIM / 8)
#define N_QUAD uint(HEAD_DIM / 4)

#ifdef JOINT
#define SCORE_LOG2 1
#endif
#include "attention/score_rule.glsl"
#include "attention/softmax.glsl"
#ifndef JOINT
#define STRIPES 8u
shared float weights[KEYS]; // declared after the flag of ranges.glsl, they cost AMD ten instructions
shared float stripes[STRIPES];
#endif
#include "attention/ranges.glsl"
#include "norm/sums.glsl"

#ifdef JOINT
#include "attention/heads.glsl"
#else
#define N_SLICE (KEYS / N_VEC8)
#define TOGETHER (ROLLED == 0 ? N_VEC8 : N_VEC8 % 2 == 0 ? 2 : 1) // vec8s of a turn

layout(local_size_x = KEYS) in;

vec4 query(uint i)
{
    return uintBitsToFloat(cache_word(i));
}

// Leaves exp(score - largest) of each key in weights, 0 for a masked one; returns largest, which is
// at least `least`.
float weigh_keys(uint lane, float value, float least)
{
    weights[lane] = value;
    group_barrier();
    if (lane < STRIPES) {
        float largest = value;
        for (uint i = lane + STRIPES; i < uint(KEYS); i += STRIPES) {
            largest = max(largest, weights[i]);
        }
        stripes[lane] = largest;
    }
    group_barrier();
    float largest = least;
    for (uint i = 0u; i < STRIPES; i++) {
        largest = max(largest, stripes[i]);
    }
    weights[lane] = weight_of(value, largest);
    group_barrier();
    return largest;
}

// The sum of the weights by stripes; complete after the next barrier.
void sum_weights(uint lane)
{
    if (lane < STRIPES) {
        float sum = weights[lane];
        for (uint i = lane + STRIPES; i < uint(KEYS); i += STRIPES) {
            sum += weights[i];
        }
        stripes[lane] = sum;
    }
}

float sum_stripes()
{
    float sum = stripes[0];
    for (uint i = 1u; i < STRIPES; i++) {
        sum += stripes[i];
    }
    return sum;
}

shared vec4 sums[2 * KEYS];

// Returns n; with ROLLED 1 the compiler does not know it, and so does not unroll the loop.
uint bound(int n)
{
    return uint(n) + (ROLLED == 1 ? params.n_ctx >> 31u : 0u);
}

float score(uint q_begin, uint row)
{
    vec4 sum = vec4(0.0);
    for (uint first = 0u; first < bound(N_VEC8); first += uint(TOGETHER)) {
        for (uint j = 0u; j < uint(TOGETHER); j++) {
            uint i = first + j;
            vec4 low, high;
            read_key(row, i, low, high);
            sum += low * query(q_begin + 2u * i);
            sum += high * query(q_begin + 2u * i + 1u);
        }
    }
    return cap_score(params.scale * (sum.x + sum.y + sum.z + sum.w));
}

// Adds up this invocation's vec8 over its keys.
void add_values(uint lane, uint first_row, uint n_key, inout vec4 low_sum, inout vec4 high_sum)
{
    uint vec8 = lane % uint(N_VEC8);
    uint slice = lane / uint(N_VEC8);
    if (slice < uint(N_SLICE)) {
        for (uint key = slice; key < n_key; key += uint(N_SLICE)) {
            vec4 low, high;
            read_value(first_row + key, vec8, low, high);
            low_sum += weights[key] * low;
            high_sum += weights[key] * high;
        }
    }
}

// The quads of the result that an invocation writes.
#if 4 * KEYS < HEAD_DIM
#define EACH_OWN(quad) for (uint quad = lane; quad < N_QUAD; quad += uint(KEYS))
#else
#define EACH_OWN(quad) uint quad = lane; if (quad < N_QUAD)
#endif

// Leaves an invocation's sums for add_slices.
void leave_slice(uint lane, vec4 low_sum, vec4 high_sum)
{
    sums[2u * lane] = low_sum;
    sums[2u * lane + 1u] = high_sum;
    group_barrier();
}

// Returns a quad of the result.
vec4 add_slices(uint quad)
{
    vec4 sum = sums[quad];
    for (uint i = 1u; i < bound(N_SLICE); i++) {
        sum += sums[quad + i * N_QUAD];
    }
    return sum;
}

#if WRITE_SUMS
// Writes the sums of the head's results, which this group has written.
void write_sums(uint lane, uint head)
{
    if (lane < uint(HEAD_DIM) / SUM_SIZE) {
        uint begin = head * uint(HEAD_DIM) + SUM_SIZE * lane;
        vec4 sum = vec4(0.0);
        for (uint i = 0u; i < SUM_SIZE; i += 4u) {
            sum += read_quad(begin + i);
        }
        uint sums = sums_begin(params.n_head * uint(HEAD_DIM));
        scratch[SCRATCH_BEGIN + sums + begin / SUM_SIZE] = floatBitsToUint((sum.x + sum.y) + (sum.z + sum.w));
    }
}
#endif

void main()
{
    uint lane = gl_LocalInvocationID.x;
    uint range = gl_WorkGroupID.x;
    uint head = gl_WorkGroupID.y + first_group;
    if (is_idle()) {
        return;
    }
    uint n_all = min(state.n_past + 1u, params.n_ctx);
    uint n_range = (n_all + uint(KEYS) - 1u) / uint(KEYS);
    // The grid may have ranges past the keys, after the end of a text, and before a window; they do
    // nothing.
    uint seen = first_seen(n_all);
    uint first_range = seen / uint(KEYS);
    bool is_needed = range >= first_range && range < n_range;
    uint first_key = is_needed ? range * uint(KEYS) : 0u;
    uint n_key = is_needed ? min(n_all - first_key, uint(KEYS)) : 0u;

    uint first_row = head * params.n_kv_head / params.n_head * params.n_ctx + first_key;
    float value = score(head * N_QUAD, first_row + min(lane, max(n_key, 1u) - 1u));
    float largest = weigh_keys(lane, lane < n_key && first_key + lane >= seen ? value : MASKED, MASKED);
    sum_weights(lane);
    vec4 low_sum = vec4(0.0), high_sum = vec4(0.0);
    add_values(lane, first_row, n_key, low_sum, high_sum);
    leave_slice(lane, low_sum, high_sum);
#if 4 * KEYS < HEAD_DIM
#define SUM_OF(quad) add_slices(quad)
#else // within the branch LLVM reads all slices at once, into 140 registers of AMD's GPUs
#define SUM_OF(quad) own_sum
    vec4 own_sum = lane < N_QUAD ? add_slices(lane) : vec4(0.0);
#endif
    vec2 own = vec2(largest, sum_stripes());

    bool is_split = n_range - first_range > 1u;
    if (is_needed) {
        EACH_OWN(quad) {
            write_head_quad(head, range, quad, is_split, SUM_OF(quad), own);
        }
    }
    bool is_merging = is_last_range(lane, head, n_range - first_range, is_needed && is_split);
    if (is_merging) {
        EACH_OWN(quad) {
            vec2 softmax;
            vec4 sum = merge_ranges(head, first_range, n_range, quad, softmax);
            write_head_quad(head, range, quad, false, sum, softmax);
        }
    }
#if WRITE_SUMS
    memoryBarrierBuffer();
    group_barrier();
    if (is_merging || (is_needed && !is_split)) {
        write_sums(lane, head);
    }
#endif
}
#endif
