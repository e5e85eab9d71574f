// The tokens that a text has so far, and the samplers that make it repeat itself less: penalties
// on tokens that it has, and DRY, on tokens that would continue what it has.
#pragma once

#include "sampler/candidates.h"

// A sequence of tokens that ends a repetition: DRY looks only at the tokens after it.
struct gi_breaker {
    const uint32_t *ids;
    uint32_t n_ids; // at least 1
};

struct gi_penalties {
    uint32_t last_n; // tokens of the text that count; 0: off
    float repeat;    // > 0; 1: off
    float presence, frequency;
};

struct gi_dry {
    float multiplier; // 0: off
    float base;       // < 1: off
    uint32_t allowed_length;
    uint32_t last_n;                   // tokens of the text that count; 0: off
    const struct gi_breaker *breakers; // (n_breaker), copied
    uint32_t n_breaker;
};

struct gi_breaker_set;

struct gi_history {
    struct gi_penalties penalties;
    struct gi_dry dry; // its breakers are in the set
    uint32_t n_vocab;
    uint32_t *tokens; // (capacity) a ring: the next one goes to place n_total % capacity
    uint32_t capacity;
    uint64_t n_total;
    uint32_t *counts;  // (n_vocab) how often a token is among the last that penalties count
    uint32_t *lengths; // (n_vocab) scratch of DRY, zeros between calls; NULL: it is off
    uint32_t *matches; // (dry.last_n) scratch of DRY; NULL: it is off
    struct gi_breaker_set *breakers; // NULL: DRY is off
};

// Begins a text without tokens. Fails with NO_MEMORY.
bool gi_history_init(struct gi_history *history, uint32_t n_vocab,
                     const struct gi_penalties *penalties, const struct gi_dry *dry,
                     struct glinfer_error *err);
// Accepts all-zero.
void gi_history_finish(struct gi_history *history);

// Adds a token below n_vocab; forgets the oldest where no sampler looks at it.
void gi_history_push(struct gi_history *history, uint32_t token);

// Changes the logit of each token that is `count` times among the last last_n: divides it by repeat
// if it is over 0, else multiplies, and then subtracts count * frequency + presence (Keskar et al.
// 2019 for the first).
void gi_history_penalize(const struct gi_history *history, struct gi_candidates *list);
// Subtracts multiplier * base^(length - allowed_length) from the logit of each token with which the
// text would end like it did before, length being the number of equal tokens before
// both, if that is allowed_length or more ("don't repeat yourself"). Nothing counts that lies
// before the last breaker, and a token that is a breaker alone is left as it is.
void gi_history_dry(const struct gi_history *history, struct gi_candidates *list);
