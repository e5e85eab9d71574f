// Attention of a prompt's batch by blocks of BLOCK_TOKENS tokens, for GPUs of boards, whose shared memory
// is as slow as other memory, and on which the tiles of attention_batch.comp spill.
//   out[m, h] = sum over j of softmax_j(scale * q[m, h] . k[g, j]) v[g, j],  g = h * n_kv_head / n_head
// of token m, at position n_past + m, over the keys 0..n_past + m, with AFTER also over later keys.
//   out      (n_tokens, stride)  (n_head, HEAD_DIM) of it written
//   q        (n_tokens, stride)  (n_head, HEAD_DIM), pair order
//   cache    k and v, attention/kv_vec8.glsl
// Group (block, head) walks over the keys of its tokens by tiles of 64 EACH with online softmax. An
// invocation scores EACH keys of a tile for all tokens, then adds up a vec8 of every N_SLICE-th
// value for them. The sums of values are in shared memory while keys are scored, so that both parts
// have all registers. A group reads each key and value once, BLOCK_TOKENS vec8s of q for EACH vec8s of keys,
// and BLOCK_TOKENS weights for a vec8 of a value.
//
// Scores are multiplied by log2(e), so that a weight is a power of two. Measurements: glsl/measurements.md.
#define COUNT_EARLY // of lib/run_count.glsl
#include "lib/common.glsl"
#include "lib/add_products.glsl"
#include "lib/exp_log.glsl"

#if !defined(HEAD_DIM) || !defined(BLOCK_TOKENS) || !defined(EACH) || !defined(SHARED_Q)
#error "HEAD_DIM, a multiple of 8; BLOCK_TOKENS: 2 or 4; EACH keys; SHARED_Q: 1 if q is in shared memory"
#endif

#define GROUP 64
layout(local_size_x = GROUP) in;

layout(std430, binding = 0) restrict writeonly buffer Out { vec4 result[]; };
layout(std430, binding = 1) restrict readonly buffer Q { vec4 q[]; };

#include "params/attention.glsl"
#include "lib/first_group.glsl"
#include "lib/step_state.glsl"
#include "attention/kv_vec8.glsl"

#define SCORE_LOG2 1
#include "attention/score_rule.glsl"
#include "attention/softmax.glsl"

#define N_VEC8 (HEAD_DIM / 8)
#define N_QUAD uint(HEAD_DIM / 4)
#define N_OWN (BLOCK_TOKENS * HEAD_DIM / 4) // quads of a group's result
#define N_SLICE (GROUP / N_VEC8)
#define TILE uint(GROUP * EACH)
#define STRIPES 8u
#define LOG2_E 1.4426950408889634
#define UNKNOWN_ZERO (params.n_ctx >> 31u) // keeps loops from being unrolled

// weights: of a tile's keys, then zeros; weight_sums: of each invocation's keys; largest: score of the
// tiles before; rescale: the factor of the sums of those tiles.
#if BLOCK_TOKENS == 2
#define PER_TOKEN vec2
shared vec2 weights[GROUP * EACH + N_SLICE], weight_sums[GROUP], largest, rescale;
#else
#define PER_TOKEN vec4
shared vec4 weights[GROUP * EACH + N_SLICE], weight_sums[GROUP], largest, rescale;
#endif
#if GROUP % N_VEC8 == 0
shared vec4 sums[N_SLICE * N_OWN];
#else // with places that nothing reads, for invocations that are left over: a branch costs more
shared vec4 sums[(N_SLICE + 1) * N_OWN];
#endif
shared int largest_bits[BLOCK_TOKENS]; // of a score, as order_of gives it
// The first key that a token sees, and one past the last. V3D's compiler masks no instruction of a loop
// between these, which are equal in all lanes; between bounds from gl_WorkGroupID it would mask all.
shared uint first_bound, last_bound;
#if SHARED_Q
shared vec4 q_tile[N_OWN]; // (quad, token)
#define query(t, quad) q_tile[(quad) * uint(BLOCK_TOKENS) + uint(t)]
#else
#define query(t, quad) q[q_begin[t] + (quad)]
#endif

uint lane, head, first_token, first_row, n_key; // n_key: keys that the last token sees

uint query_begin(uint t)
{
    uint row = min(first_token + t, state.n_tokens - 1u);
    return row * (params.q_stride / 4u) + head * N_QUAD;
}

// Adds the products of a quad of q and of EACH keys. GPUs with registers of 4 floats have dot products.
void add_quad(int t, vec4 a, vec4 keys[EACH], inout PER_TOKEN score[EACH])
{
    for (int i = 0; i < EACH; i++) {
#if BLOCK_TOKENS == 2
        score[i][t] += dot(keys[i], a);
#else
        ADD_PRODUCTS(score[i][t], keys[i], a)
#endif
    }
}

// Computes the products of the invocation's keys of a tile with q.
void score_keys(uint first_key, out PER_TOKEN score[EACH])
{
    uint data[EACH], scales[EACH], q_begin[BLOCK_TOKENS];
    for (int i = 0; i < EACH; i++) {
        uint row = first_row + min(first_key + lane + uint(i * GROUP), n_key - 1u);
        data[i] = params.k + row * ROW_WORDS(K_TYPE);
        scales[i] = params.k_scale + row * ROW_SCALES;
        score[i] = PER_TOKEN(0.0);
    }
    for (int t = 0; t < BLOCK_TOKENS; t++) {
        q_begin[t] = query_begin(uint(t));
    }
    for (uint vec8 = 0u; vec8 < uint(N_VEC8) + UNKNOWN_ZERO; vec8++) {
        vec4 low[EACH], high[EACH];
        for (int i = 0; i < EACH; i++) {
            read_vec8(K_TYPE, data[i], scales[i], 0u, vec8, low[i], high[i]);
        }
        for (int t = 0; t < BLOCK_TOKENS; t++) { // the low halves are dead after this loop
            add_quad(t, query(t, 2u * vec8), low, score);
        }
        for (int t = 0; t < BLOCK_TOKENS; t++) {
            add_quad(t, query(t, 2u * vec8 + 1u), high, score);
        }
    }
}

// Returns true if token t of the block sees a key. A distance from a later key wraps, and is large.
bool is_seen(uint t, uint key)
{
    uint n_seen = state.n_past + first_token + t + 1u;
#if AFTER && WINDOW
    return key < n_key && n_seen + params.after - 1u - key < params.window + params.after;
#elif AFTER
    return key < n_key;
#elif WINDOW
    return n_seen - 1u - key < params.window;
#else
    return key < n_seen;
#endif
}

// Scales, caps and masks scores; returns the largest of each token.
PER_TOKEN finish_scores(uint first_key, inout PER_TOKEN score[EACH])
{
    PER_TOKEN own = PER_TOKEN(MASKED);
    for (int i = 0; i < EACH; i++) {
        uint key = first_key + lane + uint(i * GROUP);
        for (int t = 0; t < BLOCK_TOKENS; t++) {
            float value = cap_score(params.scale * score[i][t]);
#if ALIBI
            value -= alibi_bias(head, state.n_past + first_token + uint(t) + 1u, key);
#endif
            score[i][t] = LOG2_E * value + (is_seen(uint(t), key) ? 0.0 : MASKED);
        }
        own = max(own, score[i]);
    }
    return own;
}

// Returns a power of two, 0 below the least normal one.
PER_TOKEN power_of(PER_TOKEN x)
{
    return mix(exp2(x), PER_TOKEN(0.0), lessThan(x, PER_TOKEN(-126.0)));
}

// Writes the weights of a tile's keys to shared memory; updates the largest scores and the sums of weights.
void weigh_keys(PER_TOKEN score[EACH], PER_TOKEN own)
{
    for (int t = 0; t < BLOCK_TOKENS; t++) {
        atomicMax(largest_bits[t], order_of(own[t]));
    }
    group_barrier();
    PER_TOKEN next;
    for (int t = 0; t < BLOCK_TOKENS; t++) {
        next[t] = value_of(largest_bits[t]);
    }
    PER_TOKEN factor = power_of(largest - next);
    PER_TOKEN weight_sum = weight_sums[lane] * factor;
    for (int i = 0; i < EACH; i++) {
        PER_TOKEN weight = power_of(score[i] - next);
        weights[lane + uint(i * GROUP)] = weight;
        weight_sum += weight;
    }
    weight_sums[lane] = weight_sum;
    if (lane == 0u) {
        rescale = factor;
    }
    group_barrier();
    if (lane == 0u) {
        largest = next;
    }
}

// Adds this invocation's share of a tile's values to its sums.
void add_values(uint first_key)
{
    uint vec8 = lane % uint(N_VEC8), slice = lane / uint(N_VEC8);
    vec4 low_sum[BLOCK_TOKENS], high_sum[BLOCK_TOKENS];
    for (int t = 0; t < BLOCK_TOKENS; t++) {
        low_sum[t] = vec4(0.0);
        high_sum[t] = vec4(0.0);
    }
    uint n = min(n_key - first_key, TILE) + UNKNOWN_ZERO, key = slice;
    uint row = first_row + first_key + slice, last_row = first_row + n_key - 1u;
    uint data = params.v + row * ROW_WORDS(V_TYPE), scales = params.v_scale + row * ROW_SCALES;
    uint last_data = params.v + last_row * ROW_WORDS(V_TYPE);
    uint last_scales = params.v_scale + last_row * ROW_SCALES;
    for (uint i = 0u; i < n; i += uint(N_SLICE)) {
        vec4 low, high;
        PER_TOKEN weight = weights[key];
        read_vec8(V_TYPE, min(data, last_data), min(scales, last_scales), 0u, vec8, low, high);
        for (int t = 0; t < BLOCK_TOKENS; t++) {
            low_sum[t] += weight[t] * low;
        }
        for (int t = 0; t < BLOCK_TOKENS; t++) {
            high_sum[t] += weight[t] * high;
        }
        data += uint(N_SLICE) * ROW_WORDS(V_TYPE);
        scales += uint(N_SLICE) * ROW_SCALES;
        key += uint(N_SLICE);
    }
    PER_TOKEN factor = rescale;
    for (int t = 0; t < BLOCK_TOKENS; t++) {
        uint at = slice * uint(N_OWN) + uint(t) * N_QUAD + 2u * vec8;
        sums[at] = factor[t] * sums[at] + low_sum[t];
        sums[at + 1u] = factor[t] * sums[at + 1u] + high_sum[t];
    }
}

// Writes the results: the sums of all slices over the sum of the weights.
void write_tokens()
{
    group_barrier();
    if (lane < STRIPES) {
        PER_TOKEN weight_sum = weight_sums[lane];
        for (uint i = STRIPES; i < uint(GROUP) + UNKNOWN_ZERO; i += STRIPES) {
            weight_sum += weight_sums[lane + i];
        }
        weight_sums[lane] = weight_sum;
    }
    group_barrier();
    PER_TOKEN total = weight_sums[0];
    for (uint i = 1u; i < STRIPES; i++) {
        total += weight_sums[i];
    }
    for (uint own = lane; own < uint(N_OWN); own += uint(GROUP)) {
        uint t = own / N_QUAD, token = first_token + t;
        vec4 sum = sums[own];
        for (uint i = 1u; i < uint(N_SLICE) + UNKNOWN_ZERO; i++) {
            sum += sums[i * uint(N_OWN) + own];
        }
        if (token < state.n_tokens) {
            uint at = token * (params.out_stride / 4u) + head * N_QUAD + own % N_QUAD;
            result[at] = sum / with_sink(total[t], largest[t], head);
        }
    }
}

// Stages q, and empties the sums.
void begin_tokens()
{
#if SHARED_Q
    for (uint i = lane; i < uint(N_OWN); i += uint(GROUP)) {
        query(i / N_QUAD, i % N_QUAD) = q[query_begin(i / N_QUAD) + i % N_QUAD];
    }
#endif
    for (uint i = lane; i < uint(sums.length()); i += uint(GROUP)) {
        sums[i] = vec4(0.0);
    }
    weight_sums[lane] = PER_TOKEN(0.0);
    if (lane < uint(BLOCK_TOKENS)) {
        largest_bits[lane] = order_of(MASKED);
    }
    if (lane < uint(N_SLICE)) {
        weights[TILE + lane] = PER_TOKEN(0.0);
    }
    if (lane == 0u) {
        uint n_past = state.n_past + first_token;
        largest = PER_TOKEN(MASKED);
        first_bound = first_seen(n_past + 1u);
        last_bound = end_seen(state.n_past + min(first_token + uint(BLOCK_TOKENS), state.n_tokens));
    }
    group_barrier();
    n_key = min(last_bound, params.n_ctx);
}

void main()
{
    uint last_block = (state.n_tokens - 1u) / uint(BLOCK_TOKENS);
    lane = gl_LocalInvocationIndex;
    head = gl_WorkGroupID.y + first_group;
    first_token = min(gl_WorkGroupID.x, last_block) * uint(BLOCK_TOKENS);
    first_row = head * params.n_kv_head / params.n_head * params.n_ctx;
    begin_tokens();
    for (uint first_key = first_bound; first_key < n_key; first_key += TILE) {
        PER_TOKEN score[EACH];
        score_keys(first_key, score);
        PER_TOKEN own = finish_scores(first_key, score);
        weigh_keys(score, own);
        add_values(first_key);
    }
    write_tokens();
}
