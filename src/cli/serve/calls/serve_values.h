// Text that is read from its beginning on, and the values in it that calls have.
#pragma once

#include "cli/common/cli_memory.h"
#include "cli/serve/calls/serve_styles.h"

#include <cjson/cJSON.h>

struct serve_input {
    const char *at, *end;
};

void serve_skip_white(struct serve_input *in);
// Skips white space and then `text`, without white space and '~' at its ends; inside, these stand
// for any white space. Returns false without moving beyond white space if the text is missing. NULL
// is an empty text.
bool serve_take(struct serve_input *in, const char *text);
// Takes the text up to `end`, which is compared without white space at its ends, and `end` itself.
// Returns NULL if it is missing; the caller frees the text.
char *serve_take_up_to(struct serve_input *in, const char *end);
// Takes a key and the first of the signs, which follows it. The key may be within quotes if `quote`
// is not NULL; otherwise it ends at any of the signs, without white space at its ends. Returns NULL
// if the key is empty or another sign follows; the caller frees it.
char *serve_take_key(struct serve_input *in, const char *quote, const char *signs);

// Takes a value: Python's literals and JSON, or with a quote Gemma's notation. Returns NULL if it
// is invalid.
cJSON *serve_take_value(struct serve_input *in, const char *quote);
// Appends a value as a Python literal.
void serve_write_python(const cJSON *value, struct cli_bytes *text);
