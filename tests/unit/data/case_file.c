#include "tests/unit/data/case_file.h"

#include "tests/data/test_data.h"
#include "tests/unit/cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>

#define ARROW    " ⟶ "
#define LINE_END "⏎"
#define EMPTY    "∅"
#define OPEN     "⟨"
#define CLOSE    "⟩"

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

// Replaces the marks of a field by their bytes.
static void resolve(char *field)
{
    char *to = field;
    for (const char *from = field; *from;) {
        if (begins_with(from, LINE_END)) {
            *to++ = '\n';
            from += strlen(LINE_END);
        } else if (begins_with(from, OPEN)) {
            *to++ = (char)strtoul(from + strlen(OPEN), NULL, 16);
            from += strlen(OPEN) + 2 + strlen(CLOSE);
        } else if (begins_with(from, EMPTY)) {
            from += strlen(EMPTY);
        } else {
            *to++ = *from++;
        }
    }
    *to = 0;
}

static void check_line(char *line, case_fn *check)
{
    const char *fields[CASE_MAX_FIELDS] = {NULL};
    for (size_t n = 0; line; n++) {
        char *end = strstr(line, ARROW);
        if (end) {
            *end = 0;
        }
        assert_true(n < CASE_MAX_FIELDS);
        resolve(line);
        fields[n] = line;
        line = end ? end + strlen(ARROW) : NULL;
    }
    check(fields);
}

void each_case(const char *file, const char *kind, case_fn *check)
{
    static char line[16384];
    char path[64];
    bool is_wanted = false;
    size_t n = 0;
    snprintf(path, sizeof(path), "unit/data/%s", file);
    FILE *stream = fopen(test_data(path), "r");
    assert_non_null(stream);
    while (fgets(line, sizeof(line), stream)) {
        assert_non_null(strchr(line, '\n'));
        line[strcspn(line, "\n")] = 0;
        if (line[0] == '[' && strchr(line, ']') == line + strlen(line) - 1) {
            const size_t size = strcspn(line + 1, ":]");
            is_wanted = size == strlen(kind) && memcmp(line + 1, kind, size) == 0;
        } else if (is_wanted && line[0] && !begins_with(line, "# ")) {
            check_line(line, check);
            n++;
        }
    }
    fclose(stream);
    assert_true(n > 0);
}
