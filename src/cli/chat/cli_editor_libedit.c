#include "cli/chat/cli_editor.h"

#include <errno.h>
#include <histedit.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

enum { HISTORY_SIZE = 1000 };

struct cli_editor {
    EditLine *line;
    History *history;
    const char *prompt; // borrowed
    bool is_first, is_interrupted;
    char path[4096]; // of the history; "": kept for this run alone
};

//-- where the history lies ------------------------------------------------------------------------

static bool make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        const bool is_there = mkdir(path, 0700) == 0 || errno == EEXIST;
        *slash = '/';
        if (!is_there) {
            return false;
        }
    }
    return true;
}

static void choose_path(struct cli_editor *editor)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    const size_t size = sizeof(editor->path);
    int n = 0;
    if (state && state[0] == '/') {
        n = snprintf(editor->path, size, "%s/glinfer/chat_history", state);
    } else if (home && home[0] == '/') {
        n = snprintf(editor->path, size, "%s/.local/state/glinfer/chat_history", home);
    }
    if (n <= 0 || (size_t)n >= size || !make_folders(editor->path)) {
        editor->path[0] = 0;
    }
}

//-- a terminal that keeps quiet -------------------------------------------------------------------

// Between lines the terminal does not echo: what is typed into an answer would stand in its midst. It is not lost, the
// next line begins with it. libedit puts the terminal back when it is closed; signals that end the program or stop it
// have to.
static struct termios terminal; // as it was found
static const int numbers[] = {SIGHUP, SIGQUIT, SIGTERM, SIGTSTP};

// In the background it is another's.
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
    // In the midst of a line libedit has changed it by now.
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

static struct cli_editor *editor_of(EditLine *line)
{
    void *editor = NULL;
    el_get(line, EL_CLIENTDATA, &editor);
    return editor;
}

static char *show_prompt(EditLine *line)
{
    static char more[] = "| ";
    const struct cli_editor *editor = editor_of(line);
    return editor->is_first ? (char *)editor->prompt : more;
}

static unsigned char interrupt(EditLine *line, int key)
{
    (void)key;
    editor_of(line)->is_interrupted = true;
    fputs("^C", stderr);
    return CC_EOF;
}

// Text is UTF-8 whatever the locale says.
static void set_locale(void)
{
    setlocale(LC_CTYPE, "");
    if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0) {
        setlocale(LC_CTYPE, "C.UTF-8");
    }
}

static void set_up_line(struct cli_editor *editor)
{
    EditLine *line = editor->line;
    el_set(line, EL_CLIENTDATA, editor);
    el_set(line, EL_PROMPT, show_prompt);
    el_set(line, EL_EDITOR, "emacs");
    el_set(line, EL_SIGNAL, 1);
    el_set(line, EL_HIST, history, editor->history);
    el_set(line, EL_BIND, "^R", "em-inc-search-prev", NULL);
    el_source(line, NULL);
    // While a line is edited Ctrl-C is a key, at all other times a signal.
    el_set(line, EL_ADDFN, "chat-interrupt", "Drops the line", interrupt);
    el_set(line, EL_SETTY, "-d", "intr=", NULL);
    el_set(line, EL_SETTY, "-x", "-echo", NULL);
    el_set(line, EL_BIND, "^C", "chat-interrupt", NULL);
    el_set(line, EL_BIND, "^@", "em-delete-or-list", NULL); // what Ctrl-D is that was typed ahead
}

struct cli_editor *cli_editor_open(const char *prompt)
{
    HistEvent event;
    struct cli_editor *editor =
        tcgetattr(STDIN_FILENO, &terminal) == 0 ? calloc(1, sizeof(*editor)) : NULL;
    if (!editor) {
        return NULL;
    }
    set_locale();
    editor->prompt = prompt;
    editor->line = el_init("glinfer", stdin, stderr, stderr);
    editor->history = history_init();
    if (!editor->line || !editor->history) {
        cli_editor_close(editor);
        return NULL;
    }
    choose_path(editor);
    history(editor->history, &event, H_SETSIZE, HISTORY_SIZE);
    history(editor->history, &event, H_SETUNIQUE, 1);
    if (editor->path[0]) {
        history(editor->history, &event, H_LOAD, editor->path);
    }
    set_up_line(editor);
    set_handlers(hand_back);
    return editor;
}

void cli_editor_close(struct cli_editor *editor)
{
    if (!editor) {
        return;
    }
    if (editor->line) {
        el_end(editor->line);
        set_handlers(SIG_DFL);
    }
    if (editor->history) {
        history_end(editor->history);
    }
    free(editor);
}

//-- lines -----------------------------------------------------------------------------------------

enum cli_line cli_editor_read(struct cli_editor *editor, bool is_first, struct cli_bytes *text)
{
    int size = 0;
    editor->is_first = is_first;
    editor->is_interrupted = false;
    const char *line = el_gets(editor->line, &size);
    if (!line || size <= 0) {
        fputc('\n', stderr);
        return editor->is_interrupted || cli_is_interrupted() ? CLI_LINE_INTERRUPT : CLI_LINE_END;
    }
    size -= line[size - 1] == '\n';
    if (!cli_bytes_append(text, line, (size_t)size)) {
        cli_fail(0, "no memory for a line of %d bytes", size);
        return CLI_LINE_FAILED;
    }
    return CLI_LINE_TEXT;
}

void cli_editor_remember(struct cli_editor *editor, const char *text)
{
    HistEvent event;
    history(editor->history, &event, H_ENTER, text);
    if (editor->path[0]) {
        history(editor->history, &event, H_SAVE, editor->path);
    }
}
