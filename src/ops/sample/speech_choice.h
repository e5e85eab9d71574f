// The end of a step of a transcript: chooses the most likely token that may follow, and says which
// tokens may follow that one. The rules are those of speech/whisper_rules.h, which the CPU applies
// where a text is not greedy.
#pragma once

#include "ops/sample/sample.h"

// Ids of a vocabulary. Text comes before `end`, timestamps are all from `time` on.
struct gi_speech_tokens {
    uint32_t end, time, no_speech;
};

// The tokens that may follow, apart from those that never do: ids [text_begin, text_end) and
// [time_begin, time_end) but `banned`. The twin is glsl/lib/speech_kinds.glsl.
struct gi_speech_rules {
    uint32_t text_begin, text_end;
    uint32_t time_begin, time_end;
    uint32_t banned;    // UINT32_MAX: none
    uint32_t most_time; // time_end where a pair of timestamps is complete
};

// Returns the range of struct gi_speech_rules, which the host writes before the first step.
struct gi_range gi_speech_rules_range(const struct gi_logits *logits);

// Chooses a token under the rules, the lowest id on ties, and advances as sample.h says. Tokens
// whose bits are 1 in the words of adjust's mask never follow. state.step counts the tokens of the
// transcript, of which state.token is the last. Two dispatches. The ring's entry has more:
//   probs[0]  id: the most likely timestamp in place of the token; logprob: of the token, among
//             those that may follow
//   probs[1]  id: 0; logprob: the probability, not its logarithm, of no_speech among all tokens
void gi_op_speech_choice(struct gi_recorder *recorder, const struct gi_speech_tokens *tokens,
                         const struct gi_adjust *adjust, const struct gi_logits *logits,
                         const struct gi_step_buffers *step);
