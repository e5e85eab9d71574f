// The parts of a chat, for the lines that are typed (cli_chat.c) and the commands among them
// (cli_chat_commands.c).
#pragma once

#include "cli/chat/cli_chat_turn.h"
#include "cli/chat/cli_lines.h"
#include "cli/cli_commands.h"

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
    struct {               // values that were set, owned
        char **items;
        size_t count, capacity;
    } texts;
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
// Writes the path of the conversation that a chat left unsaved; false without one.
bool cli_chat_find_kept(char *path, size_t size);
void cli_chat_drop_kept(void);
// Shows the last question and its answer, on a terminal.
void cli_chat_show_last(const struct cli_chat *chat, bool with_answer);
// Sets or prints settings, as /set does: "top_k 20", "temp", "". Returns false with the reason
// printed.
bool cli_chat_set(struct cli_chat *chat, const char *argument);
bool cli_chat_set_system(struct cli_chat *chat, const char *text);
// Returns the name of a setting, which it may write to name; NULL after the last.
const char *cli_chat_setting_at(size_t index, char name[64]);
// Returns the name of a command with its slash; NULL after the last.
const char *cli_chat_command_at(size_t index);
// Offers words in place of the last one of a line. A cli_complete_fn.
void cli_chat_complete(const char *line, struct cli_offers *offers);
