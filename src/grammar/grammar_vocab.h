// The texts of a vocabulary's tokens as a tree of shared prefixes, so that a mask looks at each
// prefix once. Made once for a model.
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum gi_grammar_token_kind {
    GI_GRAMMAR_TOKEN_TEXT,    // its bytes become part of the text
    GI_GRAMMAR_TOKEN_CONTROL, // no text: allowed only where a grammar names it
    GI_GRAMMAR_TOKEN_END,     // ends the text: allowed where the grammar may end
};

struct gi_grammar_token {
    const char *bytes; // as they stand in the text; a byte token is its byte
    size_t size;       // at most 4,096; a token of 0 bytes is as a control token
    enum gi_grammar_token_kind kind;
};

// Immutable, so that many threads may use one.
struct gi_grammar_vocab;

// Copies what it needs. Fails with INVALID_ARGUMENT (a token that is too long, more than 2^24
// tokens) and NO_MEMORY. Freed with gi_grammar_vocab_destroy, which accepts NULL.
struct gi_grammar_vocab *gi_grammar_vocab_create(const struct gi_grammar_token *tokens,
                                                 size_t n_tokens, struct glinfer_error *err);
void gi_grammar_vocab_destroy(struct gi_grammar_vocab *vocab);

// Returns the number of tokens.
size_t gi_grammar_vocab_size(const struct gi_grammar_vocab *vocab);
