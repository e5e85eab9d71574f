// The table of chat formats: the template that writes a conversation in each, and what tells it
// from a file's. A row is all that a new format needs.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define GI_CHAT_TELLS_MAX 4

// Says which of the files' templates have a message that stands for a missing system message.
enum gi_chat_default {
    GI_CHAT_DEFAULT_NEVER,
    GI_CHAT_DEFAULT_SOMETIMES,
    GI_CHAT_DEFAULT_ALWAYS, // such a text is not known by name if it cannot be run
};

struct gi_chat_format {
    const char *name;
    const char *tells[GI_CHAT_TELLS_MAX];   // a Jinja text that has all of these is this format,
    const char *denials[GI_CHAT_TELLS_MAX]; // unless it has one of these
    const char *jinja;                   // writes messages of the system, the user, the assistant
    bool is_system_first;                // a system message is the first, or refused
    enum gi_chat_default default_system; // of the file's template; jinja never writes it
};

// Returns a row of the table, NULL past its end. A Jinja text is the first format that fits.
const struct gi_chat_format *gi_chat_format_at(size_t index);
