// Follows a text through a grammar and says which tokens may come next. A matcher keeps what it
// learns of its grammar: states, their transitions and masks, so that a state that was seen costs a
// look-up. Sequences that follow the same grammar share one; each has a state of its own.
//
// One thread at a time uses a matcher and its states. No GL.
#pragma once

#include "grammar/grammar.h"
#include "grammar/grammar_vocab.h"

struct gi_grammar_matcher;

#define GI_GRAMMAR_MAX_TRIGGER 256 // bytes of a trigger word

struct gi_grammar_matcher_params {
    const struct gi_grammar *grammar;     // borrowed
    const struct gi_grammar_vocab *vocab; // borrowed; NULL: bytes only, no tokens and masks
    size_t memory;                        // bytes to keep at most; 0: 32 MiB
    // A lazy grammar: text is free until one of these comes, and follows the grammar from the first
    // byte of the word, or from the token, on. The grammar describes the trigger too. Copied.
    const char *const *trigger_words; // of 1 to GI_GRAMMAR_MAX_TRIGGER bytes
    size_t n_trigger_words;
    const int32_t *trigger_tokens; // ids
    size_t n_trigger_tokens;
};

// Fails with INVALID_ARGUMENT (a trigger that is empty, too long or out of range) and NO_MEMORY.
// Freed with gi_grammar_matcher_destroy after its states, which accepts NULL.
struct gi_grammar_matcher *gi_grammar_matcher_create(const struct gi_grammar_matcher_params *params,
                                                     struct glinfer_error *err);
void gi_grammar_matcher_destroy(struct gi_grammar_matcher *matcher);

// The place in the grammar that a text has led to. Fields are the matcher's.
struct gi_grammar_state {
    struct gi_grammar_matcher *matcher; // borrowed
    uint32_t id;
    bool is_waiting; // for a trigger
    uint16_t n_tail;
    char tail[GI_GRAMMAR_MAX_TRIGGER]; // of the text, while waiting
};

// Begins a text.
void gi_grammar_state_init(struct gi_grammar_state *state, struct gi_grammar_matcher *matcher);
// Makes *to, which is not initialised, a copy.
void gi_grammar_state_copy(struct gi_grammar_state *to, const struct gi_grammar_state *from);
// Accepts a zero-initialised state.
void gi_grammar_state_finish(struct gi_grammar_state *state);

// A call below that fails leaves the state as it was. Each fails with UNSUPPORTED if the grammar is
// so ambiguous, or nested so deep, that it needs more memory than the matcher may have, and with
// NO_MEMORY.

// Appends bytes of any length; a character may be cut anywhere. Fails with INVALID_ARGUMENT if the
// grammar does not allow them.
bool gi_grammar_accept_bytes(struct gi_grammar_state *state, const char *bytes, size_t size,
                             struct glinfer_error *err);
// Appends a token. One that ends the text changes nothing and is accepted where the grammar may
// end. Fails with INVALID_ARGUMENT if the grammar does not allow it.
bool gi_grammar_accept(struct gi_grammar_state *state, int32_t token, struct glinfer_error *err);

// Returns true if the text may end here; while a lazy grammar waits, it may.
bool gi_grammar_may_end(const struct gi_grammar_state *state);

// Writes bit i % 32 of bits[i / 32] for token i: 1 if it may come next. bits has room for
// (n_tokens + 31) / 32 words. While a lazy grammar waits all are 1. Fails with INVALID_ARGUMENT at
// a dead end: the grammar goes on, but no token of the vocabulary does.
bool gi_grammar_mask(struct gi_grammar_state *state, uint32_t *bits, struct glinfer_error *err);
