#include "jinja/jinja_write.h"

#include "base/json_escape.h"
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

enum { MAX_NESTING = 64 };

struct writer {
    struct gi_jinja_pool *pool;
    struct gi_jinja_text text;
    bool is_json;
    const struct gi_jinja_json_form *form;
};

static void write_text(struct writer *writer, const char *text)
{
    gi_jinja_append_text(writer->pool, &writer->text, text);
}

//-- strings ---------------------------------------------------------------------------------------

// Writes a byte that cannot stand for itself within quotes; false if it can.
static bool write_escape(struct writer *writer, unsigned char byte, char quote)
{
    const char letter = gi_json_escape_letter(byte);
    char escaped[13] = {'\\', quote, 0};
    if (letter && (writer->is_json || !strchr("\"bf", letter))) { // Python has no \b and \f
        escaped[1] = letter;
    } else if (byte < 0x20 && writer->is_json) {
        gi_json_escape_digits(byte, escaped);
    } else if (byte < 0x20) {
        snprintf(escaped, sizeof(escaped), "\\x%02x", byte);
    } else if (byte != (unsigned char)quote) {
        return false;
    }
    write_text(writer, escaped);
    return true;
}

// Writes a string in quotes; Python takes those that need no escape.
static void write_quoted(struct writer *writer, struct gi_jinja_string string)
{
    const bool has_quote = string.size && memchr(string.data, '\'', string.size);
    const bool has_double = string.size && memchr(string.data, '"', string.size);
    const char quote[2] = {writer->is_json || (has_quote && !has_double) ? '"' : '\'', 0};
    const bool is_ascii = writer->is_json && writer->form->is_ascii;
    write_text(writer, quote);
    for (size_t i = 0, size; i < string.size && !writer->pool->has_failed; i += size) {
        const unsigned char byte = (unsigned char)string.data[i];
        size = 1;
        if (byte >= 0x80 && is_ascii) {
            char escaped[13];
            size_t end = i;
            gi_json_escape_digits(gi_utf8_next(string.data, string.size, &end), escaped);
            write_text(writer, escaped);
            size = end - i;
        } else if (!write_escape(writer, byte, quote[0])) {
            gi_jinja_append(writer->pool, &writer->text, gi_jinja_part(string, i, i + 1));
        }
    }
    write_text(writer, quote);
}

//-- containers ------------------------------------------------------------------------------------

// Begins a line of a container, or on one line only separates its elements.
static void write_break(struct writer *writer, int depth, bool is_first)
{
    const int indent = writer->form->indent;
    if (!is_first) {
        gi_jinja_append(writer->pool, &writer->text, writer->form->comma);
    }
    if (indent < 0) {
        return;
    }
    write_text(writer, "\n");
    for (int i = 0; i < depth * indent; i++) {
        write_text(writer, " ");
    }
}

static void write_value(struct writer *writer, struct gi_jinja_value value, int depth);

// Writes a list, or with values the keys and values of a mapping.
static void write_container(struct writer *writer, const struct gi_jinja_list *keys,
                            const struct gi_jinja_list *values, int depth)
{
    write_text(writer, values ? "{" : "[");
    for (size_t i = 0; i < keys->count && !writer->pool->has_failed; i++) {
        write_break(writer, depth + 1, i == 0);
        write_value(writer, keys->items[i], depth + 1);
        if (values) {
            gi_jinja_append(writer->pool, &writer->text, writer->form->colon);
            write_value(writer, values->items[i], depth + 1);
        }
    }
    if (writer->form->indent >= 0 && keys->count > 0) {
        write_break(writer, depth, true);
    }
    write_text(writer, values ? "}" : "]");
}

// Sorts a mapping by its keys, into lists that are empty.
static void sort_dict(struct gi_jinja_pool *pool, const struct gi_jinja_dict *dict,
                      struct gi_jinja_list *keys, struct gi_jinja_list *values)
{
    for (size_t i = 0; i < dict->keys.count && !pool->has_failed; i++) {
        const struct gi_jinja_value key = dict->keys.items[i], value = dict->values.items[i];
        size_t k = i;
        gi_jinja_push(pool, keys, key);
        gi_jinja_push(pool, values, value);
        for (;
             k > 0 && !pool->has_failed && gi_jinja_order(pool, keys->items[k - 1], key, true) > 0;
             k--) {
            keys->items[k] = keys->items[k - 1];
            values->items[k] = values->items[k - 1];
        }
        if (!pool->has_failed) {
            keys->items[k] = key;
            values->items[k] = value;
        }
    }
}

static void write_dict(struct writer *writer, const struct gi_jinja_dict *dict, int depth)
{
    struct gi_jinja_list keys = dict->keys, values = dict->values;
    if (writer->form->is_sorted) {
        keys = values = (struct gi_jinja_list){0};
        sort_dict(writer->pool, dict, &keys, &values);
    }
    write_container(writer, &keys, &values, depth);
}

//-- values ----------------------------------------------------------------------------------------

static void write_value(struct writer *writer, struct gi_jinja_value value, int depth)
{
    static const char *const words[2][2] = {{"False", "True"}, {"false", "true"}};
    char number[32];
    if (depth > MAX_NESTING) {
        gi_jinja_fail(writer->pool, GLINFER_STATUS_UNSUPPORTED,
                      "the chat template nests values too deeply");
        return;
    }
    switch (value.kind) {
    case GI_JINJA_STRING:
        write_quoted(writer, value.string);
        return;
    case GI_JINJA_LIST:
        write_container(writer, value.list, NULL, depth);
        return;
    case GI_JINJA_DICT:
        write_dict(writer, value.dict, depth);
        return;
    case GI_JINJA_FLOAT:
        gi_jinja_append(writer->pool, &writer->text, value.real->digits);
        return;
    case GI_JINJA_INT:
        snprintf(number, sizeof(number), "%lld", (long long)value.number);
        write_text(writer, number);
        return;
    case GI_JINJA_BOOL:
        write_text(writer, words[writer->is_json][value.number != 0]);
        return;
    case GI_JINJA_NONE:
        write_text(writer, writer->is_json ? "null" : "None");
        return;
    case GI_JINJA_UNDEFINED:
    case GI_JINJA_MACRO:
        return;
    }
}

struct gi_jinja_string gi_jinja_to_string(struct gi_jinja_pool *pool, struct gi_jinja_value value)
{
    const struct gi_jinja_json_form form = {
        .indent = -1, .comma = gi_jinja_string_of(", "), .colon = gi_jinja_string_of(": ")};
    struct writer writer = {.pool = pool, .form = &form};
    if (value.kind == GI_JINJA_STRING) {
        return value.string;
    }
    write_value(&writer, value, 0);
    return gi_jinja_text_string(&writer.text);
}

struct gi_jinja_value gi_jinja_to_json(struct gi_jinja_pool *pool, struct gi_jinja_value value,
                                       const struct gi_jinja_json_form *form)
{
    struct writer writer = {.pool = pool, .is_json = true, .form = form};
    write_value(&writer, value, 0);
    return gi_jinja_written(&writer.text);
}
