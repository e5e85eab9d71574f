// Tests a terminal that answers, messages and the progress bar share.
#include "cli/common/cli_io.h"
#include "cli/flags/cli_text_file.h"
#include "tests/unit/temp_folder.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

static int terminal, own[2]; // the far end; what standard output and error were

static void lead(int output, int errors)
{
    fflush(stdout);
    assert_true(dup2(output, STDOUT_FILENO) >= 0 && dup2(errors, STDERR_FILENO) >= 0);
}

// Redirects standard output and error to a terminal if the flag is set, else to /dev/null.
static void enter(bool is_output, bool is_errors)
{
    terminal = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    const int near = open(ptsname(terminal), O_RDWR | O_NOCTTY), null = open("/dev/null", O_WRONLY);
    assert_true(near >= 0 && null >= 0);
    own[0] = dup(STDOUT_FILENO);
    own[1] = dup(STDERR_FILENO);
    lead(is_output ? near : null, is_errors ? near : null);
    close(near);
    close(null);
}

// Reads the bytes that the terminal received; it puts a return before each line's end.
static void leave(char *text, size_t size)
{
    size_t used = 0;
    struct pollfd input = {.fd = terminal, .events = POLLIN};
    fflush(stdout);
    while (used + 1 < size && poll(&input, 1, 100) > 0 && (input.revents & POLLIN) &&
           read(terminal, text + used, 1) == 1) {
        used++;
    }
    text[used] = '\0';
    lead(own[0], own[1]);
    close(own[0]);
    close(own[1]);
    close(terminal);
}

static void say(const char *text)
{
    assert_true(cli_write(text, strlen(text)));
}

TEST(messages_begin_a_line_on_the_terminal_of_a_text)
{
    const int verbosity = 1;
    char text[512];
    enter(true, true);
    say("Once");
    say(" upon");
    cli_log((void *)&verbosity, GLINFER_LOG_INFO, "a note");
    cli_log((void *)&verbosity, GLINFER_LOG_WARN, "a doubt");
    say(" a time");
    cli_fail(CLI_EXIT_FAILED, "an end");
    say("there was\n");
    cli_log((void *)&verbosity, GLINFER_LOG_INFO, "another");
    leave(text, sizeof(text));
    assert_string_equal(text, "Once upon\r\na note\r\nglinfer: warning: a doubt\r\n a time\r\n"
                              "glinfer: an end\r\nthere was\r\nanother\r\n");
}

TEST(messages_elsewhere_add_nothing_to_a_text)
{
    const int verbosity = 1;
    char text[512];
    enter(false, true);
    say("Once upon");
    cli_log((void *)&verbosity, GLINFER_LOG_INFO, "a note");
    leave(text, sizeof(text));
    assert_string_equal(text, "a note\r\n");
    enter(true, false);
    say(" a time");
    cli_log((void *)&verbosity, GLINFER_LOG_INFO, "a note");
    say("\n");
    leave(text, sizeof(text));
    assert_string_equal(text, " a time\r\n");
}

TEST(a_bar_makes_room_for_messages_and_leaves_texts_alone)
{
    const int verbosity = 1;
    struct cli_bar bar;
    char text[1024];
    enter(true, true);
    cli_bar_init(&bar);
    assert_true(cli_progress(&bar, GLINFER_PHASE_LOAD, 1, 2));
    cli_log((void *)&verbosity, GLINFER_LOG_INFO, "a note");
    say("Once upon");
    assert_true(cli_progress(&bar, GLINFER_PHASE_COMPILE, 1, 2));
    say(" a time\n");
    leave(text, sizeof(text));
    const char *note = strstr(text, "\r\033[Ka note\r\n");
    assert_non_null(note);
    assert_non_null(strstr(text, "loading"));
    assert_true(strstr(text, "loading") < note);
    assert_string_equal(note, "\r\033[Ka note\r\nOnce upon a time\r\n");
}

TEST(what_is_waited_for_comes_back_behind_progress)
{
    struct cli_bar bar;
    char text[1024];
    enter(true, true);
    cli_bar_init(&bar);
    cli_bar_wait(&bar, "measuring", false);
    assert_true(cli_progress(&bar, GLINFER_PHASE_TUNE, 1, 2));
    assert_true(cli_progress(&bar, GLINFER_PHASE_TUNE, 2, 2));
    cli_bar_clear(&bar);
    assert_true(cli_progress(&bar, GLINFER_PHASE_TUNE, 2, 2));
    leave(text, sizeof(text));
    const char *first = strstr(text, "\r\033[Kmeasuring...\r\033[K");
    assert_non_null(first);
    assert_non_null(strstr(first, " 50 %"));
    assert_string_equal(strstr(first, " 50 %"), " 50 %\r\033[Kmeasuring...\r\033[K");
}

TEST(levels_are_filtered)
{
    static const char *const wanted[] = {"glinfer: warning: level 1\r\n", "level 2\r\n",
                                         "level 2\r\nlevel 3\r\n"}; // a warning comes once
    for (int verbosity = 0; verbosity < 3; verbosity++) {
        char text[512], message[16];
        enter(false, true);
        for (int level = GLINFER_LOG_WARN; level <= GLINFER_LOG_DEBUG; level++) {
            snprintf(message, sizeof(message), "level %d", level);
            cli_log(&verbosity, (enum glinfer_log_level)level, message);
        }
        leave(text, sizeof(text));
        assert_string_equal(text, wanted[verbosity]);
    }
}

TEST(warnings_come_once_or_after_a_while)
{
    const int verbosity = 0;
    char text[512];
    enter(false, true);
    for (int i = 0; i < 3; i++) {
        cli_log((void *)&verbosity, GLINFER_LOG_WARN, "twice");
    }
    cli_repeat_warnings(0);
    cli_log((void *)&verbosity, GLINFER_LOG_WARN, "twice");
    cli_repeat_warnings(1000);
    cli_log((void *)&verbosity, GLINFER_LOG_WARN, "twice");
    leave(text, sizeof(text));
    assert_string_equal(text, "glinfer: warning: twice\r\nglinfer: warning: twice\r\n");
}

TEST(files_are_read_without_their_byte_order_mark)
{
    static const char *const cases[][2] = {
        {"\xEF\xBB\xBFhello", "hello"},
        {"\xEF\xBB\xBF", ""},
        {"\xEF\xBBhello", "\xEF\xBBhello"},
        {"a\xEF\xBB\xBF", "a\xEF\xBB\xBF"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *path = temp_path("text");
        char why[256];
        const char *text = NULL, *line = NULL;
        struct cli_bytes bytes;
        write_file(path, cases[i][0], strlen(cases[i][0]));
        assert_true(cli_read_all(path, &bytes));
        assert_true(cli_parse_text_file(path, &text, why, sizeof(why)));
        assert_true(cli_parse_line_file(path, &line, why, sizeof(why)));
        assert_int_equal(bytes.size, strlen(cases[i][1]));
        assert_memory_equal(bytes.data, cases[i][1], bytes.size);
        assert_string_equal(text, cases[i][1]);
        assert_string_equal(line, cases[i][1]);
        cli_bytes_finish(&bytes);
        free((char *)text);
        free((char *)line);
    }
}

RUN_TESTS(make_temp_folder, remove_temp_folder)
