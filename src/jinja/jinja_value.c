#include "jinja/jinja_value.h"

#include "base/utf8.h"

#include <ctype.h>
#include <string.h>

enum { MAX_NESTING = 64 }; // of values that are compared

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

void gi_jinja_add(struct gi_jinja_pool *pool, struct gi_jinja_dict *dict, struct gi_jinja_value key,
                  struct gi_jinja_value value)
{
    gi_jinja_push(pool, &dict->values, value);
    if (!pool->has_failed) {
        gi_jinja_push(pool, &dict->keys, key);
    }
}

void gi_jinja_set(struct gi_jinja_pool *pool, struct gi_jinja_dict *dict, struct gi_jinja_value key,
                  struct gi_jinja_value value)
{
    struct gi_jinja_value *found = gi_jinja_find(pool, dict, key);
    if (found) {
        *found = value;
        return;
    }
    gi_jinja_add(pool, dict, key, value);
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
        return value.real->value != 0;
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

// Returns true for all numbers; gi_jinja_real returns their values.
static bool is_real(struct gi_jinja_value value)
{
    return gi_jinja_is_number(value) || value.kind == GI_JINJA_FLOAT;
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
    if (is_real(a) && is_real(b)) {
        return a.kind == b.kind ? gi_jinja_same(a.real->digits, b.real->digits)
                                : gi_jinja_real(a) == gi_jinja_real(b);
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
        [GI_JINJA_FLOAT] = "a fraction or a number beyond 64 bits",
        [GI_JINJA_STRING] = "a string",
        [GI_JINJA_LIST] = "a list",
        [GI_JINJA_DICT] = "a mapping",
        [GI_JINJA_MACRO] = "a macro",
    };
    return names[kind];
}

// Compares strings whose letters of ASCII are lower.
static int compare_letters(struct gi_jinja_string a, struct gi_jinja_string b)
{
    for (size_t i = 0; i < a.size && i < b.size; i++) {
        const int left = tolower((unsigned char)a.data[i]);
        const int right = tolower((unsigned char)b.data[i]);
        if (left != right) {
            return left - right;
        }
    }
    return (a.size > b.size) - (a.size < b.size);
}

int gi_jinja_order(struct gi_jinja_pool *pool, struct gi_jinja_value a, struct gi_jinja_value b,
                   bool by_case)
{
    gi_jinja_spend(pool, a.kind == GI_JINJA_STRING ? 1 + a.string.size / 16 : 1);
    if (gi_jinja_is_number(a) && gi_jinja_is_number(b)) {
        return (a.number > b.number) - (a.number < b.number);
    }
    if (is_real(a) && is_real(b)) {
        return (gi_jinja_real(a) > gi_jinja_real(b)) - (gi_jinja_real(a) < gi_jinja_real(b));
    }
    if (a.kind != GI_JINJA_STRING || b.kind != GI_JINJA_STRING) {
        gi_jinja_refuse(pool, "cannot compare %s and %s", gi_jinja_kind_name(a.kind),
                        gi_jinja_kind_name(b.kind));
        return 0;
    }
    return by_case ? gi_jinja_compare(a.string, b.string) : compare_letters(a.string, b.string);
}

//-- elements --------------------------------------------------------------------------------------

size_t gi_jinja_count(struct gi_jinja_value value)
{
    return value.kind == GI_JINJA_STRING ? gi_utf8_count(value.string.data, value.string.size)
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

struct gi_jinja_value gi_jinja_attribute(struct gi_jinja_pool *pool, struct gi_jinja_value object,
                                         struct gi_jinja_value path)
{
    if (path.kind != GI_JINJA_STRING) {
        return gi_jinja_item(pool, object, path);
    }
    for (size_t begin = 0, end; begin <= path.string.size && !pool->has_failed; begin = end + 1) {
        end = gi_jinja_locate(path.string, gi_jinja_string_of("."), begin);
        end = end < path.string.size ? end : path.string.size;
        const struct gi_jinja_string name = gi_jinja_part(path.string, begin, end);
        object = gi_jinja_item(pool, object, gi_jinja_value_of(name));
    }
    return object;
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
