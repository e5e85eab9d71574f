#include "jinja/jinja_json.h"

#include "base/json_number.h"
#include "jinja/jinja_number.h"

#include <cJSON.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NESTING = 60 }; // below that of what is written

// Converts what cJSON read, value by value in the order of the text.
struct reader {
    struct gi_jinja_pool *pool;
    struct gi_jinja_string number; // the last one
    const char *end;               // of the text
};

static struct gi_jinja_value convert(struct reader *reader, const cJSON *json, int depth);

// Returns a copy, marked as a message's content.
static struct gi_jinja_value convert_string(struct gi_jinja_pool *pool, const char *text)
{
    struct gi_jinja_string string = gi_jinja_copy(pool, gi_jinja_string_of(text));
    uint8_t *marks = gi_jinja_allocate(pool, string.size + 1);
    if (marks) {
        memset(marks, 1, string.size);
        string.marks = marks;
    }
    return gi_jinja_value_of(string);
}

// Returns the value of the next number of the text.
static struct gi_jinja_value convert_number(struct reader *reader)
{
    struct gi_jinja_string *number = &reader->number;
    const char *next = number->data + number->size;
    number->data = gi_json_find_number(next, reader->end, &number->size);
    return gi_jinja_read_number(reader->pool, *number);
}

static int compare_names(const void *left, const void *right)
{
    const char *const *a = left, *const *b = right;
    return strcmp(*a, *b);
}

// Returns true if members of an object have the same name, of which the last counts.
static bool has_same_names(struct gi_jinja_pool *pool, const cJSON *json)
{
    const size_t n = (size_t)cJSON_GetArraySize(json);
    const char **names = gi_jinja_allocate(pool, (n + 1) * sizeof(*names));
    const cJSON *item;
    size_t i = 0;
    if (!names) {
        return true;
    }
    cJSON_ArrayForEach(item, json)
    {
        names[i++] = item->string;
    }
    qsort(names, n, sizeof(*names), compare_names);
    i = 1;
    while (i < n && strcmp(names[i - 1], names[i]) != 0) {
        i++;
    }
    return i < n;
}

static struct gi_jinja_value convert_container(struct reader *reader, const cJSON *json, int depth)
{
    struct gi_jinja_pool *pool = reader->pool;
    const cJSON *item;
    if (cJSON_IsArray(json)) {
        const struct gi_jinja_value list = gi_jinja_new_list(pool);
        cJSON_ArrayForEach(item, json)
        {
            gi_jinja_push(pool, list.list, convert(reader, item, depth + 1));
        }
        return list;
    }
    const struct gi_jinja_value dict = gi_jinja_new_dict(pool);
    const bool has_twins = has_same_names(pool, json);
    cJSON_ArrayForEach(item, json)
    {
        const struct gi_jinja_value name = convert_string(pool, item->string);
        const struct gi_jinja_value value = convert(reader, item, depth + 1);
        if (has_twins) {
            gi_jinja_set(pool, dict.dict, name, value);
        } else {
            gi_jinja_add(pool, dict.dict, name, value);
        }
    }
    return dict;
}

static struct gi_jinja_value convert(struct reader *reader, const cJSON *json, int depth)
{
    struct gi_jinja_pool *pool = reader->pool;
    if (depth > MAX_NESTING) {
        gi_jinja_fail(pool, GLINFER_STATUS_UNSUPPORTED, "a conversation's JSON nests too deeply");
    }
    if (pool->has_failed) {
        return gi_jinja_undefined();
    }
    return cJSON_IsString(json)   ? convert_string(pool, json->valuestring)
           : cJSON_IsNumber(json) ? convert_number(reader)
           : cJSON_IsBool(json)   ? gi_jinja_bool(cJSON_IsTrue(json))
           : cJSON_IsNull(json)   ? gi_jinja_none()
                                  : convert_container(reader, json, depth);
}

// Parses a text that holds one JSON value; NULL with the offset of the error in *at.
static cJSON *parse(struct gi_jinja_pool *pool, struct gi_jinja_string text, size_t *at)
{
    const char *copy = gi_jinja_hide_numbers(pool, text), *end = NULL;
    cJSON *json = copy ? cJSON_ParseWithLengthOpts(copy, text.size + 1, &end, true) : NULL;
    *at = copy && end ? (size_t)(end - copy) : 0;
    return json;
}

static struct gi_jinja_value convert_all(struct gi_jinja_pool *pool, const cJSON *json,
                                         struct gi_jinja_string text)
{
    struct reader reader = {pool, {text.data, NULL, 0}, text.data + text.size};
    return convert(&reader, json, 0);
}

struct gi_jinja_value gi_jinja_from_json(struct gi_jinja_pool *pool, const char *text,
                                         enum gi_jinja_kind is_a, const char *what)
{
    size_t at;
    const struct gi_jinja_string string = gi_jinja_string_of(text);
    cJSON *json = parse(pool, string, &at);
    struct gi_jinja_value value = gi_jinja_undefined();
    if (!json) {
        gi_jinja_fail(pool, GLINFER_STATUS_INVALID_ARGUMENT, "invalid JSON in the %s at byte %zu",
                      what, at);
    } else if (is_a == GI_JINJA_LIST ? !cJSON_IsArray(json) : !cJSON_IsObject(json)) {
        gi_jinja_fail(pool, GLINFER_STATUS_INVALID_ARGUMENT, "the %s are not a JSON %s", what,
                      is_a == GI_JINJA_LIST ? "array" : "object");
    } else {
        value = convert_all(pool, json, string);
    }
    cJSON_Delete(json);
    return value;
}

struct gi_jinja_value gi_jinja_parse_json(struct gi_jinja_pool *pool, struct gi_jinja_string text)
{
    size_t at;
    cJSON *json = parse(pool, text, &at);
    struct gi_jinja_value value =
        json ? convert_all(pool, json, text) : gi_jinja_refuse(pool, "a text is not JSON");
    cJSON_Delete(json);
    return value;
}
