#include "cli/serve/calls/serve_schemas.h"

#include "cli/common/cli_json_read.h"

#include <string.h>

const cJSON *serve_find_parameters(const cJSON *tools, const char *tool)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, tools)
    {
        const cJSON *function = cli_json_get(item, "function");
        const char *name = cli_json_get_text(function, "name");
        if (name && strcmp(name, tool) == 0) {
            return cli_json_get(function, "parameters");
        }
    }
    return NULL;
}

const cJSON *serve_find_parameter(const cJSON *parameters, const char *name)
{
    return cli_json_get(cli_json_get(parameters, "properties"), name);
}

static bool is_string_type(const cJSON *type)
{
    return cJSON_IsString(type) && strcmp(type->valuestring, "string") == 0;
}

// Follows a $ref to the definitions of the root; returns the schema itself if it has none.
static const cJSON *follow(const cJSON *schema, const cJSON *root)
{
    static const char *const names[] = {"$defs", "definitions"};
    const char *ref = cli_json_get_text(schema, "$ref");
    const char *name = ref ? strrchr(ref, '/') : NULL;
    for (size_t i = 0; name && i < 2; i++) {
        const cJSON *found = cli_json_get(cli_json_get(root, names[i]), name + 1);
        if (found) {
            return found;
        }
    }
    return schema;
}

bool serve_is_text(const cJSON *schema, const cJSON *root)
{
    static const char *const lists[] = {"type", "anyOf", "oneOf", "enum"};
    const cJSON *found = follow(schema, root), *item;
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        const bool is_enum = i == 3; // its strings are values
        cJSON_ArrayForEach(item, cli_json_get(found, lists[i]))
        {
            if (is_enum ? cJSON_IsString(item)
                        : is_string_type(item) || is_string_type(cli_json_get(item, "type"))) {
                return true;
            }
        }
    }
    return is_string_type(cli_json_get(found, "type")) ||
           cJSON_IsString(cli_json_get(found, "const"));
}
