// Which lines of a terminal are one message: those that arrive together, but not those that were typed ahead.
#include "cli/cli_lines.h"
#include "tests/unit/cmocka_test.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int terminal; // the far end of standard input

static int open_terminal(void **state)
{
    (void)state;
    terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0) {
        return 1;
    }
    const int near = open(ptsname(terminal), O_RDWR | O_NOCTTY);
    const bool ok = near >= 0 && dup2(near, STDIN_FILENO) == STDIN_FILENO;
    close(near);
    return ok ? 0 : 1;
}

static int close_terminal(void **state)
{
    (void)state;
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

static void lines_that_arrive_together_are_one(void **state)
{
    struct cli_lines lines;
    pthread_t typist;
    (void)state;
    cli_lines_open(&lines, "");
    assert_int_equal(pthread_create(&typist, NULL, type_later, "two\nlines\n"), 0);
    expect(&lines, "two\nlines");
    pthread_join(typist, NULL);
    cli_lines_close(&lines);
}

static void lines_that_were_typed_ahead_are_themselves(void **state)
{
    struct cli_lines lines;
    (void)state;
    cli_lines_open(&lines, "");
    type("one\n/two\n");
    expect(&lines, "one");
    expect(&lines, "/two");
    cli_lines_close(&lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_that_arrive_together_are_one),
        cmocka_unit_test(lines_that_were_typed_ahead_are_themselves),
    };
    return cmocka_run_group_tests(tests, open_terminal, close_terminal);
}
