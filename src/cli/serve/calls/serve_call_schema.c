#include "cli/serve/calls/serve_call_schema.h"

#include "cli/common/cli_memory.h"

#include <stdlib.h>
#include <string.h>

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
