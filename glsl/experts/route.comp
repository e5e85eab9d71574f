// Experts of each token: the n_used largest of its logits, the lowest on ties, and their shares.
// GATING says what these are (ops/experts/experts.h numbers it):
//   0  the softmax of the chosen logits
//   1  what each has of the softmax of all logits
//   2  1 / (1 + exp(-logit))
// Of 1 and 2 params.scale times that, divided by the sum of the chosen ones if is_normalised; with
// BIAS those are chosen whose probability, as above, plus a bias is largest. With FACTORS each share
// is multiplied by a number of its expert. n_shared more follow,
// numbered from n_expert on, which all tokens take: their share is 1, or that of form 2 of a logit.
//
//   act     (n_tokens, act_stride)  { expert, share, 0, 0 } of each written from route on
//   logits  (n_tokens, stride)      n_expert of each row
//   vectors with BIAS (n_expert) from bias on, with FACTORS as many from factor on
//
// A group owns a token. Each round finds the largest logit after the last one found, so that none
// has to be marked. Reads a few hundred logits: bound by the dispatch.
#include "lib/common.glsl"
#include "lib/exp_log.glsl"
#include "lib/group.glsl"
#include "lib/reduce.glsl"
#include "lib/step_state.glsl"

#ifndef GATING
#define GATING 0
#endif
#ifndef BIAS
#define BIAS 0
#endif
#ifndef FACTORS
#define FACTORS 0
#endif

layout(std430, binding = 0) restrict writeonly buffer Act { float act[]; };
layout(std430, binding = 1) restrict readonly buffer Logits { float logits[]; };

#include "params/route.glsl"

#if BIAS || FACTORS
layout(std430, binding = 2) restrict readonly buffer Vectors { float vectors[]; };
#endif

#define LEAST -3.4e38
#define MAX_USED 32u

// The first invocation alone uses these: private arrays would go to scratch memory on Mali.
shared float found_logits[MAX_USED];
shared uint found[MAX_USED];

#if GATING == 1
float largest_of_all, sum_of_all;

// Finds the divisor of the softmax of all logits.
void open_softmax(uint begin)
{
    float best = LEAST, sum = 0.0;
    uint lane = gl_LocalInvocationIndex, expert = lane;
    for (uint i = lane; i < params.n_expert; i += uint(WG_SIZE)) {
        best = max(best, logits[begin + i]);
    }
    reduce_max(best, expert, uint(WG_SIZE), params.one);
    group_barrier();
    largest_of_all = best;
    for (uint i = lane; i < params.n_expert; i += uint(WG_SIZE)) {
        sum += exp_negative(logits[begin + i] - largest_of_all);
    }
    sum_of_all = reduce_sum(sum, uint(WG_SIZE));
    group_barrier();
}
#endif

#if GATING
float probability(float logit)
{
#if GATING == 1
    return exp_negative(logit - largest_of_all) / sum_of_all;
#else
    return 1.0 / (1.0 + exp(-logit));
#endif
}
#endif

float factor_of(uint expert)
{
#if FACTORS
    return vectors[params.factor + expert];
#else
    return 1.0;
#endif
}

// Returns what an expert is chosen by.
float rank_value(uint begin, uint i)
{
#if BIAS
    return probability(logits[begin + i]) + vectors[params.bias + i];
#else
    return logits[begin + i];
#endif
}

// Returns the largest logit of this token after (logit, expert). Ends with a barrier: the next
// reduction may follow.
void find_next(uint begin, inout float logit, inout uint expert)
{
    float best = LEAST;
    uint best_expert = 0xFFFFFFFEu;
    for (uint i = gl_LocalInvocationIndex; i < params.n_expert; i += uint(WG_SIZE)) {
        float value = rank_value(begin, i);
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

#if GATING
// Writes the shares of the experts that were found, in invocation 0.
void write_shares(uint begin, uint at)
{
    float sum = 0.0;
    for (uint i = 0u; i < min(params.n_used, MAX_USED); i++) {
        found_logits[i] = probability(logits[begin + found[i]]);
        sum += found_logits[i];
    }
    float scale = params.is_normalised != 0u ? params.scale / max(sum, 6.1e-5) : params.scale;
    for (uint i = 0u; i < min(params.n_used, MAX_USED); i++) {
        act[at + 4u * i] = float(found[i]);
        act[at + 4u * i + 1u] = scale * found_logits[i] * factor_of(found[i]);
        act[at + 4u * i + 2u] = 0.0;
        act[at + 4u * i + 3u] = 0.0;
    }
}
#endif

// Writes the experts that all tokens take.
void write_shared(uint begin, uint at)
{
    float share = 1.0;
    if (params.shared_gate != 0xFFFFFFFFu) {
        share = 1.0 / (1.0 + exp(-logits[begin + params.shared_gate]));
    }
    for (uint i = 0u; i < params.n_shared; i++) {
        act[at + 4u * i] = float(params.n_expert + i);
        act[at + 4u * i + 1u] = share;
        act[at + 4u * i + 2u] = 0.0;
        act[at + 4u * i + 3u] = 0.0;
    }
}

void main()
{
    uint token = min(gl_WorkGroupID.x, state.n_tokens - 1u);
#if GATING == 1
    open_softmax(token * params.stride);
#endif
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
        write_shared(token * params.stride, at + 4u * params.n_used);
#if GATING
        write_shares(token * params.stride, at);
#else
        for (uint i = 0u; i < min(params.n_used, MAX_USED); i++) {
            act[at + 4u * i] = float(found[i]);
            act[at + 4u * i + 1u] =
                exp_negative(found_logits[i] - largest) / sum * factor_of(found[i]);
            act[at + 4u * i + 2u] = 0.0;
            act[at + 4u * i + 3u] = 0.0;
        }
#endif
    }
}
