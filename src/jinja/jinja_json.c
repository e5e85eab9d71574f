#include "jinja/jinja_json.h"

#include <cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NESTING = 60 }; // below that of what is written

static struct gi_jinja_value convert(struct gi_jinja_pool *pool, const cJSON *json, int depth);

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

static struct gi_jinja_value convert_number(struct gi_jinja_pool *pool, double number)
{
    const double exact = 9007199254740992.0; // 2^53
    char digits[40];
    if (number == floor(number) && fabs(number) <= exact) {
        return gi_jinja_int((int64_t)number);
    }
    snprintf(digits, sizeof(digits), "%.15g", number);
    if (strtod(digits, NULL) != number) {
        snprintf(digits, sizeof(digits), "%.17g", number);
    }
    return (struct gi_jinja_value){.kind = GI_JINJA_FLOAT,
                                   .string = gi_jinja_copy(pool, gi_jinja_string_of(digits))};
}

static int compare_names(const void *left, const void *right)
{
    const char *const *a = left, *const *b = right;
    return strcmp(*a, *b);
}

// True if members of an object have the same name, of which the last counts.
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

static struct gi_jinja_value convert_container(struct gi_jinja_pool *pool, const cJSON *json,
                                               int depth)
{
    const cJSON *item;
    if (cJSON_IsArray(json)) {
        const struct gi_jinja_value list = gi_jinja_new_list(pool);
        cJSON_ArrayForEach(item, json)
        {
            gi_jinja_push(pool, list.list, convert(pool, item, depth + 1));
        }
        return list;
    }
    const struct gi_jinja_value dict = gi_jinja_new_dict(pool);
    const bool has_twins = has_same_names(pool, json);
    cJSON_ArrayForEach(item, json)
    {
        const struct gi_jinja_value name = convert_string(pool, item->string);
        const struct gi_jinja_value value = convert(pool, item, depth + 1);
        if (has_twins) {
            gi_jinja_set(pool, dict.dict, name, value);
        } else {
            gi_jinja_add(pool, dict.dict, name, value);
        }
    }
    return dict;
}

static struct gi_jinja_value convert(struct gi_jinja_pool *pool, const cJSON *json, int depth)
{
    if (depth > MAX_NESTING) {
        gi_jinja_fail(pool, GLINFER_STATUS_UNSUPPORTED, "a conversation's JSON nests too deeply");
    }
    if (pool->has_failed) {
        return gi_jinja_undefined();
    }
    return cJSON_IsString(json)   ? convert_string(pool, json->valuestring)
           : cJSON_IsNumber(json) ? convert_number(pool, json->valuedouble)
           : cJSON_IsBool(json)   ? gi_jinja_bool(cJSON_IsTrue(json))
           : cJSON_IsNull(json)   ? gi_jinja_none()
                                  : convert_container(pool, json, depth);
}

struct gi_jinja_value gi_jinja_from_json(struct gi_jinja_pool *pool, const char *text,
                                         enum gi_jinja_kind is_a, const char *what)
{
    const char *end = NULL;
    cJSON *json = cJSON_ParseWithOpts(text, &end, true);
    struct gi_jinja_value value = gi_jinja_undefined();
    if (!json) {
        gi_jinja_fail(pool, GLINFER_STATUS_INVALID_ARGUMENT,
                      "the %s are no JSON: it goes wrong at byte %zu", what,
                      end ? (size_t)(end - text) : 0);
    } else if (is_a == GI_JINJA_LIST ? !cJSON_IsArray(json) : !cJSON_IsObject(json)) {
        gi_jinja_fail(pool, GLINFER_STATUS_INVALID_ARGUMENT, "the %s are no JSON %s", what,
                      is_a == GI_JINJA_LIST ? "array" : "object");
    } else {
        value = convert(pool, json, 0);
    }
    cJSON_Delete(json);
    return value;
}

struct gi_jinja_value gi_jinja_parse_json(struct gi_jinja_pool *pool, struct gi_jinja_string text)
{
    const char *end = NULL;
    cJSON *json = text.size ? cJSON_ParseWithLengthOpts(text.data, text.size, &end, false) : NULL;
    struct gi_jinja_value value = gi_jinja_undefined();
    while (json && end < text.data + text.size && gi_jinja_is_space(*end)) {
        end++;
    }
    if (json && end == text.data + text.size) {
        value = convert(pool, json, 0);
    } else {
        gi_jinja_refuse(pool, "a text is no JSON");
    }
    cJSON_Delete(json);
    return value;
}
