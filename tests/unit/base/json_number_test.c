#include "base/json_number.h"
#include "tests/unit/cmocka_test.h"

#include <stdio.h>

TEST(numbers_have_the_syntax_of_json)
{
    static const char *const right[] = {"0",   "-0",    "10",     "-1.50",
                                        "1e5", "1E+05", "0.1e-7", "123456789012345678901234567890"};
    static const char *const wrong[] = {"",    "-",  "01",    "-01", "1.",  ".5", "1e",
                                        "1e+", "+1", "1.2.3", "1-2", "0x1", "1 "};
    for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
        assert_true(gi_json_is_number(right[i], strlen(right[i])));
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_false(gi_json_is_number(wrong[i], strlen(wrong[i])));
    }
    assert_false(gi_json_is_number("1e5", 2));
}

// Joins the numbers that are found with spaces.
static void assert_found(const char *text, size_t size, const char *expected)
{
    char found[80] = "";
    const char *at = text;
    for (size_t n; (at = gi_json_find_number(at, text + size, &n)); at += n) {
        snprintf(found + strlen(found), sizeof(found) - strlen(found), "%.*s ", (int)n, at);
    }
    assert_string_equal(found, expected);
}

TEST(numbers_are_found_outside_strings)
{
    static const char *const texts[][2] = {
        {"", ""},
        {"[1, -2.5,3e4]", "1 -2.5 3e4 "},
        {"{\"a1\": 7, \"b\\\" 8\": [90]}", "7 90 "},
        {"[\"1\\\\\", 2]", "2 "},
        {"[1-2, 01]", "1-2 01 "},
        {"true\"3", ""},
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_found(texts[i][0], strlen(texts[i][0]), texts[i][1]);
    }
    assert_found("[12345", 4, "123 ");
    assert_found("\"\\", 2, "");
}

RUN_TESTS(NULL, NULL)
