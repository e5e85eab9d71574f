// JSON that is read: numbers keep their digits, and nothing else is taken for JSON.
#include "cli/common/cli_json_read.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/data/case_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_digits(const char *const fields[])
{
    const char *number = fields[0];
    char text[256], expected[256];
    snprintf(text, sizeof(text), " {\"a\\\"1\": [\"2\\\\\", %s , {\"b\":%s}], \"c\" :true}\n",
             number, number);
    snprintf(expected, sizeof(expected), "{\"a\\\"1\":[\"2\\\\\",%s,{\"b\":%s}],\"c\":true}",
             number, number);
    cJSON *json = cli_json_parse_all(text, strlen(text), NULL), *copy = cJSON_Duplicate(json, 1);
    char *printed = cJSON_PrintUnformatted(copy);
    assert_non_null(json);
    assert_string_equal(printed, expected);
    cJSON_free(printed);
    cJSON_Delete(copy);
    cJSON_Delete(json);
}

TEST(numbers_keep_their_digits)
{
    each_case("cli_json_read.cases", "numbers", check_digits);
}

static void check_integer(const char *const fields[])
{
    const bool is_whole = strcmp(fields[1], "none") != 0;
    int64_t value = 0;
    cJSON *json = cli_json_parse_all(fields[0], strlen(fields[0]), NULL);
    assert_int_equal(cli_json_int(json, &value), is_whole);
    assert_true(!is_whole || value == strtoll(fields[1], NULL, 10));
    cJSON_Delete(json);
}

TEST(integers_have_64_bits)
{
    each_case("cli_json_read.cases", "integers", check_integer);
}

static void check_invalid(const char *const fields[])
{
    const char *end = NULL;
    assert_null(cli_json_parse_all(fields[0], strlen(fields[0]), &end));
    assert_int_equal(end - fields[0], strtol(fields[1], NULL, 10));
}

TEST(invalid_json_is_refused_with_its_place)
{
    const char *end = NULL, text[] = "{\"a\": 1} and 2";
    each_case("cli_json_read.cases", "invalid", check_invalid);
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
