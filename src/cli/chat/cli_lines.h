// What a person or a program types: lines of standard input. On a terminal, standard error too, with editing and
// history where libedit was there at build time; lines that arrive together, as a pasted text does, are one,
// but for those that were typed ahead of the prompt.
#ifndef CLI_LINES_H
#define CLI_LINES_H

#include "cli/common/cli_io.h"

enum cli_line {
    CLI_LINE_TEXT,
    CLI_LINE_END,       // Ctrl-D on an empty line, or the end of the file
    CLI_LINE_INTERRUPT, // Ctrl-C; what was typed is dropped
    CLI_LINE_FAILED,    // the reason was printed
};

struct cli_editor;

struct cli_lines {
    bool is_terminal;
    const char *prompt;        // shown on a terminal, on stderr
    struct cli_editor *editor; // NULL: plain lines
    char buffer[4096];
    size_t begin, end; // what is read of the buffer's bytes
    bool is_at_end;
};

// prompt must outlive the lines.
void cli_lines_open(struct cli_lines *lines, const char *prompt);
void cli_lines_close(struct cli_lines *lines);
// Replaces *text by the next line, its end left out.
enum cli_line cli_lines_read(struct cli_lines *lines, struct cli_bytes *text);
// Keeps a text for the arrow keys, in this run and the next.
void cli_lines_remember(struct cli_lines *lines, const char *text);

#endif
