// Thoughts told from answers, piece by piece.
#include "cli/common/cli_reasoning.h"
#include "tests/unit/cmocka_test.h"

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

static void expect_in_any_steps(int kind, const char *text, const char *expected)
{
    for (size_t step = 1; step < 40; step += step < 6 ? 1 : 7) {
        expect(kind, text, step, expected);
    }
}

TEST(marks_end_what_they_begin)
{
    expect_in_any_steps(CLI_REASONING_PLAIN, "<think>a < b</think>c", "(a < b)c");
    expect_in_any_steps(CLI_REASONING_PLAIN, "[THINK]a </think>[/THINK]c", "(a </think>)c");
    expect_in_any_steps(CLI_REASONING_PLAIN, "<seed:think>a</seed:think>c", "(a)c");
    expect_in_any_steps(CLI_REASONING_PLAIN, "a <thin [THIN", "a <thin [THIN");
    expect_in_any_steps(CLI_REASONING_OPEN, "a</think>c", "(a)c");
    expect_in_any_steps(CLI_REASONING_OPEN + 1, "a</think>[/THINK]c", "(a</think>)c");
}

TEST(thoughts_of_gemma_come_anywhere)
{
    const int kind = CLI_REASONING_THROUGHOUT;
    expect_in_any_steps(kind, "<|channel>thought\na<channel|>b", "(\na)b");
    expect_in_any_steps(kind, "b<|channel>thought\n<channel|>c<channel|>", "b(\n)c");
    expect_in_any_steps(kind, "<think>b", "<think>b");
    expect_in_any_steps(kind, "b<|channel>x", "b<|channel>x");
    expect_in_any_steps(CLI_REASONING_OPEN + 4, "a<channel|>b<|channel>thought\nc", "(a)b(\nc");
    expect_in_any_steps(CLI_REASONING_PLAIN, "<|channel>thought\na<channel|>b", "(\na)b");
}

TEST(channels_are_told_by_headers)
{
    const int kind = CLI_REASONING_CHANNELS;
    expect_in_any_steps(
        kind,
        "<|channel|>analysis<|message|>a < b<|end|><|start|>assistant<|channel|>final"
        "<|message|>c",
        "(a < b)c");
    expect_in_any_steps(kind, "<|channel|>final<|message|>c", "c");
    expect_in_any_steps(kind, "<|message|>c", "c");
    expect_in_any_steps(
        kind,
        "<|channel|>commentary<|message|>p<|end|><|start|>assistant<|channel|>commentary "
        "to=functions.f <|constrain|>json<|message|>{}",
        "pto=functions.f <|constrain|>json<|message|>{}");
    expect_in_any_steps(kind, " to=functions.f<|channel|>commentary json<|message|>{}",
                        "to=functions.f<|channel|>commentary json<|message|>{}");
    expect_in_any_steps(kind, "{\"a\": 1}", "{\"a\": 1}");
    expect_in_any_steps(kind, "<|channel|>anal", "");
    expect_in_any_steps(kind, "tomorrow", "tomorrow");
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
