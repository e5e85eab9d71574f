// Messages with tools, calls and their results, in the form that the model's template takes.
#pragma once

#include "cli/serve/api/serve_tools.h"

// Gives a request's chat_template_kwargs the server's variables that it does not have itself.
// variables: a JSON object, or NULL.
void serve_add_variables(const char *variables, cJSON *body);
// Appends the tokens of "messages" with the tools. Returns false with the mistake in fields.
bool serve_read_conversation(struct serve_fields *fields, const struct glinfer_tokenizer *tokenizer,
                             const struct serve_tools *tools, struct cli_ids *ids);
