// The triggers of lazy grammars: words of the text, and tokens. Inner to src/grammar.
#pragma once

#include "grammar/grammar_matcher.h"

struct gi_match_triggers {
    char (*words)[GI_GRAMMAR_MAX_TRIGGER];
    size_t *word_sizes;
    size_t n_words;
    size_t max_size; // of the words
    uint32_t *tokens;
    size_t n_tokens;
};

// Copies the triggers of params; *triggers is zero-initialised.
bool gi_match_triggers_init(struct gi_match_triggers *triggers,
                            const struct gi_grammar_matcher_params *params,
                            struct glinfer_error *err);
void gi_match_triggers_finish(struct gi_match_triggers *triggers);

// Appends bytes to the tail of a waiting text up to the first that ends a word. Returns how many,
// and sets *n_word to the size of the word that the tail then ends with (of several the longest),
// to 0 if there is none.
size_t gi_match_triggers_find(const struct gi_match_triggers *triggers,
                              struct gi_grammar_state *state, const char *bytes, size_t size,
                              size_t *n_word);

bool gi_match_triggers_has_token(const struct gi_match_triggers *triggers, uint32_t token);
