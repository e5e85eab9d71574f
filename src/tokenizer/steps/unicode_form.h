// Unicode's normal forms, lower case and properties of characters, by libutf8proc. Texts are valid
// UTF-8.
#pragma once

#include "tokenizer/tokenizer.h"

enum gi_unicode_form { GI_FORM_C, GI_FORM_D, GI_FORM_KC, GI_FORM_KD };

// Bytes that grow; zero-initialised, data is freed by the owner.
struct gi_bytes {
    char *data;
    size_t count, capacity;
};
// Appends a text. Fails with NO_MEMORY.
bool gi_bytes_push(struct gi_bytes *bytes, struct gi_text text, struct glinfer_error *err);

// Appends a text in a normal form (Unicode Standard Annex 15). Fails with NO_MEMORY.
bool gi_form_push(enum gi_unicode_form form, struct gi_text text, struct gi_bytes *out,
                  struct glinfer_error *err);
// Appends a text with each character in lower case. Fails with NO_MEMORY.
bool gi_lower_push(struct gi_text text, struct gi_bytes *out, struct glinfer_error *err);

// Returns the bytes of the grapheme at the front of a text that is not empty (Unicode Standard
// Annex 29).
size_t gi_grapheme_size(struct gi_text text);
// Returns true for Unicode's White_Space.
bool gi_is_unicode_space(uint32_t code);
// Returns true for a character of words: a letter, mark, decimal digit, connecting punctuation.
bool gi_is_unicode_word(uint32_t code);
