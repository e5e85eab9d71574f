// UTF-8 for the tokenizer: repairing what comes in. The stream that holds back unfinished
// characters on the way out is in tokenizer.h.
#ifndef GI_TOKENIZER_UTF8_H
#define GI_TOKENIZER_UTF8_H

#include "base/code_point.h"
#include "tokenizer/tokenizer.h"

// Writes text to out with each byte that starts no character as U+FFFD and overlong forms in their
// shortest; surrogates pass, as in llama.cpp. out has room for 3 * text.size bytes. Returns the
// number of bytes written and sets *has_surrogates.
size_t gi_utf8_repair(struct gi_text text, char *out, bool *has_surrogates);

// Replaces each surrogate by a private use character of the same size, in place: neither is a
// letter, number, mark, sign or space, but only the latter is valid.
void gi_utf8_hide_surrogates(char *text, size_t size);

// Reads the character at text.data[*offset] and advances; any byte that starts none is returned as
// U+FFFD and passed over.
uint32_t gi_utf8_next(struct gi_text text, size_t *offset);

#endif
