// The short convolution between two projections of a layer (LFM2), of each channel
//
//   y[m] = c[m] * sum over back < TAPS of taps[TAPS - 1 - back] * u[m + N_AFTER - back],  u = b * x
//
// N_AFTER is 0 where a token sees earlier ones only; after the last token u is zero.
//
//   y        (n_tokens, y_stride)     n_channel columns written
//   bcx      (n_tokens, bcx_stride)   b, c and x, n_channel columns each, from 0, section, 2 section on
//   vectors  taps (n_channel, TAPS)
//   past     (TAPS - 1, n_channel)    row p % (TAPS - 1): u of position p, read and written unless the
//            answer is at its end; where a text begins u is zero, whatever lies there
//
// An invocation owns four channels of TOKENS tokens, in a step of the one that there is. Those of the
// first tokens alone read the past and write it, so that no other may find it changed: TOKENS is
// at least TAPS - 1 in a batch. Reads 12 bytes an element and writes 4: bound by memory.
#include "lib/common.glsl"
#include "lib/group.glsl"
#include "lib/step_state.glsl"
#include "lib/is_over.glsl"

#if !defined(TAPS) || !defined(N_AFTER) || !defined(TOKENS)
#error "TAPS: tokens that one sees, at least 2, N_AFTER after it; TOKENS of an invocation, 1 in a step"
#endif

layout(std430, binding = 0) restrict writeonly buffer Y { vec4 y[]; };
layout(std430, binding = 1) restrict readonly buffer Bcx { vec4 bcx[]; };
layout(std430, binding = 2) restrict readonly buffer Vectors { float vectors[]; };
layout(std430, binding = 3) restrict buffer Past { vec4 past[]; };

#include "params/short_conv.glsl"

#define N_PAST uint(TAPS - 1)

vec4 read_u(uint m, uint quad)
{
    uint at = m * params.bcx_stride / 4u + quad;
    return bcx[at] * bcx[at + params.section / 2u];
}

// u of token m, at most N_AFTER after one of the batch; zero after the last.
vec4 read_within(uint m, uint quad)
{
    return N_AFTER == 0 || m < state.n_tokens ? read_u(m, quad) : vec4(0.0);
}

// u of the position `back` before the first token.
vec4 read_past(uint back, uint quad)
{
    uint row = (state.n_past + N_PAST * uint(TAPS) - back) % N_PAST;
    return back <= state.n_past ? past[row * params.n_channel / 4u + quad] : vec4(0.0);
}

void keep_past(uint quad)
{
    uint n = min(state.n_tokens, N_PAST);
    for (uint m = state.n_tokens - n; m < state.n_tokens; m++) {
        past[(state.n_past + m) % N_PAST * params.n_channel / 4u + quad] = read_u(m, quad);
    }
}

vec4 tap(uint i, uint quad)
{
    uint at = params.taps + 4u * quad * uint(TAPS) + i;
    return vec4(vectors[at], vectors[at + uint(TAPS)], vectors[at + 2u * uint(TAPS)],
                vectors[at + 3u * uint(TAPS)]);
}

void main()
{
    uint quad = gl_GlobalInvocationID.x, first = gl_WorkGroupID.y * uint(TOKENS);
    uint end = min(first + uint(TOKENS), state.n_tokens);
    if (quad < params.n_channel / 4u && first < end) {
        vec4 weights[TAPS], u[TAPS]; // u of the tokens that one sees, its own the last
        for (int i = 0; i < TAPS; i++) {
            weights[i] = tap(uint(i), quad);
        }
        for (int i = 1; i < TAPS; i++) {
            uint back = uint(TAPS - i), at = first + uint(N_AFTER);
            u[i] = at < back ? read_past(back - at, quad) : read_within(at - back, quad);
        }
        for (uint m = first; m < end; m++) {
            for (int i = 1; i < TAPS; i++) {
                u[i - 1] = u[i];
            }
            u[TAPS - 1] = read_within(m + uint(N_AFTER), quad);
            vec4 sum = vec4(0.0);
            for (int i = 0; i < TAPS; i++) {
                sum += weights[i] * u[i];
            }
            vec4 c = bcx[(m * params.bcx_stride + params.section) / 4u + quad];
            y[m * params.y_stride / 4u + quad] = c * sum;
        }
        if (first == 0u && (TOKENS > 1 || !IS_OVER)) {
            keep_past(quad);
        }
    }
}
