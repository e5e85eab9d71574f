// JSON of structs and texts, and escapes of the command line.
#include "cli/common/cli_json.h"
#include "cli/run/cli_escapes.h"
#include "tests/unit/cmocka_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct record {
    bool is_small;
    uint32_t count;
    uint64_t size;
    double rate;
    const char *name;
    char text[8];
};

static void assert_printed(cJSON *value, const char *expected)
{
    char *text = cJSON_PrintUnformatted(value);
    assert_string_equal(text, expected);
    cJSON_free(text);
    cJSON_Delete(value);
}

TEST(json_has_fields_of_every_kind)
{
    const struct record record = {true, 7, UINT64_C(9007199254740993), 0.5, "a\"b", "c"};
    cJSON *object = cJSON_CreateObject();
    CLI_JSON_ADD(object, &record, CLI_JSON(record, is_small), CLI_JSON(record, count),
                 CLI_JSON_AS("bytes", record, size), CLI_JSON(record, rate), CLI_JSON(record, name),
                 CLI_JSON(record, text));
    assert_printed(object, "{\"is_small\":true,\"count\":7,\"bytes\":9007199254740993,"
                           "\"rate\":0.5,\"name\":\"a\\\"b\",\"text\":\"c\"}");
}

TEST(json_text_may_hold_any_byte)
{
    assert_printed(cli_json_text("a\0b\n\"\\\x7F", 7), "\"a\\u0000b\\n\\\"\\\\\\u007f\"");
    assert_printed(cli_json_text(NULL, 0), "\"\"");
}

TEST(json_has_no_infinite_numbers)
{
    cJSON *object = cJSON_CreateObject();
    cli_json_add_float(object, "x", -0.25F);
    cli_json_add_float(object, "y", -INFINITY);
    assert_printed(object, "{\"x\":-0.25,\"y\":null}");
}

TEST(escapes_are_read_and_others_stay)
{
    static const char text[] = "a\\n\\x41\\\\\\q\\x4\\";
    struct cli_bytes bytes = {0};
    cli_bytes_append(&bytes, text, strlen(text));
    cli_resolve_escapes(&bytes);
    assert_string_equal(bytes.data, "a\nA\\\\q\\x4\\");
    assert_int_equal(bytes.size, strlen(bytes.data));
    cli_bytes_finish(&bytes);
}

TEST(lists_grow)
{
    struct cli_ids ids = {0};
    for (int32_t i = 0; i < 1000; i++) {
        cli_ids_append(&ids, &i, 1);
    }
    *CLI_APPEND(&ids) = 1000;
    assert_int_equal(ids.count, 1001);
    for (int32_t i = 0; i <= 1000; i++) {
        assert_int_equal(ids.items[i], i);
    }
    free(ids.items);
}

RUN_TESTS(NULL, NULL)
