#include "grammar/schema/schema_json.h"

#include "base/array.h"
#include "base/json_number.h"
#include "base/utf8.h"
#include "grammar/schema/schema_number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SIZE = 1 << 20, MAX_DEPTH = CJSON_NESTING_LIMIT + 1, MAX_EQUAL_DEPTH = 100 };

static const char purpose[] = "a schema";
#define MARK '\xff' // before the text of a number; no byte of UTF-8

static bool fail_text(struct glinfer_error *err, size_t at, const char *what)
{
    return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT, "JSON schema, byte %zu: %s", at,
                        what);
}

// Refuses what the reader of JSON would cut or pass on.
static bool check_text(const char *text, size_t size, struct glinfer_error *err)
{
    if (size > MAX_SIZE) {
        return gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                            "JSON schema: it has %zu bytes, more than %d", size, MAX_SIZE);
    }
    const char *null = size ? memmem(text, size, "\\u0000", 6) : NULL;
    uint32_t code;
    for (size_t at = 0, n; at < size; at += n) {
        n = text[at] ? gi_utf8_decode(text + at, size - at, &code) : 0;
        if (text + at == null) {
            return fail_text(err, at + 6, "the character \\u0000 is not supported");
        }
        if (n == 0) {
            return fail_text(err, at, "invalid UTF-8");
        }
    }
    return true;
}

static bool check_json(const char *text, size_t size, struct glinfer_error *err)
{
    const char *end = text;
    cJSON *root = cJSON_ParseWithLengthOpts(text, size, &end, false);
    if (!root) {
        return fail_text(err, (size_t)(end - text), "invalid JSON");
    }
    cJSON_Delete(root);
    for (; end < text + size; end++) {
        if (!strchr(" \t\r\n", *end)) {
            return fail_text(err, (size_t)(end - text), "unexpected text after the schema");
        }
    }
    return true;
}

// Writes the text with each number as a string that begins with the mark.
static bool mark_numbers(const char *text, size_t size, char *out, size_t *out_size,
                         struct glinfer_error *err)
{
    const char *at = text, *const end = text + size, *number;
    char *to = out;
    size_t n;
    for (; (number = gi_json_find_number(at, end, &n)); at = number + n) {
        if (!gi_json_is_number(number, n)) {
            return fail_text(err, (size_t)(number - text), "invalid JSON");
        }
        to = mempcpy(to, at, (size_t)(number - at));
        *to++ = '"';
        *to++ = MARK;
        to = mempcpy(to, number, n);
        *to++ = '"';
    }
    to = mempcpy(to, at, (size_t)(end - at));
    *out_size = (size_t)(to - out);
    return true;
}

//-- walking ---------------------------------------------------------------------------------------

// Goes to the next item of a tree, parents first; open has the parents of the item, *n of them.
static cJSON *go_on(cJSON *item, cJSON **open, size_t *n)
{
    if (item->child && *n < MAX_DEPTH) {
        open[(*n)++] = item;
        return item->child;
    }
    while (!item->next && *n > 0) {
        item = open[--*n];
    }
    return *n > 0 ? item->next : NULL;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// Refuses a name that stands twice in an object: readers differ in which of them they take.
static bool check_names(const cJSON *root, const cJSON *object, struct glinfer_error *err)
{
    struct {
        const char **data;
        size_t count, capacity;
    } names = {0};
    bool is_ok = true;
    for (const cJSON *item = object->child; is_ok && item; item = item->next) {
        is_ok = GI_ARRAY_PUSH(&names, purpose, err, item->string);
    }
    if (is_ok && names.count > 1) {
        qsort(names.data, names.count, sizeof(*names.data), compare_names);
    }
    for (size_t i = 1; is_ok && i < names.count; i++) {
        if (strcmp(names.data[i - 1], names.data[i]) == 0) {
            char path[400];
            gi_schema_path(root, object, path, sizeof(path));
            is_ok = gi_error_set(err, GLINFER_STATUS_INVALID_ARGUMENT,
                                 "JSON schema, #%s: the name \"%.100s\" occurs twice in one object",
                                 path, names.data[i]);
        }
    }
    free(names.data);
    return is_ok;
}

static bool finish_tree(cJSON *root, struct glinfer_error *err)
{
    cJSON *open[MAX_DEPTH];
    size_t n = 0;
    int place = 0;
    for (cJSON *item = root; item; item = go_on(item, open, &n)) {
        item->valueint = ++place;
        if (cJSON_IsString(item) && item->valuestring[0] == MARK) {
            item->type = (item->type & ~0xff) | cJSON_Raw;
            memmove(item->valuestring, item->valuestring + 1, strlen(item->valuestring));
        } else if (cJSON_IsObject(item) && !check_names(root, item, err)) {
            return false;
        }
    }
    return true;
}

cJSON *gi_schema_read(const char *text, size_t size, struct glinfer_error *err)
{
    if (!check_text(text, size, err) || !check_json(text, size, err)) {
        return NULL;
    }
    char *marked = gi_array_zeroed(size * 4 + 1, 1, purpose, err);
    size_t n = 0;
    if (!marked || !mark_numbers(text, size, marked, &n, err)) {
        free(marked);
        return NULL;
    }
    cJSON *root = cJSON_ParseWithLength(marked, n);
    free(marked);
    if (!root) {
        gi_error_no_memory(err, size, purpose);
    } else if (!finish_tree(root, err)) {
        cJSON_Delete(root);
        root = NULL;
    }
    return root;
}

//-- paths -----------------------------------------------------------------------------------------

static size_t write_step(const cJSON *parent, const cJSON *item, char *path, size_t size, size_t n)
{
    char index[24];
    const char *step = item->string;
    if (!step) {
        size_t i = 0;
        for (const cJSON *child = parent->child; child && child != item; child = child->next) {
            i++;
        }
        snprintf(index, sizeof(index), "%zu", i);
        step = index;
    }
    if (n + 4 < size) {
        path[n++] = '/';
    }
    for (; *step && n + 4 < size; step++) {
        if (*step == '~' || *step == '/') {
            path[n++] = '~';
            path[n++] = *step == '~' ? '0' : '1';
        } else {
            path[n++] = *step;
        }
    }
    return n;
}

void gi_schema_path(const cJSON *root, const cJSON *item, char *path, size_t size)
{
    cJSON *open[MAX_DEPTH];
    size_t n = 0, at = 0;
    cJSON *found = (cJSON *)root;
    while (found && found != item) {
        found = go_on(found, open, &n);
    }
    for (size_t i = 0; found && i < n; i++) {
        at = write_step(open[i], i + 1 < n ? open[i + 1] : found, path, size, at);
    }
    path[at] = 0;
}

//-- equality --------------------------------------------------------------------------------------

static bool is_equal(const cJSON *a, const cJSON *b, int depth);

static bool is_equal_list(const cJSON *a, const cJSON *b, int depth)
{
    const bool is_object = cJSON_IsObject(a);
    if (cJSON_GetArraySize(a) != cJSON_GetArraySize(b)) {
        return false;
    }
    const cJSON *other = b->child;
    for (const cJSON *item = a->child; item; item = item->next) {
        if (is_object) {
            other = cJSON_GetObjectItemCaseSensitive(b, item->string);
        }
        if (!other || !is_equal(item, other, depth + 1)) {
            return false;
        }
        other = other->next;
    }
    return true;
}

static bool is_equal(const cJSON *a, const cJSON *b, int depth)
{
    struct gi_decimal left, right;
    if ((a->type & 0xff) != (b->type & 0xff) || depth == MAX_EQUAL_DEPTH) {
        return false;
    }
    if (gi_schema_is_number(a)) {
        if (gi_decimal_read(a->valuestring, &left) && gi_decimal_read(b->valuestring, &right)) {
            return gi_decimal_compare(&left, &right) == 0;
        }
        return strcmp(a->valuestring, b->valuestring) == 0;
    }
    return cJSON_IsString(a) ? strcmp(a->valuestring, b->valuestring) == 0
                             : is_equal_list(a, b, depth);
}

bool gi_schema_is_equal(const cJSON *a, const cJSON *b)
{
    return is_equal(a, b, 0);
}
