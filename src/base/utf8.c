#include "base/utf8.h"

#include <string.h>

size_t gi_utf8_encode(uint32_t code, char out[4])
{
    static const uint8_t leads[5] = {0, 0, 0xc0, 0xe0, 0xf0};
    const size_t size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = size - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    out[0] = (char)(leads[size] | code);
    return size;
}

// Returns the size of a character by its first byte; 0 for a byte that begins none.
static size_t size_of(uint8_t lead)
{
    return lead < 0x80   ? 1
           : lead < 0xc0 ? 0
           : lead < 0xe0 ? 2
           : lead < 0xf0 ? 3
           : lead < 0xf8 ? 4
                         : 0;
}

size_t gi_utf8_match(const char *text, size_t size, size_t *whole)
{
    const uint8_t lead = size > 0 ? (uint8_t)text[0] : 0xff;
    *whole = lead == 0xc0 || lead == 0xc1 || lead > 0xf4 ? 0 : size_of(lead);
    // The second byte tells overlong forms, surrogates and numbers past U+10FFFF.
    const uint8_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    const uint8_t high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    size_t n = *whole > 0;
    while (n > 0 && n < *whole && n < size && gi_utf8_continues(text[n]) &&
           (n > 1 || ((uint8_t)text[1] >= low && (uint8_t)text[1] <= high))) {
        n++;
    }
    return n;
}

static uint32_t join(const char *text, size_t size)
{
    uint32_t code = (uint8_t)text[0] & (size == 1 ? 0x7fu : 0x7fu >> size);
    for (size_t i = 1; i < size; i++) {
        code = code << 6 | ((uint8_t)text[i] & 0x3f);
    }
    return code;
}

size_t gi_utf8_decode(const char *text, size_t size, uint32_t *code)
{
    size_t whole;
    if (gi_utf8_match(text, size, &whole) < whole || whole == 0) {
        return 0;
    }
    *code = join(text, whole);
    return whole;
}

size_t gi_utf8_count(const char *text, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < size; i++) {
        n += !gi_utf8_continues(text[i]);
    }
    return n;
}

uint32_t gi_utf8_take(const char **text)
{
    const size_t size = size_of((uint8_t) * *text);
    const uint32_t code = join(*text, size);
    *text += size > 0 ? size : 1;
    return code;
}

//-- text that may be ill-formed -------------------------------------------------------------------

size_t gi_utf8_loose_size(const char *text, size_t size)
{
    const size_t whole = size > 0 ? size_of((uint8_t)text[0]) : 0;
    for (size_t i = 1; i < whole; i++) {
        if (i == size || !gi_utf8_continues(text[i])) {
            return 0;
        }
    }
    return whole;
}

uint32_t gi_utf8_next(const char *text, size_t size, size_t *offset)
{
    const char *at = text + *offset;
    const size_t n = gi_utf8_loose_size(at, size - *offset);
    const uint32_t code = n > 0 ? join(at, n) : GI_UTF8_REPLACEMENT;
    const bool is_valid = n > 0 && code <= 0x10ffff;
    *offset += is_valid ? n : 1;
    return is_valid ? code : GI_UTF8_REPLACEMENT;
}

size_t gi_utf8_repair(const char *text, size_t size, char *out, bool *has_surrogates)
{
    size_t n = 0;
    *has_surrogates = false;
    for (size_t offset = 0; offset < size;) {
        const uint32_t code = gi_utf8_next(text, size, &offset);
        *has_surrogates |= code >= 0xd800 && code < 0xe000;
        n += gi_utf8_encode(code, out + n);
    }
    return n;
}

void gi_utf8_hide_surrogates(char *text, size_t size)
{
    for (size_t i = 0; i + 2 < size; i++) {
        if ((uint8_t)text[i] == 0xed && (uint8_t)text[i + 1] >= 0xa0) {
            gi_utf8_encode(0xe000, text + i);
        }
    }
}

//-- stream ----------------------------------------------------------------------------------------

size_t gi_utf8_stream_push(struct gi_utf8_stream *stream, const char *bytes, size_t size, char *out)
{
    size_t n = 0;
    for (size_t i = 0; i < size; i++) {
        size_t whole;
        stream->held[stream->n_held++] = bytes[i];
        while (stream->n_held > 0 &&
               gi_utf8_match(stream->held, stream->n_held, &whole) < stream->n_held) {
            n += gi_utf8_encode(GI_UTF8_REPLACEMENT, out + n);
            stream->held[0] = bytes[i]; // which may begin another character
            stream->n_held = stream->n_held > 1;
        }
        if (stream->n_held > 0 && stream->n_held == whole) {
            memcpy(out + n, stream->held, whole);
            n += whole;
            stream->n_held = 0;
        }
    }
    return n;
}

size_t gi_utf8_stream_flush(struct gi_utf8_stream *stream, char *out)
{
    const bool is_cut = stream->n_held > 0;
    stream->n_held = 0;
    return is_cut ? gi_utf8_encode(GI_UTF8_REPLACEMENT, out) : 0;
}
