// Values of a template that come as JSON. Private to this folder.
#pragma once

#include "jinja/jinja_value.h"

// Returns the value that a JSON text has; its strings and names count as contents of messages. is_a
// is LIST or DICT, `what` names the text in messages. Fails the pool with INVALID_ARGUMENT if it is
// no JSON, or something else, and with UNSUPPORTED if it nests too deeply.
struct gi_jinja_value gi_jinja_from_json(struct gi_jinja_pool *pool, const char *text,
                                         enum gi_jinja_kind is_a, const char *what);
// Parses a string of the template as JSON. Fails the pool if it is invalid.
struct gi_jinja_value gi_jinja_parse_json(struct gi_jinja_pool *pool, struct gi_jinja_string text);
