// Walks over the text of a grammar: bytes, characters with escapes, spaces, and the place of an
// error. Borrows the text.
#ifndef GI_GRAMMAR_GBNF_GRAMMAR_READER_H
#define GI_GRAMMAR_GBNF_GRAMMAR_READER_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct gi_reader {
    const char *text;
    size_t size, at;
    struct glinfer_error *err;
};

// Fails with INVALID_ARGUMENT: "invalid grammar: line 3, column 7: " and a reason for byte `at`,
// lines and columns counted from 1, columns in characters. Returns false.
bool gi_reader_fail_at(const struct gi_reader *reader, size_t at, const char *what);
bool gi_reader_fail(const struct gi_reader *reader, const char *what);

// Returns the byte that stands here, -1 at the end.
static inline int gi_reader_peek(const struct gi_reader *reader)
{
    return reader->at < reader->size ? (uint8_t)reader->text[reader->at] : -1;
}
// True if word stands here; passes over it then.
bool gi_reader_take(struct gi_reader *reader, const char *word);
// Passes over spaces and comments, and over the ends of lines if lines may end.
void gi_reader_skip_space(struct gi_reader *reader, bool may_end);
// Passes over letters, digits and '-'; returns how many.
size_t gi_reader_take_name(struct gi_reader *reader);
// True for the bytes of names.
bool gi_reader_is_name_byte(int byte);
// Reads a character of the text, which does not end here. Fails where the bytes are not UTF-8.
bool gi_reader_take_utf8(struct gi_reader *reader, uint32_t *code);
// Reads a character or an escape. Fails on an invalid one.
bool gi_reader_take_char(struct gi_reader *reader, uint32_t *code);
// Reads a decimal number of at most `most`; fails with `what`.
bool gi_reader_take_number(struct gi_reader *reader, uint32_t most, const char *what,
                           uint32_t *number);

#endif
