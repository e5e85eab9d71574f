// Writes calls as a model of a style does, where its template leaves that to messages.
#ifndef SERVE_CALL_WRITE_H
#define SERVE_CALL_WRITE_H

#include "cli/serve/calls/serve_calls.h"

enum { SERVE_FENCE_SIZE = 32 };

// Appends OpenAI's list of calls, whose arguments are objects, as a model of the style writes them.
void serve_write_calls(const struct serve_call_style *style, const cJSON *calls,
                       struct cli_bytes *text);

// Writes bytes that nobody can guess.
void serve_make_fence(char fence[SERVE_FENCE_SIZE]);
// Appends calls that begin with the style's trigger and end with its second mark, if it has one,
// both within fences.
void serve_fence_marks(const struct serve_call_style *style, const char *fence, const char *calls,
                       struct cli_bytes *text);

#endif
