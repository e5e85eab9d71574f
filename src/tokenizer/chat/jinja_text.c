#include "tokenizer/chat/jinja_text.h"

#include "jinja/jinja_date.h"

#include <ctype.h>
#include <stdio.h>

#define NAME_MAX_SIZE   64
#define FORMAT_MAX_SIZE 64
#define DATE_MAX_SIZE   128
#define TERMS_MAX       16

const char *gi_text_find(struct gi_text text, const char *what)
{
    return text.size ? memmem(text.data, text.size, what, strlen(what)) : NULL;
}

struct gi_text gi_text_after(struct gi_text text, const char *position)
{
    return (struct gi_text){position, text.size - (size_t)(position - text.data)};
}

struct output {
    char *data;
    size_t size, capacity;
};

static bool put(struct output *out, char byte)
{
    if (out->size >= out->capacity) {
        return false;
    }
    out->data[out->size++] = byte;
    return true;
}

static bool skip(struct gi_text *text, const char *word)
{
    size_t size = strlen(word);
    if (text->size < size || memcmp(text->data, word, size) != 0) {
        return false;
    }
    *text = gi_text_after(*text, text->data + size);
    return true;
}

static void skip_spaces(struct gi_text *text)
{
    while (text->size && text->data[0] && strchr(" \t\r\n", text->data[0])) {
        *text = gi_text_after(*text, text->data + 1);
    }
}

static char unescape(char byte)
{
    return byte == 'n' ? '\n' : byte == 't' ? '\t' : byte == 'r' ? '\r' : byte;
}

static bool read_literal(struct gi_text *text, struct output *out)
{
    char quote = text->size ? text->data[0] : 0;
    if (quote != '"' && quote != '\'') {
        return false;
    }
    for (size_t i = 1; i < text->size; i++) {
        char byte = text->data[i];
        if (byte == quote) {
            *text = gi_text_after(*text, text->data + i + 1);
            return true;
        }
        if (byte == '\\' && i + 1 < text->size) {
            byte = unescape(text->data[++i]);
        }
        if (!put(out, byte)) {
            return false;
        }
    }
    return false;
}

static bool read_time(struct gi_text *text, struct output *out)
{
    char format[FORMAT_MAX_SIZE], today[DATE_MAX_SIZE];
    struct output literal = {format, 0, sizeof(format) - 1};
    if (!skip(text, "strftime_now(") || !read_literal(text, &literal) || !skip(text, ")")) {
        return false;
    }
    format[literal.size] = 0;
    gi_jinja_today(format, today, sizeof(today));
    for (size_t i = 0; today[i]; i++) {
        if (!put(out, today[i])) {
            return false;
        }
    }
    return true;
}

static bool read_constant(struct gi_text *text, struct output *out)
{
    return text->size && text->data[0] == 's' ? read_time(text, out) : read_literal(text, out);
}

// A variable stands for what it is first set to.
static bool read_variable(struct gi_text jinja, struct gi_text *text, struct output *out)
{
    size_t size = 0;
    while (size < text->size &&
           (isalnum((unsigned char)text->data[size]) || text->data[size] == '_')) {
        size++;
    }
    char mark[NAME_MAX_SIZE + 8];
    if (!size || size > NAME_MAX_SIZE) {
        return false;
    }
    snprintf(mark, sizeof(mark), "set %.*s = ", (int)size, text->data);
    const char *found = gi_text_find(jinja, mark);
    *text = gi_text_after(*text, text->data + size);
    if (!found) {
        return false;
    }
    struct gi_text value = gi_text_after(jinja, found + strlen(mark));
    return read_constant(&value, out);
}

// NOLINTNEXTLINE(readability-non-const-parameter): written through output
bool gi_jinja_text_evaluate(struct gi_text jinja, struct gi_text rest, char *out, size_t capacity,
                            size_t *size)
{
    struct output output = {out, *size, capacity};
    for (size_t n = 0; n < TERMS_MAX; n++) {
        skip_spaces(&rest);
        struct gi_text term = rest;
        size_t start = output.size;
        if (!read_constant(&rest, &output)) {
            rest = term;
            output.size = start;
            if (!read_variable(jinja, &rest, &output)) {
                return false;
            }
        }
        skip_spaces(&rest);
        if (!skip(&rest, "+")) {
            *size = output.size;
            return true;
        }
    }
    return false;
}
