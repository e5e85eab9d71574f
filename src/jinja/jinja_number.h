// Numbers of JSON, of any length, and as Python prints them. Private to this folder.
#pragma once

#include "jinja/jinja_value.h"

// Returns a copy of JSON text, owned by the pool, with a 0 in place of each number and a ? in place
// of each invalid one: cJSON reads no more than 63 characters of a number. NULL after a failure.
char *gi_jinja_hide_numbers(struct gi_jinja_pool *pool, struct gi_jinja_string text);
// Returns the value of a number in JSON's syntax: an integer with all its digits, or the nearest
// double.
struct gi_jinja_value gi_jinja_read_number(struct gi_jinja_pool *pool,
                                           struct gi_jinja_string number);
