#include "jinja/jinja_value.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_NESTING = 64,     // of values that are compared or written
    MAX_WORK = 100000000, // a second or so
};

//-- memory ----------------------------------------------------------------------------------------

struct gi_jinja_block {
    struct gi_jinja_block *next;
    size_t used, size;
    max_align_t data[];
};

void gi_jinja_pool_init(struct gi_jinja_pool *pool, size_t limit, struct glinfer_error *err)
{
    *pool = (struct gi_jinja_pool){.limit = limit, .err = err};
}

void gi_jinja_pool_finish(struct gi_jinja_pool *pool)
{
    for (struct gi_jinja_block *block = pool->blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    pool->blocks = NULL;
}

void gi_jinja_fail(struct gi_jinja_pool *pool, enum glinfer_status status, const char *format, ...)
{
    char sentence[512];
    va_list arguments;
    if (pool->has_failed) {
        return;
    }
    va_start(arguments, format);
    vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    pool->has_failed = true;
    gi_error_set(pool->err, status, "%s", sentence);
}

void gi_jinja_spend(struct gi_jinja_pool *pool, size_t work)
{
    pool->work += work;
    if (pool->work > MAX_WORK) {
        gi_jinja_fail(pool, GLINFER_STATUS_UNSUPPORTED, "the chat template takes too long");
    }
}

static bool add_block(struct gi_jinja_pool *pool, size_t size)
{
    enum { BLOCK_SIZE = 1 << 16 };
    const size_t room = size > BLOCK_SIZE ? size : BLOCK_SIZE;
    if (pool->limit - pool->used < room) {
        gi_jinja_fail(pool, GLINFER_STATUS_UNSUPPORTED,
                      "the chat template takes more than %zu MiB of memory", pool->limit >> 20);
        return false;
    }
    struct gi_jinja_block *block = calloc(1, sizeof(*block) + room);
    if (!block) {
        gi_jinja_fail(pool, GLINFER_STATUS_NO_MEMORY,
                      "out of memory: no %zu bytes for a chat template", room);
        return false;
    }
    block->next = pool->blocks;
    block->size = room;
    pool->blocks = block;
    pool->used += room;
    return true;
}

void *gi_jinja_allocate(struct gi_jinja_pool *pool, size_t size)
{
    const size_t align = sizeof(max_align_t);
    if (pool->has_failed || size > pool->limit) {
        gi_jinja_fail(pool, GLINFER_STATUS_UNSUPPORTED, "the chat template takes too much memory");
        return NULL;
    }
    size = (size + align - 1) / align * align;
    struct gi_jinja_block *block = pool->blocks;
    if (!block || block->size - block->used < size) {
        if (!add_block(pool, size)) {
            return NULL;
        }
        block = pool->blocks;
    }
    void *data = (char *)block->data + block->used;
    block->used += size;
    return data;
}

//-- strings ---------------------------------------------------------------------------------------

struct gi_jinja_string gi_jinja_string_of(const char *text)
{
    return (struct gi_jinja_string){text, NULL, strlen(text)};
}

struct gi_jinja_string gi_jinja_part(struct gi_jinja_string string, size_t begin, size_t end)
{
    end = end < string.size ? end : string.size;
    begin = begin < end ? begin : end;
    return (struct gi_jinja_string){string.data ? string.data + begin : NULL,
                                    string.marks ? string.marks + begin : NULL, end - begin};
}

bool gi_jinja_same(struct gi_jinja_string a, struct gi_jinja_string b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

bool gi_jinja_is(struct gi_jinja_string string, const char *text)
{
    return gi_jinja_same(string, gi_jinja_string_of(text));
}

size_t gi_jinja_locate(struct gi_jinja_string string, struct gi_jinja_string what, size_t from)
{
    if (from > string.size || what.size > string.size - from) {
        return SIZE_MAX;
    }
    if (what.size == 0) {
        return from;
    }
    // In windows, each twice the one before: memmem may look at all that it is given before it searches, which
    // AddressSanitizer's does, and what follows a find must not cost at each of them.
    for (size_t window = 256;; window *= 2) {
        const size_t left = string.size - from;
        const bool is_last = left - what.size <= window;
        const char *found =
            memmem(string.data + from, is_last ? left : window + what.size, what.data, what.size);
        if (found || is_last) {
            return found ? (size_t)(found - string.data) : SIZE_MAX;
        }
        from += window + 1;
    }
}

static bool grow_text(struct gi_jinja_pool *pool, struct gi_jinja_text *text, size_t size)
{
    if (size <= text->capacity) {
        return true;
    }
    const size_t capacity = size < 128 ? 256 : 2 * size;
    char *data = gi_jinja_allocate(pool, capacity);
    uint8_t *marks = gi_jinja_allocate(pool, capacity);
    if (!data || !marks) {
        return false;
    }
    if (text->size) {
        memcpy(data, text->data, text->size);
        memcpy(marks, text->marks, text->size);
    }
    text->data = data;
    text->marks = marks;
    text->capacity = capacity;
    return true;
}

void gi_jinja_append(struct gi_jinja_pool *pool, struct gi_jinja_text *text,
                     struct gi_jinja_string string)
{
    if (string.size == 0 || string.size > pool->limit ||
        !grow_text(pool, text, text->size + string.size)) {
        return;
    }
    memcpy(text->data + text->size, string.data, string.size);
    if (string.marks) {
        memcpy(text->marks + text->size, string.marks, string.size);
    } else {
        memset(text->marks + text->size, 0, string.size);
    }
    text->size += string.size;
}

void gi_jinja_append_text(struct gi_jinja_pool *pool, struct gi_jinja_text *text,
                          const char *string)
{
    gi_jinja_append(pool, text, gi_jinja_string_of(string));
}

struct gi_jinja_string gi_jinja_text_string(const struct gi_jinja_text *text)
{
    return (struct gi_jinja_string){text->data, text->marks, text->size};
}

struct gi_jinja_string gi_jinja_copy(struct gi_jinja_pool *pool, struct gi_jinja_string string)
{
    struct gi_jinja_text text = {0};
    gi_jinja_append(pool, &text, string);
    return gi_jinja_text_string(&text);
}

//-- values ----------------------------------------------------------------------------------------

struct gi_jinja_value gi_jinja_undefined(void)
{
    return (struct gi_jinja_value){.kind = GI_JINJA_UNDEFINED};
}

struct gi_jinja_value gi_jinja_none(void)
{
    return (struct gi_jinja_value){.kind = GI_JINJA_NONE};
}

struct gi_jinja_value gi_jinja_bool(bool truth)
{
    return (struct gi_jinja_value){.kind = GI_JINJA_BOOL, .number = truth};
}

struct gi_jinja_value gi_jinja_int(int64_t number)
{
    return (struct gi_jinja_value){.kind = GI_JINJA_INT, .number = number};
}

struct gi_jinja_value gi_jinja_text_value(struct gi_jinja_string string)
{
    return (struct gi_jinja_value){.kind = GI_JINJA_STRING, .string = string};
}

struct gi_jinja_value gi_jinja_constant(const char *text)
{
    return gi_jinja_text_value(gi_jinja_string_of(text));
}

struct gi_jinja_value gi_jinja_new_list(struct gi_jinja_pool *pool)
{
    struct gi_jinja_list *list = gi_jinja_allocate(pool, sizeof(*list));
    return list ? (struct gi_jinja_value){.kind = GI_JINJA_LIST, .list = list}
                : gi_jinja_undefined();
}

struct gi_jinja_value gi_jinja_new_dict(struct gi_jinja_pool *pool)
{
    struct gi_jinja_dict *dict = gi_jinja_allocate(pool, sizeof(*dict));
    return dict ? (struct gi_jinja_value){.kind = GI_JINJA_DICT, .dict = dict}
                : gi_jinja_undefined();
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

struct gi_jinja_value gi_jinja_get(struct gi_jinja_pool *pool, const struct gi_jinja_dict *dict,
                                   struct gi_jinja_value key)
{
    for (size_t i = 0; i < dict->keys.count; i++) {
        if (gi_jinja_is_equal(pool, dict->keys.items[i], key)) {
            return dict->values.items[i];
        }
    }
    return gi_jinja_undefined();
}

void gi_jinja_put(struct gi_jinja_pool *pool, struct gi_jinja_dict *dict, struct gi_jinja_value key,
                  struct gi_jinja_value value)
{
    for (size_t i = 0; i < dict->keys.count; i++) {
        if (gi_jinja_is_equal(pool, dict->keys.items[i], key)) {
            dict->values.items[i] = value;
            return;
        }
    }
    gi_jinja_push(pool, &dict->values, value);
    if (!pool->has_failed) {
        gi_jinja_push(pool, &dict->keys, key);
    }
}

void gi_jinja_put_name(struct gi_jinja_pool *pool, struct gi_jinja_dict *dict, const char *name,
                       struct gi_jinja_value value)
{
    gi_jinja_put(pool, dict, gi_jinja_constant(name), value);
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
    case GI_JINJA_LIST:
        return value.list->count != 0;
    case GI_JINJA_DICT:
        return value.dict->is_namespace || value.dict->keys.count != 0;
    case GI_JINJA_MACRO:
        break;
    }
    return true;
}

static bool is_number(struct gi_jinja_value value)
{
    return value.kind == GI_JINJA_BOOL || value.kind == GI_JINJA_INT;
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
    if (is_number(a) && is_number(b)) {
        return a.number == b.number;
    }
    if (a.kind != b.kind || depth > MAX_NESTING) {
        return false;
    }
    switch (a.kind) {
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
        [GI_JINJA_STRING] = "a string",
        [GI_JINJA_LIST] = "a list",
        [GI_JINJA_DICT] = "a mapping",
        [GI_JINJA_MACRO] = "a macro",
    };
    return names[kind];
}

//-- writing ---------------------------------------------------------------------------------------

// How strings, truth values and containers are written within others.
struct style {
    bool is_json;
    int indent; // spaces a level; -1: one line
};

static void write_quoted(struct gi_jinja_pool *pool, struct gi_jinja_text *out,
                         struct gi_jinja_string string, const struct style *style)
{
    const char quote[2] = {style->is_json ? '"' : '\'', 0};
    gi_jinja_append_text(pool, out, quote);
    for (size_t i = 0; i < string.size; i++) {
        const unsigned char byte = (unsigned char)string.data[i];
        char escaped[8] = {'\\', (char)byte, 0};
        if (byte == '\n' || byte == '\t' || byte == '\r') {
            escaped[1] = byte == '\n' ? 'n' : byte == '\t' ? 't' : 'r';
        } else if (byte < 0x20) {
            snprintf(escaped, sizeof(escaped), style->is_json ? "\\u%04x" : "\\x%02x", byte);
        } else if (byte != '\\' && byte != (unsigned char)quote[0]) {
            gi_jinja_append(pool, out, gi_jinja_part(string, i, i + 1));
            continue;
        }
        gi_jinja_append_text(pool, out, escaped);
    }
    gi_jinja_append_text(pool, out, quote);
}

static void write_break(struct gi_jinja_pool *pool, struct gi_jinja_text *out,
                        const struct style *style, int depth, bool is_first)
{
    if (style->indent < 0) {
        gi_jinja_append_text(pool, out, is_first ? "" : ", ");
        return;
    }
    gi_jinja_append_text(pool, out, is_first ? "\n" : ",\n");
    for (int i = 0; i < depth * style->indent && !pool->has_failed; i++) {
        gi_jinja_append_text(pool, out, " ");
    }
}

static void write_value(struct gi_jinja_pool *pool, struct gi_jinja_text *out,
                        struct gi_jinja_value value, const struct style *style, int depth);

static void write_end(struct gi_jinja_pool *pool, struct gi_jinja_text *out,
                      const struct style *style, int depth, size_t count, const char *end)
{
    if (style->indent >= 0 && count > 0) {
        write_break(pool, out, style, depth, true);
    }
    gi_jinja_append_text(pool, out, end);
}

static void write_list(struct gi_jinja_pool *pool, struct gi_jinja_text *out,
                       const struct gi_jinja_list *list, const struct style *style, int depth)
{
    gi_jinja_append_text(pool, out, "[");
    for (size_t i = 0; i < list->count && !pool->has_failed; i++) {
        write_break(pool, out, style, depth + 1, i == 0);
        write_value(pool, out, list->items[i], style, depth + 1);
    }
    write_end(pool, out, style, depth, list->count, "]");
}

static void write_dict(struct gi_jinja_pool *pool, struct gi_jinja_text *out,
                       const struct gi_jinja_dict *dict, const struct style *style, int depth)
{
    gi_jinja_append_text(pool, out, "{");
    for (size_t i = 0; i < dict->keys.count && !pool->has_failed; i++) {
        write_break(pool, out, style, depth + 1, i == 0);
        write_value(pool, out, dict->keys.items[i], style, depth + 1);
        gi_jinja_append_text(pool, out, ": ");
        write_value(pool, out, dict->values.items[i], style, depth + 1);
    }
    write_end(pool, out, style, depth, dict->keys.count, "}");
}

static void write_value(struct gi_jinja_pool *pool, struct gi_jinja_text *out,
                        struct gi_jinja_value value, const struct style *style, int depth)
{
    char number[32];
    if (depth > MAX_NESTING) {
        gi_jinja_fail(pool, GLINFER_STATUS_UNSUPPORTED,
                      "the chat template nests values too deeply");
        return;
    }
    switch (value.kind) {
    case GI_JINJA_STRING:
        write_quoted(pool, out, value.string, style);
        return;
    case GI_JINJA_LIST:
        write_list(pool, out, value.list, style, depth);
        return;
    case GI_JINJA_DICT:
        write_dict(pool, out, value.dict, style, depth);
        return;
    case GI_JINJA_INT:
        snprintf(number, sizeof(number), "%lld", (long long)value.number);
        gi_jinja_append_text(pool, out, number);
        return;
    case GI_JINJA_BOOL:
        gi_jinja_append_text(pool, out,
                             style->is_json ? (value.number ? "true" : "false")
                                            : (value.number ? "True" : "False"));
        return;
    case GI_JINJA_NONE:
        gi_jinja_append_text(pool, out, style->is_json ? "null" : "None");
        return;
    case GI_JINJA_UNDEFINED:
    case GI_JINJA_MACRO:
        return;
    }
}

struct gi_jinja_string gi_jinja_to_string(struct gi_jinja_pool *pool, struct gi_jinja_value value)
{
    const struct style style = {.indent = -1};
    struct gi_jinja_text text = {0};
    if (value.kind == GI_JINJA_STRING) {
        return value.string;
    }
    write_value(pool, &text, value, &style, 0);
    return gi_jinja_text_string(&text);
}

struct gi_jinja_string gi_jinja_to_json(struct gi_jinja_pool *pool, struct gi_jinja_value value,
                                        int indent)
{
    const struct style style = {.is_json = true, .indent = indent};
    struct gi_jinja_text text = {0};
    write_value(pool, &text, value, &style, 0);
    return gi_jinja_text_string(&text);
}
