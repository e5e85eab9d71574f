#include "cli/chat/cli_lines.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

// The next line of a pasted text arrives within this time.
enum { PASTE_MS = 30 };

void cli_lines_open(struct cli_lines *lines, const char *prompt, const struct cli_editor *editor)
{
    memset(lines, 0, sizeof(*lines));
    lines->prompt = prompt;
    lines->is_terminal = isatty(STDIN_FILENO) != 0;
    if (editor && lines->is_terminal && isatty(STDERR_FILENO)) { // where it shows what is typed
        lines->editor = editor;
        lines->editing = editor->open(prompt);
    }
}

void cli_lines_close(struct cli_lines *lines)
{
    if (lines->editing) {
        lines->editor->close(lines->editing);
        lines->editing = NULL;
    }
}

void cli_lines_remember(struct cli_lines *lines, const char *text)
{
    if (lines->editing) {
        lines->editor->remember(lines->editing, text);
    }
}

//-- early keys ------------------------------------------------------------------------------------

static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
#define N_SIGNALS (sizeof(signals) / sizeof(signals[0]))

static struct termios shown;
static struct sigaction handlers[N_SIGNALS]; // before
static volatile sig_atomic_t is_hushed;

void cli_lines_show(void)
{
    if (is_hushed) {
        is_hushed = false;
        tcsetattr(STDIN_FILENO, TCSANOW, &shown);
        for (size_t i = 0; i < N_SIGNALS; i++) {
            sigaction(signals[i], &handlers[i], NULL);
        }
    }
}

// Hands a signal to whoever had it before.
static void show_and_raise(int number)
{
    cli_lines_show();
    raise(number);
}

void cli_lines_hush(void)
{
    struct sigaction action = {.sa_handler = show_and_raise};
    sigemptyset(&action.sa_mask);
    if (is_hushed || !isatty(STDIN_FILENO) || !isatty(STDERR_FILENO) ||
        tcgetpgrp(STDIN_FILENO) != getpgrp() || tcgetattr(STDIN_FILENO, &shown) != 0) {
        return;
    }
    struct termios hushed = shown;
    hushed.c_lflag &= ~(tcflag_t)ECHO;
    is_hushed = true;
    for (size_t i = 0; i < N_SIGNALS; i++) {
        sigaction(signals[i], &action, &handlers[i]);
    }
    tcsetattr(STDIN_FILENO, TCSANOW, &hushed);
}

//-- plain lines -----------------------------------------------------------------------------------

// Reads into the buffer, which is empty.
static enum cli_line fill_buffer(struct cli_lines *lines)
{
    const ssize_t size = read(STDIN_FILENO, lines->buffer, sizeof(lines->buffer));
    if (size < 0 && errno == EINTR && cli_is_interrupted()) {
        return CLI_LINE_INTERRUPT;
    }
    if (size < 0 && errno != EINTR) {
        cli_say("cannot read standard input: %s", strerror(errno));
        return CLI_LINE_FAILED;
    }
    lines->begin = 0;
    lines->end = size > 0 ? (size_t)size : 0;
    lines->is_at_end = size == 0;
    return CLI_LINE_TEXT;
}

// Moves bytes up to the line's end; true once that was there.
static bool take_bytes(struct cli_lines *lines, struct cli_bytes *text)
{
    const char *start = lines->buffer + lines->begin;
    const size_t left = lines->end - lines->begin;
    const char *newline = memchr(start, '\n', left);
    const size_t size = newline ? (size_t)(newline - start) : left;
    cli_bytes_append(text, start, size);
    lines->begin += size + (newline != NULL);
    return newline != NULL;
}

static enum cli_line read_plain(struct cli_lines *lines, struct cli_bytes *text)
{
    const size_t before = text->size;
    const bool is_first = !lines->has_begun;
    lines->has_begun = true;
    while (lines->begin == lines->end || !take_bytes(lines, text)) {
        if (cli_is_too_long(text, "a line")) {
            return CLI_LINE_FAILED;
        }
        if (lines->begin < lines->end) {
            continue;
        }
        const enum cli_line result = lines->is_at_end ? CLI_LINE_TEXT : fill_buffer(lines);
        if (result != CLI_LINE_TEXT) {
            return result;
        }
        if (lines->is_at_end) {
            lines->is_at_end = !lines->is_terminal; // Ctrl-D ends a line there, not all of them
            if (text->size == before) {
                return CLI_LINE_END;
            }
            break;
        }
    }
    if (text->size > before && text->data[text->size - 1] == '\r') {
        text->data[--text->size] = 0;
    }
    if (is_first) {
        cli_bytes_skip_mark(text);
    }
    return CLI_LINE_TEXT;
}

//-- either way ------------------------------------------------------------------------------------

static enum cli_line read_line(struct cli_lines *lines, bool is_first, struct cli_bytes *text)
{
    if (lines->editing) {
        return lines->editor->read(lines->editing, is_first, text);
    }
    if (lines->is_terminal && is_first) {
        fputs(lines->prompt, stderr);
    }
    const enum cli_line result = read_plain(lines, text);
    if (lines->is_terminal && result != CLI_LINE_TEXT) {
        fputc('\n', stderr);
    }
    return result;
}

static bool has_more(const struct cli_lines *lines, int wait_ms)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    return lines->begin < lines->end || poll(&input, 1, wait_ms) > 0;
}

// Reads a line, and those of a terminal that arrive together with it. Lines that were typed before
// there was a prompt are messages of their own. A terminal hands over whole lines then.
static enum cli_line read_together(struct cli_lines *lines, bool is_first, struct cli_bytes *text)
{
    const bool is_early = has_more(lines, 0);
    enum cli_line result = read_line(lines, is_first, text);
    while (result == CLI_LINE_TEXT && lines->is_terminal && !is_early &&
           has_more(lines, PASTE_MS)) {
        cli_bytes_append(text, "\n", 1);
        result = read_line(lines, false, text);
        if (result == CLI_LINE_END) {
            return CLI_LINE_TEXT;
        }
    }
    return result;
}

enum cli_line cli_lines_read(struct cli_lines *lines, struct cli_bytes *text)
{
    text->size = 0;
    cli_bytes_append(text, "", 0);
    return read_together(lines, true, text);
}

enum cli_line cli_lines_read_on(struct cli_lines *lines, struct cli_bytes *text)
{
    cli_bytes_append(text, "\n", 1);
    if (lines->is_terminal && !lines->editing) {
        fputs("| ", stderr);
    }
    return read_together(lines, false, text);
}
