// out[m] = logits[m][target[m]] - log(sum over i of exp(logits[m][i])): how likely a given token was.
// NaN where a logit is infinite or not a number.
//
//   out     (n_tokens)          written
//   logits  (n_tokens, stride)  the columns past n_vocab are not looked at
//   target  (n_tokens)          ids below n_vocab
//
// A group owns a row and reads it twice: for the largest, then for the sum of what exp leaves of the
// distances. Bound by memory.
#include "lib/common.glsl"
#include "lib/reduce.glsl"
#include "lib/exp_log.glsl"
#include "lib/step_state.glsl"

#ifndef WG_SIZE
#error "WG_SIZE: invocations of a group, a power of two"
#endif

layout(local_size_x = WG_SIZE) in;

layout(std430, binding = 0) restrict writeonly buffer Out { float result[]; };
layout(std430, binding = 1) restrict readonly buffer Logits { float logits[]; };
layout(std430, binding = 2) restrict readonly buffer Target { uint target[]; };

layout(std140, binding = 0) uniform Params
{
    uint stride, n_vocab, one; // one is 1: see reduce_max
} params;

bool is_unsound(float value)
{
    return (floatBitsToUint(value) & 0x7F800000u) == 0x7F800000u;
}

void main()
{
    uint token = min(gl_WorkGroupID.x, state.n_tokens - 1u);
    uint begin = token * params.stride;
    float largest = -3.4e38, n_unsound = 0.0;
    for (uint i = gl_LocalInvocationID.x; i < params.n_vocab; i += uint(WG_SIZE)) {
        float value = logits[begin + i];
        n_unsound += is_unsound(value) ? 1.0 : 0.0;
        largest = max(largest, value);
    }
    uint unused = 0u;
    reduce_max(largest, unused, uint(WG_SIZE), params.one);
    reduce_barrier();
    n_unsound = reduce_sum(n_unsound, uint(WG_SIZE));
    reduce_barrier();
    float sum = 0.0;
    for (uint i = gl_LocalInvocationID.x; i < params.n_vocab; i += uint(WG_SIZE)) {
        sum += exp_negative(logits[begin + i] - largest);
    }
    sum = reduce_sum(sum, uint(WG_SIZE));
    if (gl_LocalInvocationID.x == 0u && gl_WorkGroupID.x < state.n_tokens) {
        float logprob = logits[begin + target[token]] - largest - log_positive(sum);
        result[token] = n_unsound > 0.0 ? uintBitsToFloat(0x7FC00000u) : logprob;
    }
}
