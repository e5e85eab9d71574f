// The table of chat formats: how a conversation is written, and what tells each from a Jinja text.
// chat.c and chat_write.c read it; a row is all that a new format needs.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define GI_CHAT_TELLS_MAX 4

// Stand in a format's strings for what is not text.
#define GI_CHAT_BOS  "\001" // the vocabulary's tokens; empty if it has none
#define GI_CHAT_EOS  "\002"
#define GI_CHAT_DATE "\003" // today's, when the format was chosen

enum gi_chat_place {
    GI_CHAT_PLACE_TURN,       // a system message is a turn, wherever it comes
    GI_CHAT_PLACE_FRONT,      // it is the first message and written before the turns
    GI_CHAT_PLACE_FIRST_USER, // it is the first message and written within the first user turn
    GI_CHAT_PLACE_LAST_USER,  // it is the first message, within the user turn that ends the chat
};

// Say what is left out of contents. White space is ASCII's.
enum gi_chat_trim {
    GI_CHAT_TRIM_SYSTEM = 1 << 0,        // white space around it
    GI_CHAT_TRIM_USER = 1 << 1,          // white space around it
    GI_CHAT_TRIM_USER_TURN = 1 << 2,     // around it and the system message within the turn
    GI_CHAT_TRIM_ASSISTANT = 1 << 3,     // white space around it
    GI_CHAT_TRIM_THINKING = 1 << 4,      // all up to the last </think>
    GI_CHAT_TRIM_THINKING_LINE = 1 << 5, // after that newlines
    GI_CHAT_TRIM_LINES = 1 << 6,         // newlines before an assistant message
};

// Says which of the Jinja texts have a message that stands for a missing system message.
enum gi_chat_default {
    GI_CHAT_DEFAULT_NEVER,
    GI_CHAT_DEFAULT_SOMETIMES,
    GI_CHAT_DEFAULT_ALWAYS, // such a text is not known by name if it cannot be run
};

struct gi_chat_turn {
    const char *before, *after;
};

struct gi_chat_format {
    const char *name;
    const char *tells[GI_CHAT_TELLS_MAX];   // a Jinja text that has all of these is this format,
    const char *denials[GI_CHAT_TELLS_MAX]; // unless it has one of these
    const char *begin;                      // of every conversation; may be NULL
    struct gi_chat_turn system, user, assistant;
    const char *answer; // start of the answer, which the model continues
    enum gi_chat_place place;
    unsigned trims; // enum gi_chat_trim
    // A system turn is written even if there is neither a system message nor a default one.
    bool has_empty_system;
    enum gi_chat_default default_system;
    const char *date_format; // as strftime has it; NULL: no GI_CHAT_DATE is in the strings
};

// Returns a row of the table, NULL past its end. A Jinja text is the first format that fits.
const struct gi_chat_format *gi_chat_format_at(size_t index);
