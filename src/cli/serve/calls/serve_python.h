// Values as Python writes them, which some models call tools with: read as JSON, and written.
#ifndef SERVE_PYTHON_H
#define SERVE_PYTHON_H

#include "cli/common/cli_memory.h"

#include <cjson/cJSON.h>

// Reads a value at *at: a text in either quote, a number, True, False, None, a list, a tuple, a
// dictionary; JSON too. Moves *at behind it; NULL if there is none.
cJSON *serve_read_python(const char **at, const char *end);
// Appends a value.
void serve_write_python(const cJSON *value, struct cli_bytes *text);

#endif
