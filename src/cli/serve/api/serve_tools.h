// Tools of a request: how the model's template tells of them, and the grammar of their calls.
#ifndef SERVE_TOOLS_H
#define SERVE_TOOLS_H

#include "cli/serve/api/serve_fields.h"
#include "cli/serve/calls/serve_styles.h"
#include "cli/serve/schedule/serve_task.h"

// Support of tools in a chat template.
enum serve_tool_support {
    SERVE_TOOLS_UNKNOWN, // nothing: a system message tells of tools, and calls are text
    SERVE_TOOLS_TOLD,    // tells of tools; calls are text of the assistant
    SERVE_TOOLS_WRITTEN, // tells of tools, and writes calls and messages with results
    SERVE_TOOLS_JOINED,  // wants a call, its results and what follows these in one message
};

struct serve_tools {
    cJSON *list;                          // tools that may be called; owned, NULL: none
    const struct serve_call_style *style; // of their calls; NULL: no calls are looked for
    enum serve_tool_support support;
    bool is_required; // the answer must be a call
};

// Reads "tools", "tool_choice" and "parallel_tool_calls", and makes the grammar of their calls the
// task's, unless it has one. What it refuses is kept in fields.
void serve_tools_read(struct serve_fields *fields, const struct glinfer_tokenizer *tokenizer,
                      struct serve_task *task, struct serve_tools *tools);
void serve_tools_finish(struct serve_tools *tools);

// Sets the style and the support of the model's template, by letting it write a call.
void serve_tools_probe(struct serve_tools *tools, const struct glinfer_tokenizer *tokenizer);

#endif
