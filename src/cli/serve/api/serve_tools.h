// Tools of a request: how the model's template tells of them, the grammar of their calls, and
// messages that have to do with them.
#ifndef SERVE_TOOLS_H
#define SERVE_TOOLS_H

#include "cli/serve/api/serve_tokens.h"
#include "cli/serve/calls/serve_calls.h"
#include "cli/serve/schedule/serve_task.h"

struct serve_tools {
    cJSON *list;                          // those that may be called; owned, NULL: none
    const struct serve_call_style *style; // NULL: no calls are looked for
    bool is_required;                     // the answer is a call
};

// Reads "tools", "tool_choice" and "parallel_tool_calls", and makes the grammar of their calls the
// task's, unless it has one. What it refuses is kept in fields.
void serve_tools_read(struct serve_fields *fields, const struct glinfer_tokenizer *tokenizer,
                      struct serve_task *task, struct serve_tools *tools);
void serve_tools_finish(struct serve_tools *tools);

// Returns how the model's template has calls of tools, found out by having it write one.
const struct serve_call_style *serve_find_style(const struct glinfer_tokenizer *tokenizer);

// Gives a request's chat_template_kwargs the server's variables that it does not have itself.
void serve_add_variables(const char *variables, cJSON *body);
// Appends the tokens of "messages" with the tools.
bool serve_read_conversation(struct serve_fields *fields, const struct glinfer_tokenizer *tokenizer,
                             const struct serve_tools *tools, struct cli_ids *ids);

#endif
