// Lines of an answer end between words, in pieces of any size; code, tables and wide characters.
#include "cli/chat/cli_wrap.h"
#include "tests/unit/cmocka_test.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Writes a text in pieces and returns the output, which has to be freed.
static char *wrap(const char *text, size_t n_columns, size_t piece)
{
    struct cli_wrap state = {0};
    char *shown = calloc(1, 4096);
    FILE *file = tmpfile();
    fflush(stdout);
    const int saved = dup(STDOUT_FILENO);
    assert_true(shown && file && saved >= 0);
    assert_true(dup2(fileno(file), STDOUT_FILENO) >= 0);
    cli_wrap_begin(&state, n_columns);
    bool is_written = true;
    for (size_t at = 0; at < strlen(text); at += piece) {
        const size_t left = strlen(text) - at;
        is_written = cli_wrap_write(&state, text + at, left < piece ? left : piece) && is_written;
    }
    is_written = cli_wrap_flush(&state) && is_written;
    dup2(saved, STDOUT_FILENO);
    close(saved);
    cli_wrap_finish(&state);
    rewind(file);
    fread(shown, 1, 4095, file);
    fclose(file);
    assert_true(is_written);
    return shown;
}

TEST(lines_end_between_words)
{
    static const struct {
        size_t n_columns;
        const char *text, *shown;
    } cases[] = {
        {0, "a long line of words", "a long line of words"},
        {10, "", ""},
        {10, "short", "short"},
        {10, "two words and more", "two words\nand more"},
        {10, "ten chars. more", "ten chars.\nmore"},
        {10, "one\n\n  two words and", "one\n\n  two\nwords and"},
        {10, "0123456789abc de", "0123456789\nabc de"},
        {10, "a 0123456789abc", "a\n0123456789\nabc"},
        {10, "0123456789   \nnext", "0123456789\nnext"},
        {10, "caf\u00e9 na\u00efve x", "caf\u00e9 na\u00efve\nx"},
        {10, "\u4f60\u597d\u4e16\u754c\u4f60\u597d", "\u4f60\u597d\u4e16\u754c\u4f60\n\u597d"},
        {10, "a\n```c\nint a_long_line = 1;\n```\nwords again and",
         "a\n```c\nint a_long_line = 1;\n```\nwords\nagain and"},
        {10, "| a | table | row |\nwords again and", "| a | table | row |\nwords\nagain and"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (size_t piece = 1; piece < 20; piece += 3) {
            char *shown = wrap(cases[i].text, cases[i].n_columns, piece);
            assert_string_equal(shown, cases[i].shown);
            free(shown);
        }
    }
}

int main(void)
{
    setlocale(LC_CTYPE, "C.UTF-8");
    return run_listed(NULL, NULL, NULL, NULL);
}
