// The reply of a handler of the API: a body, or an answer of the model that writes the body.
#pragma once

#include "cli/common/cli_memory.h"

#include <cjson/cJSON.h>
#include <stdbool.h>

struct serve_answer;

struct serve_reply {
    unsigned status;    // of HTTP
    const char *type;   // of the body: a constant
    unsigned retry_s;   // Retry-After; 0: no header
    const char *policy; // Content-Security-Policy: a constant; NULL: no header
    struct cli_bytes body;
    struct serve_answer *answer; // writes the body; owned. NULL: `body` is the body
};

void serve_reply_finish(struct serve_reply *reply);

// Sets the body to JSON, and deletes the JSON.
void serve_reply_json(struct serve_reply *reply, unsigned status, cJSON *json);
void serve_reply_text(struct serve_reply *reply, const char *type, const char *text, size_t size);
// Sets the body to an error, see serve_error_json.
void serve_reply_error(struct serve_reply *reply, unsigned status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
