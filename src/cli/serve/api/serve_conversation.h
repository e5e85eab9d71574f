// Messages with tools, calls and their results, in the form that the model's template takes.
#pragma once

#include "cli/serve/api/serve_api.h"
#include "cli/serve/api/serve_tools.h"

// Gives a request's chat_template_kwargs the variables that it does not have itself: those of its
// reasoning_effort and of the server, and that the model may think, if the template knows that.
void serve_add_variables(const struct serve_api *api, cJSON *body);
// Appends the tokens of "messages" with the tools or, if text is not NULL, their text. Adds the
// places at which other conversations are likely to differ, unless places is NULL. Returns false
// with the mistake in fields.
bool serve_read_conversation(struct serve_fields *fields, const struct glinfer_tokenizer *tokenizer,
                             const struct serve_tools *tools, struct cli_ids *ids,
                             struct cli_bytes *text, struct serve_places *places);
