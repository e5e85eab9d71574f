// The HTTP interface without HTTP: which handler a path has, and what it answers. Called by many
// threads at once.
#ifndef SERVE_API_H
#define SERVE_API_H

#include "cli/sampling/cli_sampling.h"
#include "cli/serve/api/serve_fields.h"
#include "cli/serve/api/serve_reply.h"
#include "cli/serve/schedule/serve_scheduler.h"

struct serve_api {
    struct serve_scheduler *scheduler;   // borrowed
    const struct cli_sampling *sampling; // what holds where a request says nothing; borrowed
    const char *model_name, *model_path; // borrowed
    int64_t n_predict;                   // likewise; -1: to the end of the context
    enum glinfer_pooling pooling;        // of embeddings; DEFAULT: as the file says
    int64_t norm;                        // likewise, as --embd-normalize has it
    bool has_metrics, has_slots;         // these endpoints are there
    bool has_raw_thoughts;               // they are text of the answer, marks and all
    int64_t started;                     // seconds since 1970
    const char *variables;               // a JSON object of the chat template's; NULL: none
    const char *slot_folder;             // where slots are saved; borrowed, NULL: nowhere
};

enum serve_method {
    SERVE_GET, // HEAD too
    SERVE_POST,
    SERVE_OTHER,
};

// A request whose body is there.
struct serve_call {
    enum serve_method method;
    const char *path;   // without a query
    const char *action; // of the query; NULL: none
    const char *body;
    size_t body_size;
};

// True if whoever has no key may call it: /health and the page.
bool serve_api_is_open(const struct serve_call *call);
// Fills an empty *reply.
void serve_api_handle(const struct serve_api *api, const struct serve_call *call,
                      struct serve_reply *reply);

#endif
