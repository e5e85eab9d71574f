// JSON that is read: numbers keep their digits, and nothing else is taken for JSON.
#include "cli/common/cli_json_read.h"
#include "tests/unit/cmocka_test.h"

#include <stdio.h>
#include <string.h>

TEST(numbers_keep_their_digits)
{
    static const char *const numbers[] = {
        "0",
        "-0",
        "1.0",
        "1e5",
        "1E+400",
        "-2.50e-07",
        "0.30000000000000004",
        "9007199254740993",
        "123456789012345678",
        "-18446744073709551616",
        "1234567890123456789012345678901234567890123456789012345678901234567890123456789",
    };
    char text[256], expected[256];
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        snprintf(text, sizeof(text), " {\"a\\\"1\": [\"2\\\\\", %s , {\"b\":%s}], \"c\" :true}\n",
                 numbers[i], numbers[i]);
        snprintf(expected, sizeof(expected), "{\"a\\\"1\":[\"2\\\\\",%s,{\"b\":%s}],\"c\":true}",
                 numbers[i], numbers[i]);
        cJSON *json = cli_json_parse_all(text, strlen(text), NULL),
              *copy = cJSON_Duplicate(json, 1);
        char *printed = cJSON_PrintUnformatted(copy);
        assert_non_null(json);
        assert_string_equal(printed, expected);
        cJSON_free(printed);
        cJSON_Delete(copy);
        cJSON_Delete(json);
    }
}

TEST(integers_have_64_bits)
{
    static const struct {
        const char *text;
        bool is_whole;
        int64_t value;
    } cases[] = {
        {"9223372036854775807", true, INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN},
        {"9007199254740993", true, INT64_C(9007199254740993)},
        {"9223372036854775808", false, 0},
        {"1e3", true, 1000},
        {"7.0", true, 7},
        {"1.5", false, 0},
        {"1e300", false, 0},
        {"\"1\"", false, 0},
        {"true", false, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t value = 0;
        cJSON *json = cli_json_parse_all(cases[i].text, strlen(cases[i].text), NULL);
        assert_int_equal(cli_json_int(json, &value), cases[i].is_whole);
        assert_true(!cases[i].is_whole || value == cases[i].value);
        cJSON_Delete(json);
    }
}

TEST(invalid_json_is_refused_with_its_place)
{
    static const struct {
        const char *text;
        size_t end;
    } cases[] = {
        {"", 0},        {"{} junk", 3}, {"{}{}", 2}, {"{\"a\":1}}", 7}, {"[1] // one", 4},
        {"[01]", 1},    {"[1.]", 1},    {"[.5]", 1}, {"[1e]", 1},       {"[--1]", 1},
        {"[+1]", 1},    {"[1 2]", 3},   {"[1,]", 3}, {"[NaN]", 1},      {"{\"a\" 1}", 5},
        {"[1.2.3]", 1}, {"[0x10]", 2},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *end = NULL, *text = cases[i].text;
        assert_null(cli_json_parse_all(text, strlen(text), &end));
        assert_int_equal(end - text, cases[i].end);
    }
    const char *end = NULL, text[] = "{\"a\": 1} and 2";
    cJSON *json = cli_json_parse(text, strlen(text), &end);
    assert_non_null(json);
    assert_string_equal(end, " and 2");
    cJSON_Delete(json);
}

TEST(the_last_of_equal_names_counts)
{
    static const char text[] = "{\"a\":1,\"b\":{\"c\":2,\"\\u0063\":3,\"C\":4},\"a\":[5],\"a\":6}";
    cJSON *json = cli_json_parse_all(text, strlen(text), NULL);
    char *printed = cJSON_PrintUnformatted(json);
    assert_string_equal(printed, "{\"b\":{\"c\":3,\"C\":4},\"a\":6}");
    cJSON_free(printed);
    cJSON_Delete(json);
}

RUN_TESTS(NULL, NULL)
