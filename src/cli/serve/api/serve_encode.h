// Writes a conversation, whose messages and tools fit the model's template, as tokens or text, and
// finds the tokens at which other conversations are likely to part from it.
#pragma once

#include "cli/common/cli_memory.h"
#include "cli/serve/api/serve_fields.h"
#include "cli/serve/calls/serve_styles.h"
#include "cli/serve/schedule/serve_task.h"

// Fence around control tokens in messages ("": no fence), the end of the conversation, and where it
// is written.
struct serve_ending {
    char fence[SERVE_FENCE_SIZE];
    enum glinfer_chat_end end;
    struct cli_ids *ids;
    struct cli_bytes *text; // in place of ids; NULL: ids
};

// Encodes messages with tools, NULL: none. If the template misses a member of the tools, does so
// once more with that. Returns false with the mistake in fields.
bool serve_encode(struct serve_fields *fields, const struct glinfer_tokenizer *tokenizer,
                  const cJSON *messages, const cJSON *tools, const struct serve_ending *ending);
// Adds the places in a conversation's tokens, which were encoded, after the system message and the
// tools, at the last message of the user, and after the last message: the tokens in common with a
// conversation that has another message there, or no answer. Places that the template does not
// write are left out.
void serve_encode_places(const struct serve_fields *fields,
                         const struct glinfer_tokenizer *tokenizer, const cJSON *messages,
                         const cJSON *tools, const struct serve_ending *ending,
                         struct serve_places *places);
