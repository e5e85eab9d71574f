// Finds which tokens of a vocabulary a state allows. Inner to src/grammar.
#pragma once

#include "grammar/grammar_vocab_tree.h"
#include "grammar/match/match_graph.h"

// Returns the bytes of a mask: a bit for each token, in words of 32.
size_t gi_match_mask_bytes(const struct gi_grammar_vocab *vocab);
// Sets the bits of all tokens.
void gi_match_mask_fill(const struct gi_grammar_vocab *vocab, uint32_t *bits);

// Makes the mask of a state, which has none, in a call that has begun. Fails with INVALID_ARGUMENT
// at a dead end, UNSUPPORTED (memory or work, as in match_graph.h), NO_MEMORY.
bool gi_match_mask_find(struct gi_match_graph *graph, const struct gi_grammar_vocab *vocab,
                        uint32_t state);
