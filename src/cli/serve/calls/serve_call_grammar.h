// The grammar of calls of tools, in any of the ways in which models write them.
#pragma once

#include "cli/serve/calls/serve_calls.h"
#include "cli/serve/schedule/serve_task.h"

// Says what is asked of calls.
struct serve_call_rules {
    const struct glinfer_tokenizer *tokenizer;
    const struct serve_call_style *style;
    const cJSON *tools; // the tools that may be called, each with a name
    bool is_required;   // the answer is a call; else it may become one
    bool is_parallel;   // there may be several
};

// Makes the grammar of calls the task's, which owns its texts. Fails if a tool cannot be taken: its
// parameters are more than 1,000, have names that calls of this style cannot have, those of all are
// too large together, or it is strict and a grammar cannot keep to its schema, whose path the
// message has.
bool serve_set_call_grammar(const struct serve_call_rules *rules, struct serve_task *task,
                            struct glinfer_error *err);
