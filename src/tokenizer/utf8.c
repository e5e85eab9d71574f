#include "tokenizer/utf8.h"

#define REPLACEMENT 0xfffdu

// Returns the bytes that follow a lead; -1 if it is none.
static int continuation_count(uint8_t lead)
{
    return lead < 0x80   ? 0
           : lead < 0xc0 ? -1
           : lead < 0xe0 ? 1
           : lead < 0xf0 ? 2
           : lead < 0xf8 ? 3
                         : -1;
}

uint32_t gi_utf8_next(struct gi_text text, size_t *offset)
{
    const uint8_t *bytes = (const uint8_t *)text.data + *offset;
    size_t left = text.size - *offset;
    int n = continuation_count(bytes[0]);
    *offset += 1;
    if (n <= 0) {
        return n < 0 ? REPLACEMENT : bytes[0];
    }
    uint32_t code = bytes[0] & (0x3fu >> n);
    for (int i = 1; i <= n; i++) {
        if ((size_t)i >= left || (bytes[i] & 0xc0) != 0x80) {
            return REPLACEMENT;
        }
        code = code << 6 | (bytes[i] & 0x3f);
    }
    if (code > 0x10ffff) {
        return REPLACEMENT;
    }
    *offset += (size_t)n;
    return code;
}

size_t gi_utf8_repair(struct gi_text text, char *out, bool *has_surrogates)
{
    size_t n = 0;
    *has_surrogates = false;
    for (size_t offset = 0; offset < text.size;) {
        uint32_t code = gi_utf8_next(text, &offset);
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

//-- stream ------------------------------------------------------------------------------------

// Returns the bytes of a well-formed character that starts with lead; 0 if none does.
static uint32_t character_size(uint8_t lead)
{
    return lead < 0x80   ? 1
           : lead < 0xc2 ? 0
           : lead < 0xe0 ? 2
           : lead < 0xf0 ? 3
           : lead < 0xf5 ? 4
                         : 0;
}

// True if byte may follow what is held; the second byte's range rules out overlong forms,
// surrogates and what is past U+10FFFF (Unicode, table 3-7).
static bool can_follow(const struct gi_utf8_stream *stream, uint8_t byte)
{
    const uint8_t lead = stream->n_held == 1 ? stream->held[0] : 0;
    const uint8_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    const uint8_t high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    return byte >= low && byte <= high;
}

// Writes what byte decides and returns the bytes written.
static size_t push_byte(struct gi_utf8_stream *stream, uint8_t byte, char *out)
{
    size_t n = 0;
    if (stream->n_held && !can_follow(stream, byte)) {
        n = gi_utf8_encode(REPLACEMENT, out);
        stream->n_held = 0;
    }
    if (!stream->n_held && !character_size(byte)) {
        return n + gi_utf8_encode(REPLACEMENT, out + n);
    }
    stream->held[stream->n_held++] = byte;
    if (stream->n_held == character_size(stream->held[0])) {
        memcpy(out + n, stream->held, stream->n_held);
        n += stream->n_held;
        stream->n_held = 0;
    }
    return n;
}

size_t gi_utf8_stream_push(struct gi_utf8_stream *stream, const char *bytes, size_t size, char *out)
{
    size_t n = 0;
    for (size_t i = 0; i < size; i++) {
        n += push_byte(stream, (uint8_t)bytes[i], out + n);
    }
    return n;
}

size_t gi_utf8_stream_flush(struct gi_utf8_stream *stream, char *out)
{
    if (!stream->n_held) {
        return 0;
    }
    stream->n_held = 0;
    return gi_utf8_encode(REPLACEMENT, out);
}
