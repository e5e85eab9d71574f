// The reply of a handler of the API: a whole body at once, or an answer of the model that comes bit
// by bit.
#ifndef SERVE_REPLY_H
#define SERVE_REPLY_H

#include "cli/common/cli_memory.h"

#include <cjson/cJSON.h>
#include <stdbool.h>

struct serve_answer;

struct serve_reply {
    unsigned status;    // of HTTP
    const char *type;   // of the body: a constant
    unsigned retry_s;   // Retry-After; 0: none
    const char *policy; // Content-Security-Policy: a constant; NULL: none
    struct cli_bytes body;
    struct serve_answer *answer; // the body is its; owned. NULL: body holds
};

void serve_reply_finish(struct serve_reply *reply);

// Makes JSON the body and deletes it.
void serve_reply_json(struct serve_reply *reply, unsigned status, cJSON *json);
void serve_reply_text(struct serve_reply *reply, const char *type, const char *text, size_t size);
// Makes an error the body: {"error": {"code", "message", "type"}}, the type by the status.
void serve_reply_error(struct serve_reply *reply, unsigned status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
