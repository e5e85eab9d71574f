// What can be read off a Jinja text without running it: constant expressions.
#ifndef GI_TOKENIZER_JINJA_TEXT_H
#define GI_TOKENIZER_JINJA_TEXT_H

#include "tokenizer/tokenizer.h"

// The position of what in text, or NULL.
const char *gi_text_find(struct gi_text text, const char *what);
// What of text begins at position.
struct gi_text gi_text_after(struct gi_text text, const char *position);

// Appends to out, of *size bytes so far and no more than capacity, the value of the expression at
// the start of rest, a part of jinja: string literals, strftime_now('...') of today, and variables
// that are set to one of these, joined by +. False if it is anything else or finds no room.
bool gi_jinja_text_evaluate(struct gi_text jinja, struct gi_text rest, char *out, size_t capacity,
                            size_t *size);

#endif
