// Which lines of a terminal are one message: those that arrive together, but not those that were
// typed ahead.
#include "cli/chat/cli_lines.h"
#include "tests/unit/cmocka_test.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#ifdef IS_EDITED
#include "cli/chat/cli_libedit.h"
static const struct cli_editor *const editor = &cli_libedit;
#else
static const struct cli_editor *const editor = NULL;
#endif

static int terminal; // the far end of standard input and error
static int errors;   // standard error before

static int open_terminal(void **state)
{
    (void)state;
    terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0) {
        return 1;
    }
    const int near = open(ptsname(terminal), O_RDWR | O_NOCTTY);
    errors = dup(STDERR_FILENO);
    const bool ok = near >= 0 && dup2(near, STDIN_FILENO) == STDIN_FILENO &&
                    dup2(near, STDERR_FILENO) == STDERR_FILENO;
    close(near);
    return ok ? 0 : 1;
}

static int close_terminal(void **state)
{
    (void)state;
    dup2(errors, STDERR_FILENO);
    close(errors);
    close(terminal);
    return 0;
}

static void type(const char *text)
{
    assert_int_equal(write(terminal, text, strlen(text)), strlen(text));
}

static void *type_later(void *text)
{
    const struct timespec while_reading = {.tv_nsec = 200000000};
    nanosleep(&while_reading, NULL);
    type(text);
    return NULL;
}

static void expect(struct cli_lines *lines, const char *wanted)
{
    struct cli_bytes text = {0};
    assert_int_equal(cli_lines_read(lines, &text), CLI_LINE_TEXT);
    assert_string_equal(text.data, wanted);
    cli_bytes_finish(&text);
}

TEST(lines_that_arrive_together_are_one)
{
    struct cli_lines lines;
    pthread_t typist;
    cli_lines_open(&lines, "", editor);
    assert_int_equal(pthread_create(&typist, NULL, type_later, "two\nlines\n"), 0);
    expect(&lines, "two\nlines");
    pthread_join(typist, NULL);
    cli_lines_close(&lines);
}

TEST(lines_that_were_typed_ahead_are_themselves)
{
    struct cli_lines lines;
    cli_lines_open(&lines, "", editor);
    type("one\n/two\n");
    expect(&lines, "one");
    expect(&lines, "/two");
    cli_lines_close(&lines);
}

TEST(an_end_that_was_typed_ahead_is_one)
{
    struct cli_lines lines;
    struct cli_bytes text = {0};
    cli_lines_open(&lines, "", editor);
    type("one\n\004");
    expect(&lines, "one");
    assert_int_equal(cli_lines_read(&lines, &text), CLI_LINE_END);
    cli_bytes_finish(&text);
    cli_lines_close(&lines);
}

TEST(a_byte_order_mark_is_not_text)
{
    static const char text[] = "\xEF\xBB\xBF/help\n\xEF\xBB\xBF";
    struct cli_lines lines;
    int ends[2];
    const int before = dup(STDIN_FILENO);
    assert_int_equal(pipe(ends), 0);
    dup2(ends[0], STDIN_FILENO);
    assert_int_equal(write(ends[1], text, strlen(text)), strlen(text));
    close(ends[0]);
    close(ends[1]);
    cli_lines_open(&lines, "", NULL);
    expect(&lines, "/help");
    expect(&lines, "\xEF\xBB\xBF"); // only the first one of a text is a mark
    cli_lines_close(&lines);
    dup2(before, STDIN_FILENO);
    close(before);
}

static bool has_echo(void)
{
    struct termios settings;
    assert_int_equal(tcgetattr(STDIN_FILENO, &settings), 0);
    return (settings.c_lflag & ECHO) != 0;
}

TEST(a_line_begins_with_what_was_typed_before_the_prompt)
{
    struct cli_lines lines;
    pthread_t typist;
    cli_lines_open(&lines, "", editor);
    type("one\nha");
    expect(&lines, "one");
    assert_int_equal(pthread_create(&typist, NULL, type_later, "lf\n"), 0);
    expect(&lines, "half");
    pthread_join(typist, NULL);
    cli_lines_close(&lines);
}

TEST(an_edited_terminal_is_quiet_between_lines)
{
    struct cli_lines lines;
    assert_true(has_echo());
    cli_lines_open(&lines, "", editor);
    const bool is_edited = lines.editor != NULL;
    type("one\n");
    expect(&lines, "one");
    assert_int_equal(has_echo(), !is_edited);
    cli_lines_close(&lines);
    assert_true(has_echo());
}

// The exit status tells what the terminal is like when the one who reads lines has been killed: 0
// as it was before.
static int kill_reader(int number)
{
    struct cli_lines lines;
    const pid_t reader = fork();
    if (reader == 0) {
        cli_lines_open(&lines, "", editor);
        type("one\n");
        expect(&lines, "one");
        raise(number);
        _exit(0);
    }
    int status = 0;
    const bool is_killed = reader > 0 && waitpid(reader, &status, 0) == reader &&
                           WIFSIGNALED(status) && WTERMSIG(status) == number;
    return is_killed && has_echo() ? 0 : 1;
}

// Tests a reader that is stopped and continued, in a process group that is not the shell's.
static int stop_reader(void)
{
    struct cli_lines lines;
    const pid_t reader = fork();
    if (reader == 0) {
        setpgid(0, 0);
        signal(SIGTTOU, SIG_IGN);
        tcsetpgrp(STDIN_FILENO, getpid());
        cli_lines_open(&lines, "", editor);
        type("one\n");
        expect(&lines, "one");
        raise(SIGTSTP);
        const bool is_quiet = !has_echo();
        _exit(is_quiet == (lines.editor != NULL) ? 0 : 1);
    }
    int status = 0;
    const bool is_stopped = reader > 0 && waitpid(reader, &status, WUNTRACED) == reader &&
                            WIFSTOPPED(status) && has_echo();
    return is_stopped && kill(reader, SIGCONT) == 0 && waitpid(reader, &status, 0) == reader &&
                   status == 0
               ? 0
               : 1;
}

TEST(a_signal_leaves_the_terminal_as_it_was)
{
    const pid_t session = fork(); // owns the terminal, which ends with it
    if (session == 0) {
        setsid();
        _exit(ioctl(STDIN_FILENO, TIOCSCTTY, 0) == 0 && kill_reader(SIGHUP) == 0 &&
                      kill_reader(SIGTERM) == 0 && stop_reader() == 0
                  ? 0
                  : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(session, &status, 0), session);
    assert_int_equal(status, 0);
}

RUN_TESTS(open_terminal, close_terminal)
