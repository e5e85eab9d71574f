// Tokens of a request's texts and messages.
#ifndef SERVE_TOKENS_H
#define SERVE_TOKENS_H

#include "cli/serve/api/serve_api.h"

// Appends the tokens of a prompt: a text, a list of ids, or a list of both. Refuses what else it
// is.
bool serve_read_prompt(struct serve_fields *fields, const struct glinfer_tokenizer *tokenizer,
                       const cJSON *prompt, struct cli_ids *ids);
// Appends the content of a message with a role to text: a text, or a list of parts all of which are
// texts, with a separator between them. A message of the assistant may have no content: nothing is
// appended.
bool serve_read_content(struct serve_fields *fields, const cJSON *message, const char *separator,
                        struct cli_bytes *text);
// Returns the text of tokens as JSON; what is no UTF-8 is replaced.
cJSON *serve_write_tokens(const struct glinfer_tokenizer *tokenizer, const int32_t *ids, size_t n);

#endif
