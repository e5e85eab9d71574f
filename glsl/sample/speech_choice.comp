// token = the most likely token of a transcript that may follow; the timestamps alone if together
// they are more likely than any text. Also the rules of the next token.
//
//   ring    GI_RING_SLOTS entries                                  (binding 0, written)
//           probs[0]: the most likely timestamp, log-probability of the token among those that may
//           follow; probs[1]: 0, probability of no_speech among all tokens
//   logits  (n_vocab) f32 | rules | sums of speech_sums            (binding 1, written)
//   step_state                                                     (binding 2, advanced)
//   counts  GI_MAX_SLOTS grids                                     (binding 3, rewritten, with HAS_COUNTS)
//
// One group, of at least n_group invocations.
#include "lib/common.glsl"
#include "lib/group.glsl"
#include "lib/exp_log.glsl"
#include "lib/reduce.glsl"
#include "sample/step.glsl"
#include "sample/best.glsl"

layout(std430, binding = 1) restrict buffer Logits { uint logits[]; };

#include "params/speech_choice.glsl"
#include "lib/speech_kinds.glsl"

shared uint n_unsound;

// Joins a kind of all groups, of which each invocation takes one.
Kind read_kind(uint k)
{
    uint at = params.sums + gl_LocalInvocationIndex * GROUP_WORDS + k * KIND_WORDS;
    Kind kind = Kind(LOWEST, 0.0, NO_ID);
    if (gl_LocalInvocationIndex < params.n_group) {
        kind = Kind(uintBitsToFloat(logits[at]), uintBitsToFloat(logits[at + 2u]), logits[at + 1u]);
    }
    if (kind.id == UNSOUND) {
        atomicAdd(n_unsound, 1u);
    }
    join_kind(kind);
    return kind;
}

float log_of(Kind kind)
{
    return kind.id == NO_ID ? LOWEST : kind.most + log_positive(kind.sum);
}

// Timestamps come in pairs, the end of a segment and the start of the next, but for the first, and
// never go back.
void write_rules(uint id)
{
    bool is_time = id >= params.time;
    bool is_pair = state.step == 0u || state.token >= params.time;
    uint begin = id > params.time ? id : logits[TIMES];
    logits[TEXT] = is_time && !is_pair ? params.end : 0u;
    logits[TEXT + 1u] = params.end + 1u;
    logits[TIMES] = begin;
    logits[TIMES + 1u] = is_time && is_pair ? begin : logits[MOST];
    logits[BANNED] = NO_ID;
}

void main()
{
    if (gl_LocalInvocationIndex == 0u) {
        n_unsound = 0u;
    }
    group_barrier();
    Kind text, times, others;
    for (uint k = 0u; k < N_KINDS; k++) {
        Kind kind = read_kind(k);
        if (k == 0u) {
            text = kind;
        } else if (k == 1u) {
            times = kind;
        } else {
            others = kind;
        }
    }
    float log_text = log_of(text), log_times = log_of(times);
    float larger = max(log_text, log_times), less = min(log_text, log_times);
    float total = larger + log_positive(1.0 + exp_negative(less - larger));
    bool is_time = log_times > text.most;
    uint id = is_time ? times.id : text.id;
    float most = max(max(text.most, times.most), others.most);
    float all = text.sum * exp_negative(text.most - most) +
                times.sum * exp_negative(times.most - most) +
                others.sum * exp_negative(others.most - most);
    bool is_sound = n_unsound == 0u && id < params.n_vocab;
    uint token = is_sound ? id : 0u;
    if (gl_LocalInvocationIndex == 0u) {
        float no_speech = exp_negative(uintBitsToFloat(logits[params.no_speech]) - most) / all;
        float logprob = (is_time ? times.most : text.most) - total;
        uint slot = state.step % RING_SLOTS;
        ring[slot].probs[0] =
            uvec2(times.id == NO_ID ? params.time : times.id, floatBitsToUint(logprob));
        ring[slot].probs[1] = uvec2(0u, floatBitsToUint(no_speech));
        write_rules(token);
    }
    step_advance(token, is_sound ? STATUS_OK : STATUS_NAN);
}
