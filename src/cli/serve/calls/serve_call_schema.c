#include "cli/serve/calls/serve_call_schema.h"

#include "cli/common/cli_memory.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_NESTING = 50 };

static bool is_one_of(const char *word, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(word, words[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_known(const cJSON *member)
{
    static const char *const words[] = {
        "type",
        "enum",
        "const",
        "properties",
        "required",
        "items",
        "minItems",
        "maxItems",
        "minLength",
        "maxLength",
        "anyOf",
        "oneOf",
        "allOf",
        "$ref",
        "$defs",
        "definitions",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "prefixItems",
        "additionalProperties",
    };
    static const char *const formats[] = {"date", "time", "date-time", "uuid"};
    if (strcmp(member->string, "format") == 0) {
        return cJSON_IsString(member) && is_one_of(member->valuestring, formats, 4);
    }
    return is_one_of(member->string, words, sizeof(words) / sizeof(words[0]));
}

// Relaxes every schema of a list. NOLINTNEXTLINE(misc-no-recursion): bounded by MAX_NESTING
static bool relax_all(cJSON *list, int depth)
{
    cJSON *item;
    bool is_done = true;
    cJSON_ArrayForEach(item, list)
    {
        is_done = is_done && serve_relax_schema(item, depth);
    }
    return is_done;
}

// NOLINTNEXTLINE(misc-no-recursion)
bool serve_relax_schema(cJSON *schema, int depth)
{
    static const char *const lists[] = {"properties", "$defs", "definitions", "anyOf",
                                        "oneOf",      "allOf", "prefixItems"};
    if (depth > MAX_NESTING) {
        return false;
    }
    if (!cJSON_IsObject(schema)) {
        return true;
    }
    for (cJSON *member = schema->child, *next; member; member = next) {
        next = member->next;
        if (!is_known(member)) {
            cJSON_Delete(cJSON_DetachItemViaPointer(schema, member));
        }
    }
    // Bounds are counted for whole numbers alone.
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(schema, "type");
    static const char *const bounds[] = {"minimum", "maximum", "exclusiveMinimum",
                                         "exclusiveMaximum"};
    for (size_t i = 0;
         i < 4 && !(cJSON_IsString(type) && strcmp(type->valuestring, "integer") == 0); i++) {
        cJSON_DeleteItemFromObjectCaseSensitive(schema, bounds[i]);
    }
    bool is_done = serve_relax_schema(cJSON_GetObjectItemCaseSensitive(schema, "items"), depth + 1);
    for (size_t i = 0; is_done && i < sizeof(lists) / sizeof(lists[0]); i++) {
        is_done = relax_all(cJSON_GetObjectItemCaseSensitive(schema, lists[i]), depth + 1);
    }
    return is_done;
}

void serve_complete_tool(cJSON *tool)
{
    cJSON *function = cJSON_GetObjectItemCaseSensitive(tool, "function");
    if (!cJSON_GetObjectItemCaseSensitive(function, "description")) {
        cJSON_AddStringToObject(function, "description", "");
    }
    if (!cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(function, "parameters"))) {
        cJSON_DeleteItemFromObjectCaseSensitive(function, "parameters");
        cJSON *parameters = cJSON_AddObjectToObject(function, "parameters");
        cJSON_AddStringToObject(parameters, "type", "object");
        cJSON_AddObjectToObject(parameters, "properties");
    }
    cJSON *item;
    cJSON_ArrayForEach(item,
                       cJSON_GetObjectItemCaseSensitive(
                           cJSON_GetObjectItemCaseSensitive(function, "parameters"), "properties"))
    {
        const cJSON *first = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(item, "enum"), 0);
        if (cJSON_IsString(first) && !cJSON_GetObjectItemCaseSensitive(item, "type")) {
            cJSON_AddStringToObject(item, "type", "string");
        }
    }
}

//-- names -----------------------------------------------------------------------------------------

static int compare_names(const void *left, const void *right)
{
    const char *const *a = left, *const *b = right;
    return strcmp(*a, *b);
}

struct serve_names serve_names_of(const cJSON *list)
{
    struct serve_names names = {
        .items = cli_alloc((size_t)cJSON_GetArraySize(list) + 1, sizeof(const char *))};
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        if (cJSON_IsString(item)) {
            names.items[names.count++] = item->valuestring;
        }
    }
    qsort(names.items, names.count, sizeof(*names.items), compare_names);
    return names;
}

bool serve_names_have(const struct serve_names *names, const char *name)
{
    return bsearch(&name, names->items, names->count, sizeof(*names->items), compare_names);
}

void serve_names_finish(struct serve_names *names)
{
    free(names->items);
    *names = (struct serve_names){0};
}
