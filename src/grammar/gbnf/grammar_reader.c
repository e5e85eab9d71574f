#include "grammar/gbnf/grammar_reader.h"

#include "base/utf8.h"
#include "grammar/gbnf/char_automaton.h"

#include <string.h>

enum { MAX_CODE_DIGITS = 8 };

//-- errors ----------------------------------------------------------------------------------------

static void place_of(const struct gi_reader *reader, size_t at, uint32_t *line, uint32_t *column)
{
    *line = 1;
    *column = 1;
    for (size_t i = 0; i < at && i < reader->size; i++) {
        if (reader->text[i] == '\n') {
            *line += 1;
            *column = 1;
        } else if (!gi_utf8_continues(reader->text[i])) { // columns count characters
            *column += 1;
        }
    }
}

bool gi_reader_fail_at(const struct gi_reader *reader, size_t at, const char *what)
{
    uint32_t line, column;
    place_of(reader, at, &line, &column);
    return gi_error_set(reader->err, GLINFER_STATUS_INVALID_ARGUMENT,
                        "invalid grammar: line %u, column %u: %s", line, column, what);
}

bool gi_reader_fail(const struct gi_reader *reader, const char *what)
{
    return gi_reader_fail_at(reader, reader->at, what);
}

//-- characters ------------------------------------------------------------------------------------

bool gi_reader_take(struct gi_reader *reader, const char *word)
{
    const size_t size = strlen(word);
    if (reader->size - reader->at < size || memcmp(reader->text + reader->at, word, size) != 0) {
        return false;
    }
    reader->at += size;
    return true;
}

bool gi_reader_is_name_byte(int byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '-';
}

size_t gi_reader_take_name(struct gi_reader *reader)
{
    const size_t begin = reader->at;
    while (gi_reader_is_name_byte(gi_reader_peek(reader))) {
        reader->at++;
    }
    return reader->at - begin;
}

// Passes over spaces and comments, over the ends of lines too if lines may end.
void gi_reader_skip_space(struct gi_reader *reader, bool may_end)
{
    for (;; reader->at++) {
        const int byte = gi_reader_peek(reader);
        if (byte == '#') {
            while (gi_reader_peek(reader) >= 0 && gi_reader_peek(reader) != '\n' &&
                   gi_reader_peek(reader) != '\r') {
                reader->at++;
            }
            reader->at--;
        } else if (!(byte == ' ' || byte == '\t' || (may_end && (byte == '\n' || byte == '\r')))) {
            return;
        }
    }
}

bool gi_reader_take_utf8(struct gi_reader *reader, uint32_t *code)
{
    const size_t size = gi_utf8_decode(reader->text + reader->at, reader->size - reader->at, code);
    if (size == 0) {
        return gi_reader_fail(reader, "invalid UTF-8");
    }
    reader->at += size;
    return true;
}

static int digit_of(int byte)
{
    return byte >= '0' && byte <= '9'   ? byte - '0'
           : byte >= 'a' && byte <= 'f' ? byte - 'a' + 10
           : byte >= 'A' && byte <= 'F' ? byte - 'A' + 10
                                        : -1;
}

static bool take_hex(struct gi_reader *reader, size_t begin, int n_digits, uint32_t *code)
{
    *code = 0;
    for (int i = 0; i < n_digits; i++, reader->at++) {
        const int digit = digit_of(gi_reader_peek(reader));
        if (digit < 0) {
            return gi_reader_fail_at(reader, begin,
                                     "\\x takes 2 hexadecimal digits, \\u 4 and \\U 8");
        }
        *code = *code << 4 | (uint32_t)digit;
    }
    if (*code > GI_CODE_MAX || (*code >= 0xd800 && *code < 0xe000)) {
        return gi_reader_fail_at(reader, begin, "invalid escape: not a Unicode character");
    }
    return true;
}

static bool take_escape(struct gi_reader *reader, uint32_t *code)
{
    static const char from[] = "nrt\\\"[]-", to[] = "\n\r\t\\\"[]-";
    const size_t begin = reader->at++;
    const int byte = gi_reader_peek(reader);
    const char *found = byte > 0 ? strchr(from, byte) : NULL;
    reader->at += byte >= 0;
    if (found) {
        *code = (uint8_t)to[found - from];
        return true;
    }
    if (byte == 'x' || byte == 'u' || byte == 'U') {
        return take_hex(reader, begin, byte == 'x' ? 2 : byte == 'u' ? 4 : MAX_CODE_DIGITS, code);
    }
    return gi_reader_fail_at(
        reader, begin,
        "unknown escape; the escapes are \\n \\r \\t \\x \\u \\U \\\\ \\\" \\[ \\] "
        "\\-");
}

bool gi_reader_take_char(struct gi_reader *reader, uint32_t *code)
{
    return gi_reader_peek(reader) == '\\' ? take_escape(reader, code)
                                          : gi_reader_take_utf8(reader, code);
}

//-- numbers

bool gi_reader_take_number(struct gi_reader *reader, uint32_t most, const char *what,
                           uint32_t *number)
{
    const size_t begin = reader->at;
    uint64_t value = 0;
    for (; gi_reader_peek(reader) >= '0' && gi_reader_peek(reader) <= '9'; reader->at++) {
        value = value * 10 + (uint64_t)(gi_reader_peek(reader) - '0');
        value = value > UINT32_MAX ? UINT32_MAX : value;
    }
    if (reader->at == begin || value > most) {
        return gi_reader_fail_at(reader, begin, what);
    }
    *number = (uint32_t)value;
    return true;
}
