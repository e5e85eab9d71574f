// The interface without HTTP: finds the handler of a path and fills the reply. Many threads call it
// at once.
#pragma once

#include "cli/serve/answer/serve_reply.h"
#include "cli/serve/api/serve_fields.h"
#include "cli/serve/schedule/serve_lora.h"
#include "cli/serve/schedule/serve_scheduler.h"

struct serve_api {
    struct serve_scheduler *scheduler;     // borrowed; NULL: the model is not loaded
    const struct serve_settings *settings; // borrowed
    const char *model_name;                // of the language model; borrowed. NULL: none
    const char *speech_name;               // of the speech model; borrowed. NULL: none
    int64_t started;                       // seconds since 1970
    const char *variables;                 // of the chat template, a JSON object; NULL: none
    struct serve_lora *lora;               // borrowed
    const struct glinfer_model_info *info; // of the language model's file; borrowed
    const char *template_text;             // of the chat template; borrowed. NULL: unknown
    bool is_sleeping;                      // the model leaves the device while it is idle
};

enum serve_method {
    SERVE_GET, // HEAD too
    SERVE_POST,
    SERVE_DELETE,
    SERVE_OTHER,
};

// A request with its whole body.
struct serve_call {
    enum serve_method method;
    const char *path; // without a query
    // Words of the query; NULL: missing
    const char *action, *model, *autoload, *reload;
    const char *type; // of the body, as its header says; NULL: missing
    const char *body;
    size_t body_size;
};

// Returns true if a call needs no key: /health and the page.
bool serve_api_is_open(const struct serve_call *call);
// The part of a model that a call needs.
enum serve_need {
    SERVE_NEEDS_NOTHING, // it is the page, or an error
    SERVE_NEEDS_FILE,    // its file, and its settings
    SERVE_NEEDS_STATE,   // its state: slots, sums, the template
    SERVE_NEEDS_TEXT,    // the language model
    SERVE_NEEDS_SPEECH,  // the speech model
};
enum serve_need serve_api_need(const struct serve_call *call);
// Returns the replies to calls that need the state of a model, for serve_api_recall once it is not
// loaded. The caller releases them with serve_api_forget.
struct serve_reply *serve_api_keep(const struct serve_api *api);
// Fills an empty *reply with the one that was kept. Returns false if there is none.
bool serve_api_recall(const struct serve_reply *kept, const struct serve_call *call,
                      struct serve_reply *reply);
// Accepts NULL.
void serve_api_forget(struct serve_reply *kept);
// Returns true if words with commas between them, which may be NULL, have a word of size bytes.
bool serve_has_word(const char *words, const char *word, size_t size);
// Returns true if a name of size bytes is one of the language model: status/serve_status.c.
bool serve_api_has_model(const struct serve_api *api, const char *name, size_t size);
// Fills an empty *reply.
void serve_api_handle(const struct serve_api *api, const struct serve_call *call,
                      struct serve_reply *reply);
