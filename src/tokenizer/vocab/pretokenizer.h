// Cuts text into the words that byte pair encoding works on. What each tokenizer.ggml.pre means is
// a table of regular expressions in pretokenizer.c; an expression cuts the pieces that the one
// before it left. Compiled once, by PCRE2 in UTF mode; immutable after that.
#pragma once

#include "tokenizer/tokenizer.h"

struct gi_pretokenizer;

// Fails with UNSUPPORTED (names pre and all that are supported), NO_MEMORY. An empty pre is
// "default".
struct gi_pretokenizer *gi_pretokenizer_create(struct gi_text pre, struct glinfer_error *err);
// Cuts as WordPiece does: at U+0020, and around punctuation and ideographs.
struct gi_pretokenizer *gi_pretokenizer_create_wordpiece(struct glinfer_error *err);
void gi_pretokenizer_destroy(struct gi_pretokenizer *pretokenizer);

const char *gi_pretokenizer_name(const struct gi_pretokenizer *pretokenizer);
// Returns true if a word that is a token as a whole is not merged from its parts.
bool gi_pretokenizer_ignores_merges(const struct gi_pretokenizer *pretokenizer);
// Returns true if BOS starts a text unless the file says otherwise.
bool gi_pretokenizer_adds_bos(const struct gi_pretokenizer *pretokenizer);
// Returns true if a separator stands between the texts of a pair unless the file says otherwise.
bool gi_pretokenizer_adds_sep(const struct gi_pretokenizer *pretokenizer);

// The ends of consecutive words; zero-initialised, data is freed by the owner.
struct gi_word_ends {
    size_t *data;
    size_t count, capacity;
};

// Cuts text, valid UTF-8, and replaces what is in ends. Fails with NO_MEMORY.
bool gi_pretokenizer_split(const struct gi_pretokenizer *pretokenizer, struct gi_text text,
                           struct gi_word_ends *ends, struct glinfer_error *err);

// Removes what WordPiece passes over, controls and marks, from valid UTF-8, in place. Fails with
// NO_MEMORY.
bool gi_pretokenizer_strip(const struct gi_pretokenizer *pretokenizer, char *text, size_t *size,
                           struct glinfer_error *err);
