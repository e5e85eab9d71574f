#include "cli/chat/cli_libedit.h"

#include "cli/chat/cli_message.h"
#include "cli/common/cli_utf8.h"

#include <errno.h>
#include <histedit.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

enum { HISTORY_SIZE = 1000 };

struct libedit {
    EditLine *line;
    History *history;
    const char *prompt; // borrowed
    bool is_first, is_interrupted;
    char path[4096]; // of the history; "": kept for this run alone
};

//-- a terminal that keeps quiet -------------------------------------------------------------------

// Between lines the terminal does not echo, as what is typed would be shown in the middle of an
// answer; the next line begins with it. libedit restores the terminal when it is closed; signals
// that end or stop the program have to.
static struct termios terminal; // its state before
static const int numbers[] = {SIGHUP, SIGQUIT, SIGTERM, SIGTSTP};

// True unless this process is in the background.
static bool has_terminal(void)
{
    return tcgetpgrp(STDIN_FILENO) == getpgrp();
}

// Does what the signal does by itself, and goes on here if that was a stop.
static void yield_to(int number)
{
    struct sigaction action = {.sa_handler = SIG_DFL}, own;
    sigset_t set;
    sigemptyset(&action.sa_mask);
    sigemptyset(&set);
    sigaddset(&set, number);
    sigaction(number, &action, &own);
    raise(number);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    sigaction(number, &own, NULL);
}

static void hand_back(int number)
{
    struct termios quiet, now;
    const int saved = errno;
    const bool is_ours = has_terminal() && tcgetattr(STDIN_FILENO, &quiet) == 0;
    if (is_ours) {
        tcsetattr(STDIN_FILENO, TCSANOW, &terminal);
    }
    yield_to(number);
    // While a line is edited libedit has changed it by now.
    if (is_ours && has_terminal() && tcgetattr(STDIN_FILENO, &now) == 0 &&
        (now.c_lflag & ICANON) != 0) {
        tcsetattr(STDIN_FILENO, TCSANOW, &quiet);
    }
    errno = saved;
}

static void set_handlers(void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, old;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN) {
            sigaction(numbers[i], &action, NULL);
        }
    }
}

//-- set-up ----------------------------------------------------------------------------------------

static struct libedit *editor_of(EditLine *line)
{
    void *editor = NULL;
    el_get(line, EL_CLIENTDATA, &editor);
    return editor;
}

static char *show_prompt(EditLine *line)
{
    static char more[] = "| ";
    const struct libedit *editor = editor_of(line);
    return editor->is_first ? (char *)editor->prompt : more;
}

static unsigned char interrupt(EditLine *line, int key)
{
    (void)key;
    editor_of(line)->is_interrupted = true;
    fputs("^C", stderr);
    return CC_EOF;
}

// Ctrl-Z and Ctrl-\ are signals while a line is edited, too.
static unsigned char stop(EditLine *line, int key)
{
    (void)line, (void)key;
    raise(SIGTSTP);
    return CC_REDISPLAY;
}

static unsigned char quit(EditLine *line, int key)
{
    (void)line, (void)key;
    raise(SIGQUIT);
    return CC_REDISPLAY;
}

// Returns how many bytes the offers have in common.
static size_t count_common(const struct cli_offers *offers)
{
    const char *first = offers->words.data, *word = first;
    size_t common = strlen(first);
    for (size_t i = 1; i < offers->count; i++) {
        size_t n = 0;
        word += strlen(word) + 1;
        while (n < common && word[n] == first[n]) {
            n++;
        }
        common = n;
    }
    while (common > 0 && common < strlen(first) && cli_utf8_continues(first[common])) {
        common--; // to the beginning of a character
    }
    return common;
}

static void list_offers(const struct cli_offers *offers)
{
    const char *word = offers->words.data;
    const size_t n_columns = cli_columns(stderr);
    size_t column = 0;
    fputc('\n', stderr);
    for (size_t i = 0; i < offers->count; i++, word += strlen(word) + 1) {
        const size_t size = strlen(word);
        const bool is_full = n_columns > 0 && column + 2 + size > n_columns;
        const char *between = column == 0 ? "" : is_full ? "\n" : "  ";
        fprintf(stderr, "%s%s", between, word);
        column = is_full ? size : column + strlen(between) + size;
    }
    fputc('\n', stderr);
}

// Replaces the end of the line by the common beginning of its offers, or lists them.
static unsigned char complete(EditLine *line, int key)
{
    const LineInfo *typed = el_line(line);
    struct cli_offers offers = {0};
    struct cli_bytes text = {0};
    unsigned char result = CC_ERROR;
    (void)key;
    cli_bytes_append(&text, typed->buffer, (size_t)(typed->cursor - typed->buffer));
    if (cli_libedit_complete && strlen(text.data) == text.size) {
        cli_libedit_complete(text.data, &offers);
    }
    const size_t common = offers.count > 0 ? count_common(&offers) : 0;
    if (common > offers.n_typed) {
        char *added = offers.words.data + offers.n_typed;
        added[common - offers.n_typed] = 0;
        result = el_insertstr(line, added) == 0 ? CC_REFRESH : CC_ERROR;
    } else if (offers.count > 1) {
        list_offers(&offers);
        result = CC_REDISPLAY;
    }
    cli_bytes_finish(&text);
    cli_bytes_finish(&offers.words);
    return result;
}

static void set_up_line(struct libedit *editor)
{
    EditLine *line = editor->line;
    el_set(line, EL_CLIENTDATA, editor);
    el_set(line, EL_PROMPT, show_prompt);
    el_set(line, EL_EDITOR, "emacs");
    el_set(line, EL_SIGNAL, 1);
    el_set(line, EL_HIST, history, editor->history);
    el_set(line, EL_BIND, "^R", "em-inc-search-prev", NULL);
    el_source(line, NULL);
    // While a line is edited Ctrl-C is a key, so that what was typed is known, at all other times a
    // signal.
    el_set(line, EL_ADDFN, "chat-interrupt", "Drops the line", interrupt);
    el_set(line, EL_ADDFN, "chat-stop", "Stops the chat", stop);
    el_set(line, EL_ADDFN, "chat-quit", "Ends the chat", quit);
    el_set(line, EL_SETTY, "-d", "-isig", NULL);
    el_set(line, EL_ADDFN, "chat-complete", "Completes a word", complete);
    el_set(line, EL_BIND, "^I", "chat-complete", NULL);
    el_set(line, EL_BIND, "^Z", "chat-stop", NULL);
    el_set(line, EL_BIND, "^\\", "chat-quit", NULL);
    el_set(line, EL_SETTY, "-x", "-echo", NULL);
    el_set(line, EL_BIND, "^C", "chat-interrupt", NULL);
    el_set(line, EL_BIND, "^@", "em-delete-or-list", NULL); // a Ctrl-D that was typed before
}

static void close_editor(void *user)
{
    struct libedit *editor = user;
    if (editor->line) {
        el_end(editor->line);
        set_handlers(SIG_DFL);
    }
    if (editor->history) {
        history_end(editor->history);
    }
    free(editor);
}

// Puts the terminal back where the command ends in the middle of a chat.
static void restore_terminal(void)
{
    if (has_terminal()) {
        tcsetattr(STDIN_FILENO, TCSANOW, &terminal);
    }
}

static void *open_editor(const char *prompt)
{
    HistEvent event;
    struct libedit *editor =
        tcgetattr(STDIN_FILENO, &terminal) == 0 ? cli_alloc(1, sizeof(*editor)) : NULL;
    if (!editor) {
        return NULL;
    }
    setlocale(LC_CTYPE, "");
    if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0) {
        setlocale(LC_CTYPE, "C.UTF-8"); // text is UTF-8 whatever the locale says
    }
    editor->prompt = prompt;
    editor->line = el_init("glinfer", stdin, stderr, stderr);
    editor->history = history_init();
    if (!editor->line || !editor->history) {
        close_editor(editor);
        return NULL;
    }
    if (!cli_state_path("chat_history", editor->path, sizeof(editor->path))) {
        editor->path[0] = 0;
    }
    history(editor->history, &event, H_SETSIZE, HISTORY_SIZE);
    history(editor->history, &event, H_SETUNIQUE, 1);
    if (editor->path[0]) {
        history(editor->history, &event, H_LOAD, editor->path);
    }
    set_up_line(editor);
    set_handlers(hand_back);
    atexit(restore_terminal);
    return editor;
}

//-- lines -----------------------------------------------------------------------------------------

static enum cli_line read_line(void *user, bool is_first, struct cli_bytes *text)
{
    struct libedit *editor = user;
    int size = 0;
    editor->is_first = is_first;
    editor->is_interrupted = false;
    const char *line = el_gets(editor->line, &size);
    if (!line || size <= 0) {
        const LineInfo *typed = el_line(editor->line);
        fputc('\n', stderr);
        cli_bytes_append(text, typed->buffer, (size_t)(typed->lastchar - typed->buffer));
        return editor->is_interrupted || cli_is_interrupted() ? CLI_LINE_INTERRUPT : CLI_LINE_END;
    }
    size -= line[size - 1] == '\n';
    cli_bytes_append(text, line, (size_t)size);
    return CLI_LINE_TEXT;
}

static void remember(void *user, const char *text)
{
    struct libedit *editor = user;
    HistEvent event;
    history(editor->history, &event, H_ENTER, text);
    if (editor->path[0]) {
        history(editor->history, &event, H_SAVE, editor->path);
    }
}

cli_complete_fn cli_libedit_complete;
const struct cli_editor cli_libedit = {open_editor, close_editor, read_line, remember};
