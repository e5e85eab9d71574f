// The interface without HTTP: finds the handler of a path and fills the reply. Many threads call it
// at once.
#pragma once

#include "cli/serve/answer/serve_reply.h"
#include "cli/serve/api/serve_fields.h"
#include "cli/serve/schedule/serve_lora.h"
#include "cli/serve/schedule/serve_scheduler.h"

struct serve_api {
    struct serve_scheduler *scheduler;     // borrowed
    const struct serve_settings *settings; // borrowed
    const char *model_name;                // of the language model; borrowed. NULL: none
    const char *speech_name;               // of the speech model; borrowed. NULL: none
    int64_t started;                       // seconds since 1970
    const char *variables;                 // of the chat template, a JSON object; NULL: none
    struct serve_lora *lora;               // borrowed
};

enum serve_method {
    SERVE_GET, // HEAD too
    SERVE_POST,
    SERVE_OTHER,
};

// A request with its whole body.
struct serve_call {
    enum serve_method method;
    const char *path;   // without a query
    const char *action; // of the query; NULL: missing
    const char *type;   // of the body, as its header says; NULL: missing
    const char *body;
    size_t body_size;
};

// Returns true if a call needs no key: /health and the page.
bool serve_api_is_open(const struct serve_call *call);
// Returns true if a name of size bytes is one of the language model: status/serve_status.c.
bool serve_api_has_model(const struct serve_api *api, const char *name, size_t size);
// Fills an empty *reply.
void serve_api_handle(const struct serve_api *api, const struct serve_call *call,
                      struct serve_reply *reply);
