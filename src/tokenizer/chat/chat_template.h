// Runs chat templates: a file's own, which is compared with the format that it was recognised as,
// and those of the formats.
#pragma once

#include "tokenizer/tokenizer.h"

// Takes the Jinja text for the tokenizer's chats if it can be run and writes a user's message.
// Drops a format that writes a short conversation otherwise; if the text only forgets to begin the
// answer, notes how the format does. Takes the control token after an answer as one that ends
// answers. Fails with NO_MEMORY.
bool gi_chat_template_init(struct gi_tokenizer *tokenizer, struct gi_text jinja,
                           struct glinfer_error *err);

// The ids of a conversation or, if text is not NULL, its text.
struct gi_chat_out {
    struct gi_ids *ids;
    struct gi_chars *text;
};

// Appends a conversation as a template writes it: that of the file, or of the format if
// is_plain. Fails with INVALID_ARGUMENT (the template refuses it), UNSUPPORTED, NO_MEMORY.
bool gi_chat_template_encode(const struct gi_tokenizer *tokenizer, bool is_plain,
                             const struct glinfer_message *messages, size_t n_messages,
                             enum glinfer_chat_end end, const struct gi_chat_out *out,
                             struct glinfer_error *err);
// Appends a conversation in JSON, as the file's template writes it.
bool gi_chat_template_encode_json(const struct gi_tokenizer *tokenizer,
                                  const struct glinfer_chat_json *chat,
                                  const struct gi_chat_out *out, struct glinfer_error *err);
