// The vocabulary of a Whisper model: text to token ids and back, and the tokens that a user wants
// suppressed. Special tokens have no text. Immutable after creation, so threads may share it.
#pragma once

#include "base/error.h"
#include "tokenizer/text.h"

#include <stdint.h>

struct gi_gguf;
struct gi_whisper_text;

// Reads the first n_text of tokenizer.ggml.tokens, which are text; the file is not needed
// afterwards. Fails with BAD_FILE (no vocabulary), NO_MEMORY.
struct gi_whisper_text *gi_whisper_text_create(const struct gi_gguf *file, uint32_t n_text,
                                               struct glinfer_error *err);
// Accepts NULL.
void gi_whisper_text_destroy(struct gi_whisper_text *text);

// Returns the bytes of a token, not always whole characters; none for special tokens.
struct gi_text gi_whisper_token_text(const struct gi_whisper_text *text, uint32_t id);

struct gi_whisper_id_list {
    uint32_t *data; // owned
    size_t count, capacity;
};

// Appends the tokens of a string, which need not be valid UTF-8: words by GPT-2's expression, in
// each of which the two neighbours that form the token with the lowest id are merged first. Fails
// with NO_MEMORY.
bool gi_whisper_encode(const struct gi_whisper_text *text, const char *string,
                       struct gi_whisper_id_list *ids, struct glinfer_error *err);

// Sets the bits of `suppressed` whose tokens as a whole match a regular expression (PCRE2). text
// NULL: checks the expression alone. Fails with INVALID_ARGUMENT (with the reason and its place),
// NO_MEMORY.
bool gi_whisper_suppress_regex(const struct gi_whisper_text *text, const char *regex,
                               uint32_t *suppressed, struct glinfer_error *err);
// Sets the bits of tokens that are symbols, brackets and notes, not speech.
void gi_whisper_suppress_symbols(const struct gi_whisper_text *text, uint32_t *suppressed);
