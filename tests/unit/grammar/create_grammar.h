// Reads grammars that call no schemas.
#pragma once

#include "grammar/schema/json_schema.h"

#include <stdlib.h>
#include <string.h>

static inline struct gi_grammar *create_grammar(const char *text, size_t size,
                                                const struct gi_grammar_names *names,
                                                struct glinfer_error *err)
{
    char *copy = strndup(text, size);
    struct gi_grammar *grammar = gi_json_schema_rules(copy, NULL, 0, false, names, err);
    free(copy);
    return grammar;
}
