// Lines of an answer end between words, in pieces of any size; code, tables and wide characters.
#include "cli/chat/cli_wrap.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/data/case_file.h"

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

static void check_lines(const char *const fields[])
{
    for (size_t piece = 1; piece < 20; piece += 3) {
        char *shown = wrap(fields[1], strtoul(fields[0], NULL, 10), piece);
        assert_string_equal(shown, fields[2]);
        free(shown);
    }
}

TEST(lines_end_between_words)
{
    each_case("cli_wrap.cases", "lines", check_lines);
}

int main(void)
{
    setlocale(LC_CTYPE, "C.UTF-8");
    return run_listed(NULL, NULL, NULL, NULL);
}
