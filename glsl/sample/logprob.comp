// out[m] = l[m][target[m]] - log(sum over i of exp(l[m][i])), l = scale * logits or, with SOFTCAP,
// what lib/soft_cap.glsl makes of that: how likely a given token was. NaN where a logit is infinite
// or not a number.
//
//   out     (n_tokens)          written
//   logits  (n_tokens, stride)  the columns past n_vocab are not looked at
//   target  (n_tokens)          ids below n_vocab
//
// A group owns a row and reads it twice: for the largest, then for the sum of what exp leaves of
// the distances. Bound by memory.
#include "lib/common.glsl"
#include "lib/reduce.glsl"
#include "lib/exp_log.glsl"
#include "lib/group.glsl"
#include "lib/step_state.glsl"

#ifndef SOFTCAP
#error "SOFTCAP: 1 if logits have a cap"
#endif

layout(std430, binding = 0) restrict writeonly buffer Out { float result[]; };
layout(std430, binding = 1) restrict readonly buffer Logits { float logits[]; };
layout(std430, binding = 2) restrict readonly buffer Target { uint target[]; };

#include "params/logprob.glsl"

#if SOFTCAP
#include "lib/soft_cap.glsl"
#endif

float logit_at(uint i)
{
#if SOFTCAP
    return soft_cap(params.scale * logits[i], params.softcap);
#else
    return params.scale * logits[i];
#endif
}

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
        float value = logit_at(begin + i);
        n_unsound += is_unsound(logits[begin + i]) ? 1.0 : 0.0;
        largest = max(largest, value);
    }
    uint unused = 0u;
    reduce_max(largest, unused, uint(WG_SIZE), params.one);
    group_barrier();
    n_unsound = reduce_sum(n_unsound, uint(WG_SIZE));
    group_barrier();
    float sum = 0.0;
    for (uint i = gl_LocalInvocationID.x; i < params.n_vocab; i += uint(WG_SIZE)) {
        sum += exp_negative(logit_at(begin + i) - largest);
    }
    sum = reduce_sum(sum, uint(WG_SIZE));
    if (gl_LocalInvocationID.x == 0u && gl_WorkGroupID.x < state.n_tokens) {
        float logprob = logit_at(begin + target[token]) - largest - log_positive(sum);
        result[token] = n_unsound > 0.0 ? uintBitsToFloat(0x7FC00000u) : logprob;
    }
}
