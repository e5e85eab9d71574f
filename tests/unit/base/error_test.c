#include "base/error.h"
#include "base/log.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/data/case_file.h"

#include <stdio.h>

TEST(error_set_fills_status_and_sentence)
{
    struct glinfer_error err;
    assert_false(gi_error_set(&err, GLINFER_STATUS_IO, "%s: byte %d", "a.gguf", 7));
    assert_int_equal(err.status, GLINFER_STATUS_IO);
    assert_string_equal(err.message, "a.gguf: byte 7");
}

TEST(error_set_accepts_null)
{
    assert_false(gi_error_set(NULL, GLINFER_STATUS_IO, "%s", "nobody listens"));
    assert_false(gi_error_no_memory(NULL, 1, "nobody"));
}

TEST(error_set_takes_arguments_from_itself)
{
    struct glinfer_error err;
    gi_error_set(&err, GLINFER_STATUS_IO, "inner");
    gi_error_set(&err, GLINFER_STATUS_DRIVER, "outer: %s", err.message);
    assert_string_equal(err.message, "outer: inner");
}

TEST(error_set_cuts_at_a_character)
{
    struct glinfer_error err;
    char text[2000];
    for (size_t pad = 0; pad < 3; pad++) {
        memset(text, 'x', pad);
        for (size_t i = pad; i + 3 < sizeof(text); i += 3) {
            memcpy(text + i, "\xE2\x82\xAC", 4); // the euro sign, 3 bytes
        }
        gi_error_set(&err, GLINFER_STATUS_IO, "%s", text);
        size_t size = strlen(err.message);
        assert_in_range(size, sizeof(err.message) - 3, sizeof(err.message) - 1);
        assert_int_equal((size - pad) % 3, 0);
        assert_memory_equal(err.message, text, size);
    }
}

static void check_message(const char *const fields[])
{
    struct glinfer_error err;
    gi_error_set(&err, GLINFER_STATUS_IO, "%s", fields[0]);
    assert_string_equal(err.message, fields[1]);
}

TEST(error_set_keeps_the_terminal_safe)
{
    each_case("error.cases", "messages", check_message);
}

TEST(error_message_is_never_empty)
{
    struct glinfer_error err;
    gi_error_set(&err, GLINFER_STATUS_NO_DEVICE, "%s", "");
    assert_string_equal(err.message, glinfer_status_text(GLINFER_STATUS_NO_DEVICE));
}

TEST(error_no_memory_names_size_and_purpose)
{
    struct glinfer_error err;
    gi_error_no_memory(&err, 12345, "the moon");
    assert_int_equal(err.status, GLINFER_STATUS_NO_MEMORY);
    assert_says(err.message, "12345");
    assert_says(err.message, "the moon");
}

TEST(status_text_knows_all_and_survives_others)
{
    assert_string_equal(glinfer_status_text(GLINFER_STATUS_OK), "success");
    assert_string_equal(glinfer_status_text(GLINFER_STATUS_GPU_LOST),
                        "the GPU was reset or has gone");
    assert_string_equal(glinfer_status_text((enum glinfer_status)(-99)), "unknown status");
}

struct lines {
    int count;
    enum glinfer_log_level level;
    char last[64];
};

static void keep_line(void *user, enum glinfer_log_level level, const char *message)
{
    struct lines *lines = user;
    lines->count++;
    lines->level = level;
    snprintf(lines->last, sizeof(lines->last), "%s", message);
}

TEST(log_write_gives_one_line_a_call)
{
    struct lines lines = {0};
    struct gi_log log = {keep_line, &lines};
    gi_log_write(&log, GLINFER_LOG_WARN, "one\n%s\n\n", "two");
    assert_int_equal(lines.count, 2);
    assert_int_equal(lines.level, GLINFER_LOG_WARN);
    assert_string_equal(lines.last, "two");
}

TEST(log_write_accepts_silence)
{
    struct gi_log log = {0};
    gi_log_write(NULL, GLINFER_LOG_ERROR, "nobody");
    gi_log_write(&log, GLINFER_LOG_ERROR, "nobody");
}

RUN_TESTS(NULL, NULL)
