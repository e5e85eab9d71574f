// Schemas of the parameters of a request's tools.
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

// Returns the parameters of the tool of a name, NULL if it has none.
const cJSON *serve_find_parameters(const cJSON *tools, const char *tool);
// Returns the schema of a parameter, NULL if it is unknown.
const cJSON *serve_find_parameter(const cJSON *parameters, const char *name);
// Returns true if a value of a schema may be a string. root: the schema with the definitions that
// $ref refers to, or NULL.
bool serve_is_text(const cJSON *schema, const cJSON *root);
