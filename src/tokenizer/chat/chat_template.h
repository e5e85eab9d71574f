// A file's own chat template, run: what it writes, and whether it and the format it was recognised as
// write the same.
#ifndef GI_TOKENIZER_CHAT_TEMPLATE_H
#define GI_TOKENIZER_CHAT_TEMPLATE_H

#include "tokenizer/tokenizer_impl.h"

// Takes the Jinja text for the tokenizer's chats if it can be run, and writes what a user says. A
// format that writes a short conversation otherwise is not the template's and is dropped; where the
// template only forgets to begin the answer, it is the format that is kept. A control token that the
// template writes behind an answer ends answers from now on. Called last when a tokenizer is built.
// Fails with NO_MEMORY.
bool gi_chat_template_init(struct gi_tokenizer *tokenizer, struct gi_text jinja,
                           struct glinfer_error *err);

// Appends the ids of a conversation as the template writes it. Fails with INVALID_ARGUMENT (the
// template refuses it), UNSUPPORTED, NO_MEMORY.
bool gi_chat_template_encode(const struct gi_tokenizer *tokenizer,
                             const struct glinfer_message *messages, size_t n_messages,
                             struct gi_ids *ids, struct glinfer_error *err);

#endif
