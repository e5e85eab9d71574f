// Attention of one token over the keys 0..n_past of a layer's cache, in ranges of KEYS keys.
//   out[h] = sum over j of softmax_j(scale * q[h] . k[g, j]) v[g, j],  g = h * n_kv_head / n_head
//
//   scratch  out (n_head, HEAD_DIM) at 0; partial (n_head, max_range, HEAD_DIM + 4): the sum of
//            weighted v, then largest score and sum of weights; counter (n_head), zero between steps
//   cache    q (n_head, HEAD_DIM) f32, k and v (n_kv_head, n_ctx, HEAD_DIM) f16 pairs or f32
//
// Group (range, head) takes an invocation a key for the scores, then an octet of v's elements and
// every N_SLICE-th key an invocation for the sum. The last group of a head to finish merges the
// head's ranges in their order, so that the result is the same whichever that is; with one range a
// group writes out itself. Reads each key and value once per head of its group.
#include "lib/common.glsl"
#include "lib/exp_log.glsl"
#include "lib/kv_octet.glsl"
#include "lib/step_state.glsl"

#if !defined(HEAD_DIM) || !defined(KEYS) || !defined(K_F32) || !defined(V_F32)
#error "HEAD_DIM, a multiple of 8; KEYS of a range, the group's width; K_F32, V_F32: f32 or f16 pairs"
#endif

#define N_OCTET (HEAD_DIM / 8)
#define N_SLICE (KEYS / N_OCTET)
#define PARTIAL_STRIDE uint(HEAD_DIM + 4)
#define STRIPES 8u
#define MASKED -3.0e38

layout(local_size_x = KEYS) in;

layout(std430, binding = 0) restrict coherent buffer Scratch { uint scratch[]; };

layout(std140, binding = 0) uniform Params
{
    uint n_head, n_kv_head, n_ctx, max_range;
    uint k, v, partial, counter; // k, v in words of 16 bytes
    float scale;
} params;

void group_barrier()
{
    memoryBarrierShared();
    barrier();
}

shared float weights[KEYS];
shared float stripes[STRIPES];
shared vec4 sums[2 * KEYS];
shared uint is_last;

float score(uint head, uint row)
{
    uint q = head * uint(HEAD_DIM / 4);
    uint k = params.k + row * uint(N_OCTET * (1 + K_F32));
    vec4 sum = vec4(0.0);
    for (uint i = 0u; i < uint(N_OCTET); i++) {
        vec4 low, high;
        read_octet(k + i * uint(1 + K_F32), K_F32 == 1, low, high);
        sum += low * uintBitsToFloat(cache[q + 2u * i]);
        sum += high * uintBitsToFloat(cache[q + 2u * i + 1u]);
    }
    return params.scale * (sum.x + sum.y + sum.z + sum.w);
}

// Leaves exp(score - largest) of each key in weights; returns largest.
float weigh_keys(uint lane, float value)
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
    float largest = stripes[0];
    for (uint i = 1u; i < STRIPES; i++) {
        largest = max(largest, stripes[i]);
    }
    weights[lane] = value == MASKED ? 0.0 : exp_negative(value - largest);
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

// Adds up this invocation's octet over its keys, then the slices of each octet through shared memory;
// the sums of octet i are left in sums[2 i] and sums[2 i + 1].
void sum_values(uint lane, uint first_row, uint n_key)
{
    uint octet = lane % uint(N_OCTET);
    uint slice = lane / uint(N_OCTET);
    uint v = params.v + octet * uint(1 + V_F32);
    vec4 low_sum = vec4(0.0);
    vec4 high_sum = vec4(0.0);
    if (slice < uint(N_SLICE)) {
        for (uint key = slice; key < n_key; key += uint(N_SLICE)) {
            vec4 low, high;
            read_octet(v + (first_row + key) * uint(N_OCTET * (1 + V_F32)), V_F32 == 1, low, high);
            low_sum += weights[key] * low;
            high_sum += weights[key] * high;
        }
    }
    sums[2u * lane] = low_sum;
    sums[2u * lane + 1u] = high_sum;
    group_barrier();
    if (lane < uint(2 * N_OCTET)) {
        vec4 sum = sums[lane];
        for (uint i = 1u; i < uint(N_SLICE); i++) {
            sum += sums[lane + i * uint(2 * N_OCTET)];
        }
        sums[lane] = sum;
    }
}

void write_quad(uint at, vec4 value)
{
    uvec4 word = floatBitsToUint(value);
    for (uint i = 0u; i < 4u; i++) {
        scratch[at + i] = word[i];
    }
}

vec4 read_quad(uint at)
{
    return uintBitsToFloat(
        uvec4(scratch[at], scratch[at + 1u], scratch[at + 2u], scratch[at + 3u]));
}

void merge_ranges(uint lane, uint head, uint n_range)
{
    uint begin = params.partial + head * params.max_range * PARTIAL_STRIDE;
    float largest = MASKED;
    for (uint i = 0u; i < n_range; i++) {
        largest = max(largest, uintBitsToFloat(scratch[begin + i * PARTIAL_STRIDE + uint(HEAD_DIM)]));
    }
    vec4 sum = vec4(0.0);
    float weight_sum = 0.0;
    for (uint i = 0u; i < n_range; i++) {
        uint at = begin + i * PARTIAL_STRIDE;
        float factor = exp_negative(uintBitsToFloat(scratch[at + uint(HEAD_DIM)]) - largest);
        weight_sum += factor * uintBitsToFloat(scratch[at + uint(HEAD_DIM) + 1u]);
        sum += factor * read_quad(at + 4u * lane);
    }
    write_quad(head * uint(HEAD_DIM) + 4u * lane, sum / weight_sum);
}

void main()
{
    uint lane = gl_LocalInvocationID.x;
    uint range = gl_WorkGroupID.x;
    uint head = gl_WorkGroupID.y;
    uint kv_head = head * params.n_kv_head / params.n_head;
    uint n_all = min(state.n_past + 1u, params.n_ctx);
    uint n_range = (n_all + uint(KEYS) - 1u) / uint(KEYS);
    uint first_key = range * uint(KEYS);
    // A grid of the host's may have more ranges than there are keys for; those take part in nothing.
    bool is_needed = range < n_range;
    uint n_key = is_needed ? min(n_all - first_key, uint(KEYS)) : 0u;

    uint first_row = kv_head * params.n_ctx + (is_needed ? first_key : 0u);
    float value = score(head, first_row + min(lane, max(n_key, 1u) - 1u));
    float largest = weigh_keys(lane, lane < n_key ? value : MASKED);
    sum_weights(lane);
    sum_values(lane, first_row, n_key);
    float weight_sum = sum_stripes();

    bool is_quad = lane < uint(2 * N_OCTET);
    bool is_single = n_range == 1u;
    if (is_needed && is_single && is_quad) {
        write_quad(head * uint(HEAD_DIM) + 4u * lane, sums[lane] / weight_sum);
    }
    if (is_needed && !is_single) {
        uint at = params.partial + (head * params.max_range + range) * PARTIAL_STRIDE;
        if (is_quad) {
            write_quad(at + 4u * lane, sums[lane]);
        }
        if (lane == 0u) {
            scratch[at + uint(HEAD_DIM)] = floatBitsToUint(largest);
            scratch[at + uint(HEAD_DIM) + 1u] = floatBitsToUint(weight_sum);
        }
    }
    memoryBarrierBuffer();
    group_barrier();
    if (lane == 0u) {
        is_last = 0u;
        if (is_needed && !is_single) {
            is_last = uint(atomicAdd(scratch[params.counter + head], 1u) == n_range - 1u);
        }
    }
    group_barrier();
    memoryBarrierBuffer();
    if (is_last == 1u) {
        if (is_quad) {
            merge_ranges(lane, head, n_range);
        }
        if (lane == 0u) {
            scratch[params.counter + head] = 0u;
        }
    }
}
