// Windows and caps the scores of attention as a family does. Needs lib/exp_log.glsl, and in Params
// window and softcap.
//   WINDOW   1: a token sees the last params.window keys only, its own included
//   SOFTCAP  1: scores s become softcap * tanh(s / softcap)
//   AFTER    1: a token of a batch also sees the next params.after keys of the batch, without a window all of them
//   ALIBI    1: scores become less with the distance of the key, by a slope of each head
//   SINKS    1: each head has a sink, the score of a key without a value, at params.sinks of the vectors
// SCORE_LOG2 is 1 in kernels that keep scores times log2(e).
#if !defined(WINDOW) || !defined(SOFTCAP)
#error "WINDOW, SOFTCAP: 1 if scores have a window, a cap"
#endif

#ifndef AFTER
#define AFTER 0
#endif
#ifndef ALIBI
#define ALIBI 0
#endif

#include "lib/soft_cap.glsl"

#ifndef SINKS
#define SINKS 0
#endif
#ifndef SCORE_LOG2
#define SCORE_LOG2 0
#endif

// Returns a head's sum of weights, relative to its largest score, with the weight of its sink.
#if SINKS
layout(std430, binding = 2) restrict readonly buffer Sinks { float sinks[]; };

float with_sink(float weight_sum, float largest, uint head)
{
    const float log2_e = 1.4426950408889634;
    float sink = log2_e * sinks[params.sinks + head];
    return weight_sum + exp2(min(sink - (SCORE_LOG2 == 1 ? 1.0 : log2_e) * largest, 126.0));
}
#else
#define with_sink(weight_sum, largest, head) (weight_sum)
#endif

// The first key that a token sees, n_seen being the keys up to its own.
uint first_seen(uint n_seen)
{
#if WINDOW
    return n_seen - min(n_seen, params.window);
#else
    return 0u;
#endif
}

#if AFTER
// Returns one past the last key that a token sees, n_seen being the keys up to its own.
uint end_seen(uint n_seen)
{
#if WINDOW
    return min(n_seen + params.after, state.n_past + state.n_tokens);
#else
    return state.n_past + state.n_tokens;
#endif
}
#else
uint end_seen(uint n_seen)
{
    return n_seen;
}
#endif

#if ALIBI
// Returns a head's slope: a geometric series over the first heads, a power of two of them, and the
// terms between its own over the rest.
float alibi_slope(uint head)
{
    uint n = 1u << uint(findMSB(params.n_head));
    float rate = params.max_bias / float(n);
    return exp2(head < n ? -rate * float(head + 1u) : -0.5 * rate * float(2u * (head - n) + 1u));
}

// Returns what the score of a key loses, n_seen being the keys up to the token's own.
float alibi_bias(uint head, uint n_seen, uint key)
{
    return alibi_slope(head) * abs(float(int(key) + 1 - int(n_seen)));
}
#endif

float cap_score(float score)
{
#if SOFTCAP
    return soft_cap(score, params.softcap);
#else
    return score;
#endif
}

#ifdef MASKS_TILES
// Returns the scores of four keys of a token, which sees n_seen keys up to its own, masked but for
// those that it sees. Needs attention/softmax.glsl.
vec4 mask_scores(vec4 score, uint head, uint n_seen, uvec4 keys)
{
    score = vec4(cap_score(score.x), cap_score(score.y), cap_score(score.z), cap_score(score.w));
#if ALIBI
    score -= vec4(alibi_bias(head, n_seen, keys.x), alibi_bias(head, n_seen, keys.y),
                  alibi_bias(head, n_seen, keys.z), alibi_bias(head, n_seen, keys.w));
#endif
    score = mix(vec4(MASKED), score, lessThan(keys, uvec4(end_seen(n_seen))));
#if WINDOW
    score = mix(score, vec4(MASKED), lessThan(keys, uvec4(first_seen(n_seen))));
#endif
    return score;
}
#endif
