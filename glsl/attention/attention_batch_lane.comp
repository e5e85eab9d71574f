// Causal attention of a batch: token m, at position n_past + m, over the keys 0..n_past + m.
//   out[m, h] = sum over j of softmax_j(scale * q[m, h] . k[g, j]) v[g, j]
//   with g = h * n_kv_head / n_head
//
//   out    (n_tokens, stride)  (n_head, HEAD_DIM) of it written
//   q      (n_tokens, stride)  (n_head, HEAD_DIM), pair order
//   cache  a layer's k and v, (n_kv_head, n_ctx, HEAD_DIM) each, attention/kv_vec8.glsl
//
// Group (m, h) walks over the token's keys by KEYS with online softmax: an invocation a key for the
// scores, then an vec8 of v's elements and every N_SLICE-th key an invocation for the sum, as in
// attention.comp. Reads each key and value once per token and head, and so more than the tiles of
// attention_batch.comp; but those spill on the GPUs that this is for, up to 222 values on Mali-T860,
// where with groups of 128 Mesa 25.0.7 does not compile them in 20 s.
#include "lib/common.glsl"
#include "lib/exp_log.glsl"
#include "attention/kv_vec8.glsl"
#include "lib/step_state.glsl"

#if !defined(HEAD_DIM) || !defined(KEYS)
#error "HEAD_DIM, a multiple of 8; KEYS of a group"
#endif

#define N_VEC8 (HEAD_DIM / 8)
#define N_SLICE (KEYS / N_VEC8)
#define N_QUAD uint(HEAD_DIM / 4)

layout(local_size_x = KEYS) in;

layout(std430, binding = 0) restrict writeonly buffer Out { vec4 result[]; };
layout(std430, binding = 1) restrict readonly buffer Q { vec4 q[]; };

#include "attention/params.glsl"
#include "attention/score_rule.glsl"
#include "attention/softmax.glsl"
#include "attention/weigh.glsl"

shared vec4 sums[2 * KEYS];

float score(uint q_begin, uint row)
{
    float sum = 0.0;
    for (uint i = 0u; i < uint(N_VEC8); i++) {
        vec4 low, high;
        read_key(row, i, low, high);
        sum += dot(low, q[q_begin + 2u * i]) + dot(high, q[q_begin + 2u * i + 1u]);
    }
    return cap_score(params.scale * sum);
}

// Adds up this invocation's vec8 over its keys of a tile.
void add_values(uint lane, uint first_row, uint n_key, inout vec4 low_sum, inout vec4 high_sum)
{
    uint slice = lane / uint(N_VEC8);
    uint vec8 = lane % uint(N_VEC8);
    if (slice < uint(N_SLICE)) {
        for (uint key = slice; key < n_key; key += uint(N_SLICE)) {
            vec4 low, high;
            read_value(first_row + key, vec8, low, high);
            low_sum += weights[key] * low;
            high_sum += weights[key] * high;
        }
    }
}

// Adds the slices of each vec8 through shared memory; quad `lane` of the result.
vec4 add_slices(uint lane, vec4 low_sum, vec4 high_sum)
{
    sums[2u * lane] = low_sum;
    sums[2u * lane + 1u] = high_sum;
    group_barrier();
    vec4 sum = sums[lane];
    if (lane < N_QUAD) {
        for (uint i = 1u; i < uint(N_SLICE); i++) {
            sum += sums[lane + i * N_QUAD];
        }
    }
    return sum;
}

void main()
{
    uint lane = gl_LocalInvocationID.x;
    uint token = min(gl_WorkGroupID.x, state.n_tokens - 1u);
    uint head = gl_WorkGroupID.y;
    uint n_key = min(state.n_past + token + 1u, params.n_ctx);
    uint first_row = head * params.n_kv_head / params.n_head * params.n_ctx;
    uint q_begin = token * (params.q_stride / 4u) + head * N_QUAD;

    float largest = MASKED;
    float weight_sum = 0.0;
    vec4 low_sum = vec4(0.0);
    vec4 high_sum = vec4(0.0);
    for (uint first_key = first_seen(n_key); first_key < n_key; first_key += uint(KEYS)) {
        uint n = min(n_key - first_key, uint(KEYS));
        float value = score(q_begin, first_row + first_key + min(lane, n - 1u));
        float next = weigh_keys(lane, lane < n ? value : MASKED, largest);
        float rescale = exp_negative(largest - next);
        largest = next;
        sum_weights(lane);
        low_sum *= rescale;
        high_sum *= rescale;
        add_values(lane, first_row + first_key, n, low_sum, high_sum);
        group_barrier();
        weight_sum = rescale * weight_sum + sum_stripes();
    }
    vec4 sum = add_slices(lane, low_sum, high_sum);
    if (lane < N_QUAD) {
        result[token * (params.out_stride / 4u) + head * N_QUAD + lane] = sum / weight_sum;
    }
}
