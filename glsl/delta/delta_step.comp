// The gated delta rule of a decode step, from a projection's row to what the output projection reads
// (delta/delta.glsl): out = rmsnorm(o) * gamma * silu(z), the norm over each head.
//
//   out      (n_head, DIM)           written
//   source   the projection's row
//   vectors  convolution (n_channel, TAPS), gamma (DIM), bias and rate of decay (n_head)
//   state    ring and matrix         read and written, unless the answer is at its end
//
// A group owns a head. Quads of columns and slices of rows share the matrix, which is read twice,
// the second time from the cache, and written once: bound by memory.
#include "lib/common.glsl"
#include "lib/group.glsl"
#include "lib/reduce.glsl"
#include "lib/step_state.glsl"
#include "lib/is_over.glsl"

layout(std430, binding = 0) restrict writeonly buffer Out { float result[]; };
layout(std430, binding = 1) restrict readonly buffer X { float source[]; };
layout(std430, binding = 2) restrict readonly buffer Vectors { float vectors[]; };
layout(std430, binding = 3) restrict buffer Memory { float memory[]; };

#include "params/delta.glsl"

#include "delta/delta.glsl"
#include "delta/keys.glsl"
#include "delta/sums.glsl"

#define N_QUAD uint(DIM / 4)
#define N_SLICE (uint(WG_SIZE) / N_QUAD)

// q, k and v of the head, its results; sums over the rows of a slice, S^T k and S^T q.
shared float lines[3 * DIM], results[DIM];
shared float sum_k[4 * WG_SIZE], sum_q[4 * WG_SIZE];

// The channel of element i of the concatenated q, k and v of a head.
uint channel_of(uint head, uint i)
{
    uint k_head = key_of(head), line = i / uint(DIM);
    uint first = line == 0u ? k_head : line == 1u ? params.n_k_head + k_head : 2u * params.n_k_head + head;
    return first * uint(DIM) + i % uint(DIM);
}

float convolve(uint channel, uint n_channel)
{
    float sum = vectors[params.taps + channel * uint(TAPS) + uint(TAPS - 1)] * source[channel];
    for (uint back = 1u; back < uint(TAPS); back++) {
        uint row = (state.n_past + uint(TAPS) - back) % uint(TAPS);
        float past = back <= state.n_past ? memory[row * n_channel + channel] : 0.0;
        sum += vectors[params.taps + channel * uint(TAPS) + uint(TAPS - 1) - back] * past;
    }
    return silu(sum);
}

// Leaves q, k and v in lines, and the projection in the ring: of q and k by one of their heads.
void load_lines(uint head)
{
    uint n_channel = (2u * params.n_k_head + params.n_head) * uint(DIM);
    uint row = state.n_past % uint(TAPS) * n_channel;
    for (uint i = gl_LocalInvocationIndex; i < uint(3 * DIM); i += uint(WG_SIZE)) {
        uint channel = channel_of(head, i);
        lines[i] = convolve(channel, n_channel);
        if ((i >= uint(2 * DIM) || is_first_of_key(head)) && !IS_OVER) {
            memory[row + channel] = source[channel];
        }
    }
    group_barrier();
}

// Returns q . q, k . k and q . k.
vec3 multiply_lines()
{
    vec3 own = vec3(0.0);
    for (uint i = gl_LocalInvocationIndex; i < uint(DIM); i += uint(WG_SIZE)) {
        float q = lines[i], k = lines[uint(DIM) + i];
        own += vec3(q * q, k * k, q * k);
    }
    return sum_all(own);
}

// Four columns of a row of the matrix, which is zero where the text begins, whatever lies there.
vec4 old_quad(uint at)
{
    return state.n_past == 0u ? vec4(0.0)
                              : vec4(memory[at], memory[at + 1u], memory[at + 2u], memory[at + 3u]);
}

void share_quad(uint at, vec4 k, vec4 q)
{
    for (uint i = 0u; i < 4u; i++) {
        sum_k[4u * at + i] = k[i];
        sum_q[4u * at + i] = q[i];
    }
}

void main()
{
    uint head = gl_WorkGroupID.x, lane = gl_LocalInvocationIndex;
    uint quad = lane % N_QUAD, slice = lane / N_QUAD;
    uint first = params.matrix + head * uint(DIM * DIM) + 4u * quad;
    load_lines(head);
    vec3 products = multiply_lines();
    float q_scale = unit_scale(products.x) * inversesqrt(float(DIM));
    float k_scale = unit_scale(products.y);
    float k_q = products.z * q_scale * k_scale;
    float decay = decay_of(source[params.decay + head], vectors[params.decay_bias + head],
                           vectors[params.decay_rate + head]);
    float rate = rate_of(source[params.rate + head]);

    vec4 s_k = vec4(0.0), s_q = vec4(0.0);
    for (uint i = slice; i < uint(DIM); i += N_SLICE) {
        uint at = first + i * uint(DIM);
        vec4 s = old_quad(at);
        s_k += s * lines[uint(DIM) + i];
        s_q += s * lines[i];
    }
    share_quad(lane, s_k, s_q);
    group_barrier();
    s_k = vec4(0.0);
    s_q = vec4(0.0);
    for (uint i = quad; i < N_SLICE * N_QUAD; i += N_QUAD) {
        s_k += vec4(sum_k[4u * i], sum_k[4u * i + 1u], sum_k[4u * i + 2u], sum_k[4u * i + 3u]);
        s_q += vec4(sum_q[4u * i], sum_q[4u * i + 1u], sum_q[4u * i + 2u], sum_q[4u * i + 3u]);
    }

    vec4 v = vec4(lines[2u * uint(DIM) + 4u * quad], lines[2u * uint(DIM) + 4u * quad + 1u],
                  lines[2u * uint(DIM) + 4u * quad + 2u], lines[2u * uint(DIM) + 4u * quad + 3u]);
    vec4 change = rate * (v - decay * k_scale * s_k);
    vec4 o = decay * q_scale * s_q + k_q * change;
    for (uint i = slice; i < uint(DIM) && !IS_OVER; i += N_SLICE) {
        uint at = first + i * uint(DIM);
        float k = k_scale * lines[uint(DIM) + i];
        vec4 s = decay * old_quad(at) + k * change;
        for (uint j = 0u; j < 4u; j++) {
            memory[at + j] = s[j];
        }
    }
    float sum = slice == 0u ? dot(o, o) : 0.0;
    if (slice == 0u) {
        for (uint j = 0u; j < 4u; j++) {
            results[4u * quad + j] = o[j];
        }
    }
    float scale = inversesqrt(reduce_sum(sum, uint(WG_SIZE)) / float(DIM) + params.eps);
    for (uint i = lane; i < uint(DIM); i += uint(WG_SIZE)) {
        uint at = head * uint(DIM) + i;
        result[at] = results[i] * scale * vectors[params.gamma + i] * silu(source[params.z + at]);
    }
}
