// UTF-8, the only module that reads and writes it: single characters, the repair of a text, a
// stream of bytes. A character is well-formed if table 3-7 of the Unicode Standard has its bytes,
// which excludes overlong forms, surrogates and code points above U+10FFFF.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GI_UTF8_REPLACEMENT 0xfffdu

// True for the second to fourth byte of a character.
static inline bool gi_utf8_continues(char byte)
{
    return ((uint8_t)byte & 0xc0) == 0x80;
}

// Writes the 1 to 4 bytes of a code point; returns their number.
size_t gi_utf8_encode(uint32_t code, char out[4]);
// Returns the number of bytes of text[0..size) that are the beginning of one well-formed character,
// and sets *whole to the size of that character; both are 0 if text begins with another byte.
size_t gi_utf8_match(const char *text, size_t size, size_t *whole);
// Reads the well-formed character at the beginning of text[0..size). Returns its size; 0 if the
// beginning is not well-formed or not complete.
size_t gi_utf8_decode(const char *text, size_t size, uint32_t *code);
// Returns the number of characters of a well-formed text.
size_t gi_utf8_count(const char *text, size_t size);
// Reads a character of a well-formed string and advances.
uint32_t gi_utf8_take(const char **text);

// Returns the size of the character at the beginning of text[0..size), which may be an overlong
// form, a surrogate or beyond U+10FFFF; 0 if the beginning is not a complete character.
size_t gi_utf8_loose_size(const char *text, size_t size);
// Reads the character at text[*offset] and advances. Overlong forms and surrogates pass; any other
// byte that begins no character is read as U+FFFD.
uint32_t gi_utf8_next(const char *text, size_t size, size_t *offset);
// Writes text to out as gi_utf8_next reads it. out has room for 3 * size bytes. Returns the number
// of bytes written and sets *has_surrogates.
size_t gi_utf8_repair(const char *text, size_t size, char *out, bool *has_surrogates);
// Replaces each surrogate by a private use character of the same size, in place: neither is a
// letter, number, mark, sign or space, but only the latter is valid.
void gi_utf8_hide_surrogates(char *text, size_t size);

// Holds back the bytes of an unfinished character between pieces of a text. Zero-initialised. Bytes
// that can never become a character come out as U+FFFD.
struct gi_utf8_stream {
    char held[4];
    size_t n_held;
};
// Appends bytes and writes the characters that are complete to out, which has room for 3 * (size +
// 4) bytes. Returns the number of bytes written, all well-formed.
size_t gi_utf8_stream_push(struct gi_utf8_stream *stream, const char *bytes, size_t size,
                           char *out);
// Ends the text: writes one U+FFFD for the bytes that are held. out has room for 3 bytes. Returns
// the number of bytes written.
size_t gi_utf8_stream_flush(struct gi_utf8_stream *stream, char *out);
