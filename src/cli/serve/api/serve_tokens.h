// Tokens of a request's texts.
#pragma once

#include "cli/common/cli_memory.h"
#include "cli/serve/api/serve_fields.h"
#include "glinfer.h"

// Appends the tokens of a prompt: a text, the id of a token, or a list of these. Refuses any other
// prompt.
bool serve_read_prompt(struct serve_fields *fields, const struct glinfer_tokenizer *tokenizer,
                       const cJSON *prompt, struct cli_ids *ids);
// Returns the text of tokens as JSON; invalid UTF-8 is replaced.
cJSON *serve_write_tokens(const struct glinfer_tokenizer *tokenizer, const int32_t *ids, size_t n);
