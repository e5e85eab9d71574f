#include "jinja/jinja_value.h"

#include <stdio.h>
#include <string.h>

enum { MAX_NESTING = 64 }; // of values that are compared or written

struct gi_jinja_value gi_jinja_new_list(struct gi_jinja_pool *pool)
{
    return (struct gi_jinja_value){.kind = GI_JINJA_LIST,
                                   .list = gi_jinja_new(pool, sizeof(struct gi_jinja_list))};
}

struct gi_jinja_value gi_jinja_new_dict(struct gi_jinja_pool *pool)
{
    return (struct gi_jinja_value){.kind = GI_JINJA_DICT,
                                   .dict = gi_jinja_new(pool, sizeof(struct gi_jinja_dict))};
}

void gi_jinja_push(struct gi_jinja_pool *pool, struct gi_jinja_list *list,
                   struct gi_jinja_value value)
{
    if (list->count == list->capacity) {
        const size_t capacity = list->capacity ? 2 * list->capacity : 8;
        struct gi_jinja_value *items = gi_jinja_allocate(pool, capacity * sizeof(*items));
        if (!items) {
            return;
        }
        if (list->count) {
            memcpy(items, list->items, list->count * sizeof(*items));
        }
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = value;
}

struct gi_jinja_value *gi_jinja_find(struct gi_jinja_pool *pool, const struct gi_jinja_dict *dict,
                                     struct gi_jinja_value key)
{
    for (size_t i = 0; i < dict->keys.count; i++) {
        if (gi_jinja_is_equal(pool, dict->keys.items[i], key)) {
            return &dict->values.items[i];
        }
    }
    return NULL;
}

struct gi_jinja_value gi_jinja_get(struct gi_jinja_pool *pool, const struct gi_jinja_dict *dict,
                                   struct gi_jinja_value key)
{
    const struct gi_jinja_value *found = gi_jinja_find(pool, dict, key);
    return found ? *found : gi_jinja_undefined();
}

void gi_jinja_set(struct gi_jinja_pool *pool, struct gi_jinja_dict *dict, struct gi_jinja_value key,
                  struct gi_jinja_value value)
{
    struct gi_jinja_value *found = gi_jinja_find(pool, dict, key);
    if (found) {
        *found = value;
        return;
    }
    gi_jinja_push(pool, &dict->values, value);
    if (!pool->has_failed) {
        gi_jinja_push(pool, &dict->keys, key);
    }
}

bool gi_jinja_is_true(struct gi_jinja_value value)
{
    switch (value.kind) {
    case GI_JINJA_UNDEFINED:
    case GI_JINJA_NONE:
        return false;
    case GI_JINJA_BOOL:
    case GI_JINJA_INT:
        return value.number != 0;
    case GI_JINJA_STRING:
        return value.string.size != 0;
    case GI_JINJA_FLOAT:
        return true;
    case GI_JINJA_LIST:
        return value.list->count != 0;
    case GI_JINJA_DICT:
        return value.dict->is_namespace || value.dict->keys.count != 0;
    case GI_JINJA_MACRO:
        break;
    }
    return true;
}

static bool is_equal(struct gi_jinja_pool *pool, struct gi_jinja_value a, struct gi_jinja_value b,
                     int depth);

static bool is_equal_list(struct gi_jinja_pool *pool, const struct gi_jinja_list *a,
                          const struct gi_jinja_list *b, int depth)
{
    bool is_same = a->count == b->count;
    for (size_t i = 0; is_same && i < a->count; i++) {
        is_same = is_equal(pool, a->items[i], b->items[i], depth);
    }
    return is_same;
}

static bool is_equal(struct gi_jinja_pool *pool, struct gi_jinja_value a, struct gi_jinja_value b,
                     int depth)
{
    gi_jinja_spend(pool, a.kind == GI_JINJA_STRING ? 1 + a.string.size / 16 : 1);
    if (pool->has_failed) {
        return false;
    }
    if (gi_jinja_is_number(a) && gi_jinja_is_number(b)) {
        return a.number == b.number;
    }
    if (a.kind != b.kind || depth > MAX_NESTING) {
        return false;
    }
    switch (a.kind) {
    case GI_JINJA_FLOAT:
    case GI_JINJA_STRING:
        return gi_jinja_same(a.string, b.string);
    case GI_JINJA_LIST:
        return a.list == b.list || is_equal_list(pool, a.list, b.list, depth + 1);
    case GI_JINJA_DICT:
        return a.dict == b.dict ||
               (is_equal_list(pool, &a.dict->keys, &b.dict->keys, depth + 1) &&
                is_equal_list(pool, &a.dict->values, &b.dict->values, depth + 1));
    case GI_JINJA_MACRO:
        return a.macro == b.macro;
    default:
        return true;
    }
}

bool gi_jinja_is_equal(struct gi_jinja_pool *pool, struct gi_jinja_value a, struct gi_jinja_value b)
{
    return is_equal(pool, a, b, 0);
}

const char *gi_jinja_kind_name(enum gi_jinja_kind kind)
{
    static const char *const names[] = {
        [GI_JINJA_UNDEFINED] = "an undefined value",
        [GI_JINJA_NONE] = "none",
        [GI_JINJA_BOOL] = "a truth value",
        [GI_JINJA_INT] = "a number",
        [GI_JINJA_FLOAT] = "a number with a fraction",
        [GI_JINJA_STRING] = "a string",
        [GI_JINJA_LIST] = "a list",
        [GI_JINJA_DICT] = "a mapping",
        [GI_JINJA_MACRO] = "a macro",
    };
    return names[kind];
}

//-- elements --------------------------------------------------------------------------------------

size_t gi_jinja_count(struct gi_jinja_value value)
{
    return value.kind == GI_JINJA_STRING ? gi_jinja_count_characters(value.string)
           : value.kind == GI_JINJA_LIST ? value.list->count
           : value.kind == GI_JINJA_DICT ? value.dict->keys.count
                                         : 0;
}

void gi_jinja_charge(struct gi_jinja_pool *pool, struct gi_jinja_value value)
{
    const bool is_string = value.kind == GI_JINJA_STRING;
    gi_jinja_spend(pool, is_string ? value.string.size / 16 : gi_jinja_count(value));
}

struct gi_jinja_list gi_jinja_elements(struct gi_jinja_pool *pool, struct gi_jinja_value value)
{
    struct gi_jinja_list list = {0};
    gi_jinja_charge(pool, value);
    switch (value.kind) {
    case GI_JINJA_LIST:
        return *value.list;
    case GI_JINJA_DICT:
        return value.dict->keys;
    case GI_JINJA_STRING:
        while (value.string.size && !pool->has_failed) {
            const size_t size = gi_jinja_character(value.string, 1);
            gi_jinja_push(pool, &list, gi_jinja_value_of(gi_jinja_part(value.string, 0, size)));
            value.string = gi_jinja_part(value.string, size, value.string.size);
        }
        return list;
    case GI_JINJA_UNDEFINED:
    case GI_JINJA_NONE: // templates go through tools without asking whether there are any
        return list;
    default:
        gi_jinja_refuse(pool, "%s has no elements", gi_jinja_kind_name(value.kind));
        return list;
    }
}

struct gi_jinja_value gi_jinja_item(struct gi_jinja_pool *pool, struct gi_jinja_value object,
                                    struct gi_jinja_value key)
{
    if (object.kind == GI_JINJA_DICT) {
        return gi_jinja_get(pool, object.dict, key);
    }
    if (object.kind == GI_JINJA_STRING) {
        gi_jinja_charge(pool, object);
    }
    const int64_t n = (int64_t)gi_jinja_count(object);
    const int64_t i = !gi_jinja_is_number(key) ? -1 : key.number < 0 ? key.number + n : key.number;
    if (i < 0 || i >= n) {
        return gi_jinja_undefined();
    }
    if (object.kind == GI_JINJA_LIST) {
        return object.list->items[i];
    }
    const size_t begin = gi_jinja_character(object.string, (size_t)i);
    const struct gi_jinja_string rest = gi_jinja_part(object.string, begin, object.string.size);
    return gi_jinja_value_of(gi_jinja_part(rest, 0, gi_jinja_character(rest, 1)));
}

bool gi_jinja_contains(struct gi_jinja_pool *pool, struct gi_jinja_value where,
                       struct gi_jinja_value what)
{
    if (where.kind == GI_JINJA_STRING) {
        return what.kind == GI_JINJA_STRING &&
               gi_jinja_locate(where.string, what.string, 0) != SIZE_MAX;
    }
    const struct gi_jinja_list list = gi_jinja_elements(pool, where);
    for (size_t i = 0; i < list.count; i++) {
        if (gi_jinja_is_equal(pool, list.items[i], what)) {
            return true;
        }
    }
    return false;
}

//-- writing ---------------------------------------------------------------------------------------

// Writes values as Python prints them, or as JSON.
struct writer {
    struct gi_jinja_pool *pool;
    struct gi_jinja_text text;
    bool is_json;
    int indent; // spaces a level; -1: one line
};

static void write_text(struct writer *writer, const char *text)
{
    gi_jinja_append_text(writer->pool, &writer->text, text);
}

static void write_quoted(struct writer *writer, struct gi_jinja_string string)
{
    const char quote[2] = {writer->is_json ? '"' : '\'', 0};
    write_text(writer, quote);
    for (size_t i = 0; i < string.size; i++) {
        const unsigned char byte = (unsigned char)string.data[i];
        char escaped[8] = {'\\', (char)byte, 0};
        if (byte == '\n' || byte == '\t' || byte == '\r') {
            escaped[1] = byte == '\n' ? 'n' : byte == '\t' ? 't' : 'r';
        } else if (byte < 0x20) {
            snprintf(escaped, sizeof(escaped), writer->is_json ? "\\u%04x" : "\\x%02x", byte);
        } else if (byte != '\\' && byte != (unsigned char)quote[0]) {
            gi_jinja_append(writer->pool, &writer->text, gi_jinja_part(string, i, i + 1));
            continue;
        }
        write_text(writer, escaped);
    }
    write_text(writer, quote);
}

// Begins a line of a container, or with an indent of -1 only separates its elements.
static void write_break(struct writer *writer, int depth, bool is_first)
{
    if (writer->indent < 0) {
        write_text(writer, is_first ? "" : ", ");
        return;
    }
    write_text(writer, is_first ? "\n" : ",\n");
    for (int i = 0; i < depth * writer->indent; i++) {
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
            write_text(writer, ": ");
            write_value(writer, values->items[i], depth + 1);
        }
    }
    if (writer->indent >= 0 && keys->count > 0) {
        write_break(writer, depth, true);
    }
    write_text(writer, values ? "}" : "]");
}

static void write_value(struct writer *writer, struct gi_jinja_value value, int depth)
{
    static const char *const words[2][2] = {
        {"False", "True"},
        {"false", "true"}
    };
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
        write_container(writer, &value.dict->keys, &value.dict->values, depth);
        return;
    case GI_JINJA_FLOAT:
        gi_jinja_append(writer->pool, &writer->text, value.string);
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
    struct writer writer = {.pool = pool, .indent = -1};
    if (value.kind == GI_JINJA_STRING) {
        return value.string;
    }
    write_value(&writer, value, 0);
    return gi_jinja_text_string(&writer.text);
}

struct gi_jinja_value gi_jinja_to_json(struct gi_jinja_pool *pool, struct gi_jinja_value value,
                                       int indent)
{
    struct writer writer = {.pool = pool, .is_json = true, .indent = indent};
    write_value(&writer, value, 0);
    return gi_jinja_written(&writer.text);
}
