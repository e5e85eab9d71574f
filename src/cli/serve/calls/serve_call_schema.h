// Rewrites schemas of tools for templates.
#ifndef SERVE_CALL_SCHEMA_H
#define SERVE_CALL_SCHEMA_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

// Adds what may be left out of a tool but is asked for by some templates: a description,
// parameters, and the type of those that are one of several texts.
void serve_complete_tool(cJSON *tool);

// Names, sorted.
struct serve_names {
    const char **items; // owned; the texts are borrowed
    size_t count;
};

// Returns the texts of a list, such as what is required; list may be NULL.
struct serve_names serve_names_of(const cJSON *list);
bool serve_names_have(const struct serve_names *names, const char *name);
void serve_names_finish(struct serve_names *names);

#endif
