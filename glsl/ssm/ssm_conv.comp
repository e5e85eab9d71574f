// The convolutions of a prompt's batch for Mamba-2 (ssm/ssm.glsl): row m of
//
//   y        (n_tokens, y_stride)    written: the channels x, b and c; then of each head (decay, dt, skip, 0)
//   x        (n_tokens, x_stride)    the projection
//   vectors  convolution (n_channel, TAPS) and its bias (n_channel); bias of dt, rate of decay and
//            skip (n_head)
//   state    ring: the rows before the batch
//
// An invocation owns four channels of TOKENS tokens; those after the channels own a head. Bound by memory.
#include "lib/common.glsl"
#include "lib/group.glsl"
#include "lib/step_state.glsl"

layout(std430, binding = 0) restrict writeonly buffer Y { vec4 y[]; };
layout(std430, binding = 1) restrict readonly buffer X { vec4 x[]; };
layout(std430, binding = 2) restrict readonly buffer Vectors { vec4 vectors[]; };
layout(std430, binding = 3) restrict readonly buffer Memory { vec4 memory[]; };

#include "params/ssm.glsl"

#include "ssm/ssm.glsl"

#ifndef TOKENS
#error "TOKENS of an invocation"
#endif

float vector_at(uint i)
{
    return vectors[i / 4u][i % 4u];
}

vec4 channels_at(uint m, uint quad)
{
    return x[(m * params.x_stride + params.channels) / 4u + quad];
}

// The channels of the position `back` before that of token `first`.
vec4 past(uint first, uint back, uint quad)
{
    uint row = (state.n_past + first + uint(TAPS) - back) % uint(TAPS);
    vec4 value = vec4(0.0);
    if (back <= first) {
        value = channels_at(first - back, quad);
    } else if (back <= first + state.n_past) {
        value = memory[row * params.n_channel / 4u + quad];
    }
    return value;
}

void convolve(uint first, uint end, uint quad)
{
    uint weights = params.taps / 4u + quad * uint(TAPS);
    vec4 taps[TAPS], u[TAPS]; // u of the tokens that one sees, its own the last
    for (int t = 0; t < TAPS; t++) {
        taps[t] = tap_of(weights, t);
    }
    for (int t = 1; t < TAPS; t++) {
        u[t] = past(first, uint(TAPS - t), quad);
    }
    for (uint m = first; m < end; m++) {
        for (int t = 1; t < TAPS; t++) {
            u[t - 1] = u[t];
        }
        u[TAPS - 1] = channels_at(m, quad);
        vec4 sum = vectors[params.taps_bias / 4u + quad];
        for (int t = 0; t < TAPS; t++) {
            sum += taps[t] * u[t];
        }
        y[m * params.y_stride / 4u + quad] = silu(sum);
    }
}

void write_head(uint first, uint end, uint head)
{
    float bias = vector_at(params.dt_bias + head), rate = vector_at(params.decay_rate + head);
    float skip = vector_at(params.skip + head);
    for (uint m = first; m < end; m++) {
        uint at = m * params.x_stride + params.dt + head;
        float dt = softplus(x[at / 4u][at % 4u] + bias);
        y[(m * params.y_stride + params.n_channel) / 4u + head] =
            vec4(exp_negative(rate * dt), dt, skip, 0.0);
    }
}

void main()
{
    uint quad = gl_GlobalInvocationID.x, first = gl_WorkGroupID.y * uint(TOKENS);
    uint end = min(first + uint(TOKENS), state.n_tokens), n_quad = params.n_channel / 4u;
    if (quad < n_quad) {
        convolve(first, end, quad);
    } else if (quad < n_quad + params.n_head) {
        write_head(first, end, quad - n_quad);
    }
}
