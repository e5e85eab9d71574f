// Writes values as Python prints them, and as JSON. Private to this folder.
#pragma once

#include "jinja/jinja_value.h"

// Says how JSON is written.
struct gi_jinja_json_form {
    int indent;                          // spaces a level; -1: all on one line
    struct gi_jinja_string comma, colon; // between elements, and after a key
    bool is_ascii;                       // other characters are escaped
    bool is_sorted;                      // keys of mappings are
};

// Returns the text that printing the value writes.
struct gi_jinja_string gi_jinja_to_string(struct gi_jinja_pool *pool, struct gi_jinja_value value);
struct gi_jinja_value gi_jinja_to_json(struct gi_jinja_pool *pool, struct gi_jinja_value value,
                                       const struct gi_jinja_json_form *form);
