// Lines of standard input. Where that and standard error are a terminal an editor reads them, if
// there is one. Lines that arrive there together, as a pasted text does, are one message, unless
// they were typed before the prompt.
#pragma once

#include "cli/common/cli_io.h"

enum cli_line {
    CLI_LINE_TEXT,
    CLI_LINE_END,       // Ctrl-D on an empty line, or the end of the file
    CLI_LINE_INTERRUPT, // Ctrl-C; the text is what was typed, if an editor knows
    CLI_LINE_FAILED,    // the reason was printed
};

// Words that the end of a line may become.
struct cli_offers {
    struct cli_bytes words; // count of them, each with a 0 after it
    size_t count;
    size_t n_typed; // bytes at the end of the line that they replace
};
// Fills *offers for a line.
typedef void (*cli_complete_fn)(const char *line, struct cli_offers *offers);

// An editor of lines with a history. All but open take what open returned.
struct cli_editor {
    // Returns NULL where editing is not possible. prompt must outlive the editor.
    void *(*open)(const char *prompt);
    void (*close)(void *editor);
    // Appends a line without its end to *text. is_first: with the prompt in front, else the mark of
    // a line that goes on.
    enum cli_line (*read)(void *editor, bool is_first, struct cli_bytes *text);
    void (*remember)(void *editor, const char *text);
};

struct cli_lines {
    bool is_terminal;
    const char *prompt;              // shown on a terminal, on stderr
    const struct cli_editor *editor; // borrowed
    void *editing;                   // result of its open function; NULL: plain lines
    char buffer[4096];
    size_t begin, end; // bytes of the buffer that are left to take
    bool has_begun;    // a line was read
    bool is_at_end;
};

// Turns the echo of the terminal of standard input and error off, until cli_lines_show or a signal
// that ends the process.
void cli_lines_hush(void);
void cli_lines_show(void);

// editor: NULL for none. prompt and editor must outlive the lines.
void cli_lines_open(struct cli_lines *lines, const char *prompt, const struct cli_editor *editor);
void cli_lines_close(struct cli_lines *lines);
// Replaces *text by the next line, its end left out.
enum cli_line cli_lines_read(struct cli_lines *lines, struct cli_bytes *text);
// Appends a newline and the next line, of a text that goes on.
enum cli_line cli_lines_read_on(struct cli_lines *lines, struct cli_bytes *text);
// Adds a text to the history.
void cli_lines_remember(struct cli_lines *lines, const char *text);
