// Line editing and history on a terminal: libedit, or nothing (cli_editor_none.c).
#ifndef CLI_EDITOR_H
#define CLI_EDITOR_H

#include "cli/chat/cli_lines.h"

// NULL where there is none. prompt must outlive it. Until it is closed the terminal shows what is typed only while a
// line is read: what comes before that is shown with the line.
struct cli_editor *cli_editor_open(const char *prompt);
void cli_editor_close(struct cli_editor *editor);
// Appends a line without its end to *text. is_first: with the prompt in front, else the mark of a
// line that goes on.
enum cli_line cli_editor_read(struct cli_editor *editor, bool is_first, struct cli_bytes *text);
// Adds to the history, which lies in $XDG_STATE_HOME/glinfer or ~/.local/state/glinfer.
void cli_editor_remember(struct cli_editor *editor, const char *text);

#endif
