// The reply of a handler of the API: a body, or an answer of the model that writes the body.
#pragma once

#include "cli/common/cli_memory.h"
#include "cli/serve/api/serve_fields.h"

#include <cjson/cJSON.h>
#include <stdbool.h>

struct serve_answer;

struct serve_reply {
    unsigned status;    // of HTTP
    const char *type;   // of the body: a constant
    unsigned retry_s;   // Retry-After; 0: no header
    int64_t started;    // Process-Start-Time-Unix; 0: no header
    const char *policy; // Content-Security-Policy: a constant; NULL: no header
    struct cli_bytes body;
    struct serve_answer *answer; // writes the body; owned. NULL: `body` is the body
};

void serve_reply_finish(struct serve_reply *reply);

// Sets the body to JSON, and deletes the JSON.
void serve_reply_json(struct serve_reply *reply, unsigned status, cJSON *json);
void serve_reply_text(struct serve_reply *reply, const char *type, const char *text, size_t size);
// Returns the body of an error: {"error": {"code", "message", "type"}}, the type by the status.
cJSON *serve_error_json(unsigned status, const char *message);
// Sets the body to an error.
void serve_reply_error(struct serve_reply *reply, unsigned status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// Turns an error into Ollama's, which is a text alone.
void serve_reply_flatten(struct serve_reply *reply);
// Sets the body to the mistake of a request. That of a prompt that is too long has the type, and
// the members n_prompt_tokens and n_ctx, by which clients of llama-server recognise it.
void serve_reply_refuse(struct serve_reply *reply, const struct serve_fields *fields);
