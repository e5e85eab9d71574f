#include "cli/serve/calls/serve_call_tools.h"

#include <string.h>

const cJSON *serve_find_parameters(const cJSON *tools, const char *tool)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, tools)
    {
        const cJSON *function = cJSON_GetObjectItemCaseSensitive(item, "function");
        const cJSON *own = cJSON_GetObjectItemCaseSensitive(function, "name");
        if (cJSON_IsString(own) && strcmp(own->valuestring, tool) == 0) {
            return cJSON_GetObjectItemCaseSensitive(function, "parameters");
        }
    }
    return NULL;
}

const cJSON *serve_find_parameter(const cJSON *parameters, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(
        cJSON_GetObjectItemCaseSensitive(parameters, "properties"), name);
}

static bool is_type_of_text(const cJSON *type)
{
    return cJSON_IsString(type) && strcmp(type->valuestring, "string") == 0;
}

// True if one of a list is a text, or a schema of one.
static bool has_text(const cJSON *list)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        if (is_type_of_text(item) ||
            is_type_of_text(cJSON_GetObjectItemCaseSensitive(item, "type"))) {
            return true;
        }
    }
    return false;
}

static bool has_constant_text(const cJSON *list)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        if (cJSON_IsString(item)) {
            return true;
        }
    }
    return false;
}

// Follows a $ref to the definitions of the root; returns the schema itself if it has none.
static const cJSON *follow(const cJSON *schema, const cJSON *root)
{
    static const char *const names[] = {"$defs", "definitions"};
    const cJSON *ref = cJSON_GetObjectItemCaseSensitive(schema, "$ref");
    const char *name = cJSON_IsString(ref) ? strrchr(ref->valuestring, '/') : NULL;
    for (size_t i = 0; name && i < 2; i++) {
        const cJSON *all = cJSON_GetObjectItemCaseSensitive(root, names[i]);
        const cJSON *found = cJSON_GetObjectItemCaseSensitive(all, name + 1);
        if (found) {
            return found;
        }
    }
    return schema;
}

bool serve_is_text(const cJSON *schema, const cJSON *root)
{
    const cJSON *found = follow(schema, root);
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(found, "type");
    return is_type_of_text(type) || has_text(type) ||
           has_text(cJSON_GetObjectItemCaseSensitive(found, "anyOf")) ||
           has_text(cJSON_GetObjectItemCaseSensitive(found, "oneOf")) ||
           has_constant_text(cJSON_GetObjectItemCaseSensitive(found, "enum")) ||
           cJSON_IsString(cJSON_GetObjectItemCaseSensitive(found, "const"));
}
