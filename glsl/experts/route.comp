// Experts of each token: the n_used largest of its logits, the lowest on ties, their softmax.
//
//   act     (n_tokens, act_stride)  { expert, share, 0, 0 } of each written from route on
//   logits  (n_tokens, stride)      n_expert of each row
//
// A group owns a token. Each round finds the largest logit after the last one found, so that none
// has to be marked. Reads a few hundred logits: bound by the dispatch.
#include "lib/common.glsl"
#include "lib/exp_log.glsl"
#include "lib/group.glsl"
#include "lib/reduce.glsl"
#include "lib/step_state.glsl"

layout(std430, binding = 0) restrict writeonly buffer Act { float act[]; };
layout(std430, binding = 1) restrict readonly buffer Logits { float logits[]; };

layout(std140, binding = 0) uniform Params
{
    uint n_expert, n_used, stride, act_stride;
    uint route, one; // one is 1: see reduce_max
} params;

#define LEAST -3.4e38
#define MAX_USED 32u

// The first invocation alone uses these: private arrays would go to scratch memory on Mali.
shared float found_logits[MAX_USED];
shared uint found[MAX_USED];

// Returns the largest logit of this token after (logit, expert), in invocation 0 and, past the
// barrier, in all.
void find_next(uint begin, inout float logit, inout uint expert)
{
    float best = LEAST;
    uint best_expert = 0xFFFFFFFEu;
    for (uint i = gl_LocalInvocationIndex; i < params.n_expert; i += uint(WG_SIZE)) {
        float value = logits[begin + i];
        if (ranks_before(logit, expert, value, i) && ranks_before(value, i, best, best_expert)) {
            best = value;
            best_expert = i;
        }
    }
    reduce_max(best, best_expert, uint(WG_SIZE), params.one);
    group_barrier();
    logit = best;
    expert = best_expert;
}

void main()
{
    uint token = min(gl_WorkGroupID.x, state.n_tokens - 1u);
    float logit = 3.4e38;
    uint expert = 0u;
    float sum = 0.0, largest = 0.0;
    for (uint i = 0u; i < min(params.n_used, MAX_USED); i++) {
        find_next(token * params.stride, logit, expert);
        largest = i == 0u ? logit : largest;
        sum += exp_negative(logit - largest);
        if (gl_LocalInvocationIndex == 0u) {
            found_logits[i] = logit;
            found[i] = min(expert, params.n_expert - 1u);
        }
    }
    if (gl_LocalInvocationIndex == 0u) {
        uint at = token * params.act_stride + params.route;
        for (uint i = 0u; i < min(params.n_used, MAX_USED); i++) {
            act[at + 4u * i] = float(found[i]);
            act[at + 4u * i + 1u] = exp_negative(found_logits[i] - largest) / sum;
            act[at + 4u * i + 2u] = 0.0;
            act[at + 4u * i + 3u] = 0.0;
        }
    }
}
