// Schemas of the parameters of a request's tools.
#ifndef SERVE_CALL_TOOLS_H
#define SERVE_CALL_TOOLS_H

#include <cjson/cJSON.h>
#include <stdbool.h>

// Returns the parameters of the tool of a name, or NULL.
const cJSON *serve_find_parameters(const cJSON *tools, const char *tool);
// Returns the schema of a parameter of a name, or NULL.
const cJSON *serve_find_parameter(const cJSON *parameters, const char *name);
// True if a value of a schema may be a text, which is not quoted between tags. root: the schema
// with the definitions of $ref, or NULL.
bool serve_is_text(const cJSON *schema, const cJSON *root);

#endif
