// The convolutions of a prompt's batch for the gated delta rule (delta/delta.glsl): row m of
//
//   y        (n_tokens, y_stride)    written: q (n_k_head, DIM) of length 1 / sqrt(DIM), k (n_k_head, DIM) of
//            length 1, v (n_head, DIM); then decay and rate of each head, and q . k of each head of these
//   x        (n_tokens, x_stride)    the projection
//   vectors  convolution (n_channel, TAPS), bias and rate of decay (n_head)
//   state    ring: the rows before the batch
//
// Group (i, m) owns head i of q and k, or head i - n_k_head of v. Bound by memory.
#include "lib/common.glsl"
#include "lib/group.glsl"
#include "lib/step_state.glsl"

layout(std430, binding = 0) restrict writeonly buffer Y { float y[]; };
layout(std430, binding = 1) restrict readonly buffer X { float x[]; };
layout(std430, binding = 2) restrict readonly buffer Vectors { float vectors[]; };
layout(std430, binding = 3) restrict readonly buffer Memory { float memory[]; };

#include "params/delta.glsl"

#include "delta/delta.glsl"

// The projection of a channel at the position `back` before that of token m.
float past(uint m, uint back, uint channel, uint n_channel)
{
    uint row = (state.n_past + m + uint(TAPS) - back) % uint(TAPS);
    float value = 0.0;
    if (back <= m) {
        value = x[(m - back) * params.x_stride + channel];
    } else if (back <= m + state.n_past) {
        value = memory[row * n_channel + channel];
    }
    return value;
}

float convolve(uint m, uint channel, uint n_channel)
{
    float sum = 0.0;
    for (uint back = 0u; back < uint(TAPS); back++) {
        sum += vectors[params.taps + channel * uint(TAPS) + uint(TAPS - 1) - back] *
               past(m, back, channel, n_channel);
    }
    return silu(sum);
}

#include "delta/sums.glsl"

shared float line_q[DIM], line_k[DIM];

// Writes q and k of a head, and their product.
void write_keys(uint m, uint head, uint n_channel)
{
    uint k_begin = (params.n_k_head + head) * uint(DIM);
    vec3 own = vec3(0.0);
    for (uint i = gl_LocalInvocationIndex; i < uint(DIM); i += uint(WG_SIZE)) {
        float q = convolve(m, head * uint(DIM) + i, n_channel);
        float k = convolve(m, k_begin + i, n_channel);
        line_q[i] = q;
        line_k[i] = k;
        own += vec3(q * q, k * k, q * k);
    }
    vec3 sums = sum_all(own);
    float q_scale = unit_scale(sums.x) * inversesqrt(float(DIM)), k_scale = unit_scale(sums.y);
    uint row = m * params.y_stride;
    for (uint i = gl_LocalInvocationIndex; i < uint(DIM); i += uint(WG_SIZE)) {
        y[row + head * uint(DIM) + i] = line_q[i] * q_scale;
        y[row + k_begin + i] = line_k[i] * k_scale;
    }
    if (gl_LocalInvocationIndex == 0u) {
        y[row + n_channel + 2u * params.n_head + head] = sums.z * q_scale * k_scale;
    }
}

void write_value(uint m, uint head, uint n_channel)
{
    uint begin = (2u * params.n_k_head + head) * uint(DIM), row = m * params.y_stride;
    for (uint i = gl_LocalInvocationIndex; i < uint(DIM); i += uint(WG_SIZE)) {
        y[row + begin + i] = convolve(m, begin + i, n_channel);
    }
    if (gl_LocalInvocationIndex == 0u) {
        uint at = m * params.x_stride;
        y[row + n_channel + 2u * head] =
            decay_of(x[at + params.decay + head], vectors[params.decay_bias + head],
                     vectors[params.decay_rate + head]);
        y[row + n_channel + 2u * head + 1u] = rate_of(x[at + params.rate + head]);
    }
}

void main()
{
    uint m = gl_WorkGroupID.y, unit = gl_WorkGroupID.x;
    uint n_channel = (2u * params.n_k_head + params.n_head) * uint(DIM);
    if (unit < params.n_k_head) { // the same in all invocations
        write_keys(m, unit, n_channel);
    } else {
        write_value(m, unit - params.n_k_head, n_channel);
    }
}
