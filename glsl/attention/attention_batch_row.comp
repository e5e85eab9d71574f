// Attention of a batch: token m, at position n_past + m, over the keys 0..n_past + m, with AFTER also
// over later keys; for llvmpipe. Formula and bindings: attention/tile.glsl.
//
// A group is one vector: invocation i owns tokens i, i + 8, ... of VECTORS * 8 tokens of a head,
// with q and the sum of weighted v in private memory, and softmax needs no other invocation. Keys
// and values are the same for all invocations; llvmpipe fetches them lane by lane all the same,
// some 150 cycles for 16 bytes, so each fetch serves all vectors. Softmax is online by tiles of
// KEYS keys. Measurements: glsl/measurements.md.
#include "lib/common.glsl"
#include "lib/first_group.glsl"
#include "lib/exp_log.glsl"
#include "attention/kv_vec8.glsl"
#include "lib/step_state.glsl"

#if !defined(HEAD_DIM) || !defined(VECTORS) || !defined(KEYS)
#error "HEAD_DIM, a multiple of 8, over 256 of 16; VECTORS of 8 tokens; KEYS of a tile"
#endif

#define N_VEC8 (HEAD_DIM / 8)

// Loops over a head are nested where it is wide: llvmpipe unrolls one of up to 32 turns over an
// array of its length, and ends all loops that it does not unroll after 65,535 turns together.
#if HEAD_DIM <= 256
#define N_HALF 1
#else
#define N_HALF 2
#endif
#define HALF_VEC8 (N_VEC8 / N_HALF)
#define EACH_VEC8 for (int h = 0; h < N_HALF; h++) for (int j = 0; j < HALF_VEC8; j++)
#define VEC8 uint(h * HALF_VEC8 + j)

layout(local_size_x = 8) in;

layout(std430, binding = 0) restrict writeonly buffer Out { vec4 result[]; };
layout(std430, binding = 1) restrict readonly buffer Q { vec4 q[]; };

#include "params/attention.glsl"
#include "attention/score_rule.glsl"
#include "attention/softmax.glsl"

// An invocation owns these, a token a vector.
vec4 query_low[VECTORS][N_HALF][HALF_VEC8], query_high[VECTORS][N_HALF][HALF_VEC8];
vec4 sum_low[VECTORS][N_HALF][HALF_VEC8], sum_high[VECTORS][N_HALF][HALF_VEC8];
float weight_sum[VECTORS], largest[VECTORS];
uint token[VECTORS];

void begin_tokens(uint head)
{
    for (int i = 0; i < VECTORS; i++) {
        token[i] = gl_WorkGroupID.x * uint(8 * VECTORS) + uint(8 * i) + gl_LocalInvocationID.x;
        uint row = min(token[i], state.n_tokens - 1u) * (params.q_stride / 4u);
        uint begin = row + head * uint(2 * N_VEC8);
        EACH_VEC8 {
            query_low[i][h][j] = params.scale * q[begin + 2u * VEC8];
            query_high[i][h][j] = params.scale * q[begin + 2u * VEC8 + 1u];
            sum_low[i][h][j] = vec4(0.0);
            sum_high[i][h][j] = vec4(0.0);
        }
        weight_sum[i] = 0.0;
        largest[i] = MASKED;
    }
}

void score_key(uint row, out float score[VECTORS])
{
    vec4 sum[VECTORS];
    for (int i = 0; i < VECTORS; i++) {
        sum[i] = vec4(0.0);
    }
    EACH_VEC8 {
        vec4 low, high;
        read_key(row, VEC8, low, high);
        for (int i = 0; i < VECTORS; i++) {
            sum[i] += query_low[i][h][j] * low;
            sum[i] += query_high[i][h][j] * high;
        }
    }
    for (int i = 0; i < VECTORS; i++) {
        score[i] = cap_score((sum[i].x + sum[i].y) + (sum[i].z + sum[i].w));
    }
}

// Turns the scores of KEYS keys from first_key on into weights relative to each token's largest
// score so far, and rescales what was summed before.
void weigh_keys(uint first_key, inout float weight[KEYS][VECTORS])
{
    for (int i = 0; i < VECTORS; i++) {
        uint last_key = state.n_past + token[i];
        float top = largest[i];
        for (int n = 0; n < KEYS; n++) {
            uint key = first_key + uint(n);
#if ALIBI
            weight[n][i] -= alibi_bias(gl_WorkGroupID.y + first_group, last_key + 1u, key);
#endif
            weight[n][i] = key < end_seen(last_key + 1u) ? weight[n][i] : MASKED;
#if WINDOW
            weight[n][i] = key >= first_seen(last_key + 1u) ? weight[n][i] : MASKED;
#endif
            top = max(top, weight[n][i]);
        }
        float factor = weight_of(largest[i], top);
        weight_sum[i] *= factor;
        for (int n = 0; n < KEYS; n++) {
            weight[n][i] = weight_of(weight[n][i], top);
            weight_sum[i] += weight[n][i];
        }
        EACH_VEC8 {
            sum_low[i][h][j] *= factor;
            sum_high[i][h][j] *= factor;
        }
        largest[i] = top;
    }
}

void add_values(uint row, float weight[VECTORS])
{
    EACH_VEC8 {
        vec4 low, high;
        read_value(row, VEC8, low, high);
        for (int i = 0; i < VECTORS; i++) {
            sum_low[i][h][j] += weight[i] * low;
            sum_high[i][h][j] += weight[i] * high;
        }
    }
}

void write_tokens(uint head)
{
    for (int i = 0; i < VECTORS; i++) {
        uint begin = token[i] * (params.out_stride / 4u) + head * uint(2 * N_VEC8);
        float total = with_sink(weight_sum[i], largest[i], head);
        if (token[i] < state.n_tokens) {
            EACH_VEC8 {
                result[begin + 2u * VEC8] = sum_low[i][h][j] / total;
                result[begin + 2u * VEC8 + 1u] = sum_high[i][h][j] / total;
            }
        }
    }
}

void main()
{
    uint head = gl_WorkGroupID.y + first_group;
    uint first_row = head * params.n_kv_head / params.n_head * params.n_ctx;
    uint n_seen = min((gl_WorkGroupID.x + 1u) * uint(8 * VECTORS), state.n_tokens);
    uint n_key = end_seen(state.n_past + n_seen);
    begin_tokens(head);
    uint first_key = first_seen(state.n_past + gl_WorkGroupID.x * uint(8 * VECTORS) + 1u);
    for (uint key = first_key; key < n_key; key += uint(KEYS)) {
        float weight[KEYS][VECTORS];
        for (int n = 0; n < KEYS; n++) {
            score_key(first_row + min(key + uint(n), n_key - 1u), weight[n]);
        }
        weigh_keys(key, weight);
        for (int n = 0; n < KEYS; n++) {
            add_values(first_row + min(key + uint(n), n_key - 1u), weight[n]);
        }
    }
    write_tokens(head);
}
