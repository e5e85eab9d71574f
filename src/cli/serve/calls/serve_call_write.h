// Writes calls as a model of a style does, for chat templates that do not write them.
#ifndef SERVE_CALL_WRITE_H
#define SERVE_CALL_WRITE_H

#include "cli/common/cli_memory.h"
#include "cli/serve/calls/serve_styles.h"

#include <cjson/cJSON.h>

enum { SERVE_FENCE_SIZE = 32 };

// Appends OpenAI's list of calls, whose arguments are objects, in a style of JSON or Python.
void serve_write_calls(const struct serve_call_style *style, const cJSON *calls,
                       struct cli_bytes *text);
// Appends calls that begin with the style's trigger and end with its second mark, if it has one,
// both within fences.
void serve_fence_marks(const struct serve_call_style *style, const char *fence, const char *calls,
                       struct cli_bytes *text);

#endif
