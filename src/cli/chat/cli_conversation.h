// The messages of a chat, all of them even if the context of the model has no room for them, and as
// a JSON file: {"messages": [{"role": ..., "content": ...}, ...]}.
#pragma once

#include "glinfer.h"

struct cli_conversation {
    struct glinfer_message *items; // contents are owned, roles are constants
    size_t count, capacity;
};

void cli_conversation_finish(struct cli_conversation *conversation);

// Adds a message; zero bytes of the text are left out.
void cli_conversation_add(struct cli_conversation *conversation, const char *role, const char *text,
                          size_t size);
// Keeps the first n messages.
void cli_conversation_cut(struct cli_conversation *conversation, size_t n);
// Replaces the system message in front, or adds it.
void cli_conversation_set_system(struct cli_conversation *conversation, const char *text);
// Returns 1 if there is a system message in front, else 0.
size_t cli_conversation_count_system(const struct cli_conversation *conversation);

// Writes the file as a whole or not at all; prints what failed.
bool cli_conversation_save(const struct cli_conversation *conversation, const char *path);
// Replaces the conversation by the file's; prints what failed and leaves it as it was then.
bool cli_conversation_load(struct cli_conversation *conversation, const char *path);
