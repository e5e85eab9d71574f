// Runs a file's own chat template, and compares what it writes with the format it was recognised
// as.
#pragma once

#include "tokenizer/tokenizer_impl.h"

// Takes the Jinja text for the tokenizer's chats if it can be run and writes a user's message.
// Drops a format that writes a short conversation otherwise; keeps the format and drops the
// template if that only forgets to begin the answer. Takes the default system message from what the
// template writes, and the control token after an answer as one that ends answers. Called last
// when a tokenizer is built. Fails with NO_MEMORY.
bool gi_chat_template_init(struct gi_tokenizer *tokenizer, struct gi_text jinja,
                           struct glinfer_error *err);

// Appends the ids of a conversation as the template writes it. Fails with INVALID_ARGUMENT (the
// template refuses it), UNSUPPORTED, NO_MEMORY.
bool gi_chat_template_encode(const struct gi_tokenizer *tokenizer,
                             const struct glinfer_message *messages, size_t n_messages,
                             enum glinfer_chat_end end, struct gi_ids *ids,
                             struct glinfer_error *err);
// Appends the ids of a conversation in JSON.
bool gi_chat_template_encode_json(const struct gi_tokenizer *tokenizer,
                                  const struct glinfer_chat_json *chat, struct gi_ids *ids,
                                  struct glinfer_error *err);
