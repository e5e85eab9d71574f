// Chooses tokens from the logits of a step, under the mask of a window: the most likely, several of
// them for beams, or one at random.
//   Radford et al., Robust Speech Recognition via Large-Scale Weak Supervision, section 4.5
#pragma once

#include "speech/whisper_rules.h"

struct gi_whisper_choice {
    const struct gi_whisper_ids *ids; // borrowed
    const uint32_t *suppressed;       // bits of ids that never follow; NULL: none. Borrowed
    uint32_t blank;                   // id of " "
    float temperature;                // 0: the most likely
    double uniform;                   // random number in (0, 1), for another temperature
};

// Writes the best k tokens that may follow, the most likely first; at a temperature one that is
// random. If timestamps together are more likely than any text, only they may. Log-probabilities
// are under the mask, without the temperature. Returns their number: 0 if no logit is a number.
size_t gi_whisper_choose(const struct gi_whisper_choice *choice, const struct gi_whisper_mask *mask,
                         const float *logits, struct gi_whisper_token *out, size_t k);

// Returns the probability of token `id` among tokens [begin, end), without a mask.
float gi_whisper_probability(const float *logits, uint32_t begin, uint32_t end, uint32_t id);
// Returns the most likely token of [begin, end); begin if no logit is a number.
uint32_t gi_whisper_most_likely(const float *logits, uint32_t begin, uint32_t end);
