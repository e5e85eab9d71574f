// Tools of a request: their support in the model's template, and the grammar of their calls.
#pragma once

#include "cli/serve/api/serve_fields.h"
#include "cli/serve/calls/serve_styles.h"
#include "cli/serve/schedule/serve_task.h"

// Support of tools in a chat template.
enum serve_tool_support {
    SERVE_TOOLS_UNKNOWN, // no support: a system message describes tools, and calls are text
    SERVE_TOOLS_TOLD,    // describes tools; calls are text of the assistant
    SERVE_TOOLS_WRITTEN, // describes tools, and writes calls and messages with results
    SERVE_TOOLS_JOINED,  // expects a call, its results and the answer to them in one message
};

struct serve_tools {
    cJSON *list;                          // tools that may be called; owned. NULL: no tools
    const struct serve_call_style *style; // of their calls; NULL: no calls are looked for
    enum serve_tool_support support;
    bool is_required; // the answer must be a call
};

// Reads "tools", "tool_choice" and "parallel_tool_calls", and sets the grammar of calls in the task
// unless it has a grammar. Mistakes are kept in fields.
void serve_tools_read(struct serve_fields *fields, const struct glinfer_tokenizer *tokenizer,
                      struct serve_task *task, struct serve_tools *tools);
void serve_tools_finish(struct serve_tools *tools);

// Sets the style and the support of the model's template, by letting it write a call.
void serve_tools_probe(struct serve_tools *tools, const struct glinfer_tokenizer *tokenizer);
