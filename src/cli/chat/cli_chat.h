// Has what a chat is made of, for the lines that are typed (cli_chat.c) and the commands among them
// (cli_chat_commands.c).
#ifndef CLI_CHAT_H
#define CLI_CHAT_H

#include "cli/chat/cli_chat_turn.h"
#include "cli/chat/cli_lines.h"

struct cli_chat_settings {
    struct cli_session_flags session;
    struct cli_sampling sampling;
    const char *system, *system_file;
    int64_t n_predict;
};

struct cli_chat {
    struct cli_chat_settings *settings;
    struct cli_session session;
    struct cli_turns turns;
    struct cli_lines lines;
    struct cli_bytes file; // that the conversation was saved to or loaded from last
    bool is_over;
    bool is_saved;    // nothing was said since that
    bool has_failed;  // a command did
    bool is_warned;   // Ctrl-C came at the prompt,
    double warned_at; // in seconds, as cli_now has them
    int status;       // of `glinfer chat`
};

// Answers a question: the last one again with text NULL.
void cli_chat_ask(struct cli_chat *chat, const struct cli_bytes *text);
// Obeys a line that begins with a slash; notes it where that fails.
void cli_chat_obey(struct cli_chat *chat, const char *text);
// Ends the chat with an exit status.
void cli_chat_leave(struct cli_chat *chat, int status);

#endif
