// Thoughts told from answers, piece by piece.
#include "cli/common/cli_reasoning.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/data/case_file.h"

#include <stdio.h>
#include <string.h>

// Reads an answer in steps of `step` bytes; thoughts are in parentheses.
static void expect(int kind, const char *text, size_t step, const char *expected)
{
    struct cli_reasoning reasoning = {0};
    struct cli_bytes found = {0};
    bool is_thought = false;
    cli_reasoning_begin(&reasoning, kind);
    for (size_t at = 0, size = strlen(text); at <= size; at += step) {
        const bool is_last = at + step > size;
        struct cli_piece piece;
        cli_reasoning_append(&reasoning, text + at, is_last ? size - at : step);
        for (bool is_more = true; is_more;) {
            is_more = cli_reasoning_next(&reasoning, &piece);
            if (!is_more && is_last) {
                piece = cli_reasoning_rest(&reasoning);
            } else if (!is_more) {
                break;
            }
            if (piece.is_mark || piece.size == 0) {
                continue;
            }
            if (piece.is_thought != is_thought) {
                cli_bytes_append(&found, piece.is_thought ? "(" : ")", 1);
                is_thought = piece.is_thought;
            }
            cli_bytes_append(&found, piece.text, piece.size);
        }
    }
    assert_string_equal(found.data ? found.data : "", expected);
    cli_bytes_finish(&found);
    cli_reasoning_finish(&reasoning);
}

static void check_thoughts(const char *const fields[])
{
    int kind = CLI_REASONING_PLAIN, mark;
    if (sscanf(fields[0], "open %d", &mark) == 1) {
        kind = CLI_REASONING_OPEN + mark;
    } else if (strcmp(fields[0], "channels") == 0) {
        kind = CLI_REASONING_CHANNELS;
    } else if (strcmp(fields[0], "throughout") == 0) {
        kind = CLI_REASONING_THROUGHOUT;
    }
    for (size_t step = 1; step < 40; step += step < 6 ? 1 : 7) {
        expect(kind, fields[1], step, fields[2]);
    }
}

TEST(thoughts_are_told_from_answers)
{
    each_case("cli_reasoning.cases", "thoughts", check_thoughts);
}

TEST(a_header_that_does_not_end_is_text)
{
    char text[400] = "<|start|>", with_space[401];
    memset(text + 9, 'x', sizeof(text) - 10);
    text[sizeof(text) - 1] = 0;
    with_space[0] = ' ';
    memcpy(with_space + 1, text, sizeof(text));
    expect(CLI_REASONING_CHANNELS, text, sizeof(text), text);
    expect(CLI_REASONING_CHANNELS, with_space, sizeof(with_space), with_space);
}

TEST(an_answer_is_left_without_its_thoughts)
{
    struct cli_bytes content = {0};
    static const char text[] = "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>"
                               "final<|message|>c";
    cli_reasoning_strip(CLI_REASONING_CHANNELS, text, strlen(text), &content);
    assert_string_equal(content.data, "c");
    cli_bytes_finish(&content);
}

RUN_TESTS(NULL, NULL)
