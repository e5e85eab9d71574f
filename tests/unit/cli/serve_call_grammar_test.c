// The grammar of calls of tools.
#include "cli/serve/calls/serve_call_grammar.h"
#include "tests/unit/cli/call_language.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/data/case_file.h"

#include <stdio.h>
#include <string.h>

static struct glinfer_error last_error;
static bool is_strict; // the tool

// Returns the task whose grammar is that of calls of tools with these parameters, NULL if it is
// refused. There is no vocabulary, so that marks are text.
static struct serve_task *make_grammar(const struct serve_call_style *style, const char *parameters)
{
    cJSON *tools = cJSON_Parse("[{\"function\":{\"name\":\"f\"}}]");
    cJSON *own = cJSON_Parse(parameters);
    assert_non_null(own);
    cJSON_AddItemToObject(cJSON_GetObjectItem(tools->child, "function"), "parameters", own);
    cJSON_AddBoolToObject(cJSON_GetObjectItem(tools->child, "function"), "strict", is_strict);
    const struct serve_call_rules rules = {.style = style, .tools = tools, .is_required = true};
    struct serve_task *task = serve_task_create(NULL);
    if (!serve_set_call_grammar(&rules, task, &last_error)) {
        serve_task_unref(task);
        task = NULL;
    }
    cJSON_Delete(tools);
    return task;
}

// One tool with a schema that a grammar cannot keep to does not lose the others, nor the rest of
// its own; a strict one is refused by its name.
TEST(an_odd_schema_does_not_affect_other_tools)
{
    static const char odd[] =
        "{\"type\":\"object\",\"properties\":{\"s\":{\"type\":\"string\",\"pattern\":\"^[0-9]{4}$"
        "\"},"
        "\"n\":{\"type\":\"integer\",\"minimum\":1e99999},\"r\":{\"$ref\":\"http://x/y\"}}}";
    struct serve_task *task = make_grammar(&serve_styles[SERVE_STYLE_TAGGED], odd);
    assert_non_null(task);
    assert_non_null(strstr(task->schemas.items[task->schemas.count - 1], "^[0-9]{4}$"));
    assert_true(glinfer_grammar_check(&task->grammar, NULL));
    serve_task_unref(task);
    is_strict = true;
    assert_null(make_grammar(&serve_styles[SERVE_STYLE_TAGGED], odd));
    is_strict = false;
    assert_says(last_error.message, "the tool \"f\": JSON schema, #/properties/n/minimum");
}

TEST(choices_that_need_escapes_are_left_to_json)
{
    struct serve_task *task = make_grammar(&serve_styles[SERVE_STYLE_LFM2],
                                           "{\"properties\":{\"a\":{\"type\":\"string\",\"enum\":["
                                           "\"x\",\"it's\",\"\\\\\",\"y\"]},\"b\":{\"type\":"
                                           "\"string\",\"enum\":[\"'\"]}}}");
    assert_non_null(strstr(task->grammar_text, "(json-2 | \"'x'\" | \"'y'\" )"));
    assert_non_null(strstr(task->grammar_text, "(json-3 )"));
    assert_true(glinfer_grammar_check(&task->grammar, NULL));
    serve_task_unref(task);
    task = make_grammar(&serve_styles[SERVE_STYLE_MINICPM],
                        "{\"properties\":{\"a\":{\"enum\":[\"x\",\"it's\"]}}}");
    assert_non_null(strstr(task->grammar_text, "(\"x\" | \"it's\" )"));
    assert_true(glinfer_grammar_check(&task->grammar, NULL));
    serve_task_unref(task);
}

TEST(parameters_whose_names_end_too_early_are_refused)
{
    static const char parameters[] = "{\"properties\":{\"a=b>c\":{\"type\":\"string\"}}}";
    assert_null(make_grammar(&serve_styles[SERVE_STYLE_QWEN], parameters));
    assert_null(make_grammar(&serve_styles[SERVE_STYLE_LFM2], parameters));
    serve_task_unref(make_grammar(&serve_styles[SERVE_STYLE_TAGGED], parameters));
}

// Checks if Gemma's grammar of a tool with these parameters allows arguments, with ~ between them.
static void expect_arguments(const char *parameters, const char *arguments, bool is_allowed)
{
    char text[256];
    struct call_language language;
    struct serve_task *task = make_grammar(&serve_styles[SERVE_STYLE_GEMMA], parameters);
    call_language_open(&language, &task->grammar);
    for (const char *end; arguments; arguments = *end ? end + 1 : NULL) {
        end = strchrnul(arguments, '~');
        snprintf(text, sizeof(text), "<|tool_call>call:f{%.*s}<tool_call|>", (int)(end - arguments),
                 arguments);
        if (call_language_has(&language, text) != is_allowed) {
            fail_msg("%s: %s", parameters, text);
        }
    }
    call_language_close(&language);
    serve_task_unref(task);
}

static void check_arguments(const char *const fields[])
{
    expect_arguments(fields[0], fields[1], true);
    expect_arguments(fields[0], fields[2], false);
}

TEST(dictionaries_have_values_by_schema)
{
    each_case("serve_call_grammar.cases", "arguments", check_arguments);
}

// Types that are listed often add their rules once, or lists in lists would multiply them.
TEST(types_that_are_listed_often_count_once)
{
    static const char open[] = "{\"type\":[\"array\",\"array\",5,\"object\",\"array\"],\"items\":";
    char text[2048] = "{\"properties\":{\"a\":";
    for (int i = 0; i < 9; i++) {
        strcat(text, open);
    }
    strcat(text, "{\"type\":[5]}");
    for (int i = 0; i < 9; i++) {
        strcat(text, "}");
    }
    strcat(text, "}}");
    struct serve_task *task = make_grammar(&serve_styles[SERVE_STYLE_GEMMA], text);
    assert_true(strlen(task->grammar_text) < 8192);
    assert_true(glinfer_grammar_check(&task->grammar, NULL));
    serve_task_unref(task);
}

// Names of a dictionary within a value are written bare as well.
TEST(names_in_values_are_checked_where_they_are_bare)
{
    static const char parameters[] = "{\"properties\":{\"o\":{\"type\":\"object\",\"properties\":"
                                     "{\"a:b\":{\"type\":\"string\"}}}}}";
    assert_null(make_grammar(&serve_styles[SERVE_STYLE_GEMMA], parameters));
    serve_task_unref(make_grammar(&serve_styles[SERVE_STYLE_QWEN], parameters));
}

static void append(struct cli_bytes *text, const char *more)
{
    cli_bytes_append(text, more, strlen(more));
}

// Appends parameters of n properties with the same schema, and a definition of `size`.
static void append_parameters(struct cli_bytes *text, int n, const char *property, int size)
{
    char piece[64];
    append(text, "{\"properties\":{");
    for (int i = 0; i < n; i++) {
        snprintf(piece, sizeof(piece), "%s\"p%d\":%s", i ? "," : "", i, property);
        append(text, piece);
    }
    append(text, "},\"$defs\":{\"d\":{\"properties\":{\"");
    for (int i = 0; i < size; i++) {
        append(text, "x");
    }
    append(text, "\":{}}}}}");
}

TEST(schemas_of_calls_are_bounded)
{
    static const char ref[] = "{\"$ref\":\"#/$defs/d\"}", none[] = "{\"type\":\"integer\"}";
    static const struct {
        int n;
        const char *property;
        int size;
        bool is_taken;
    } cases[] = {
        {1000, none, 100000, true}, // definitions that nothing refers to take no room
        {1000, ref, 100, true},     {1000, ref, 4200, false},
        {1, ref, 5 << 20, false},   {1001, none, 1, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cli_bytes text = {0};
        size_t size = 0;
        append_parameters(&text, cases[i].n, cases[i].property, cases[i].size);
        struct serve_task *task = make_grammar(&serve_styles[SERVE_STYLE_MINICPM], text.data);
        assert_int_equal(task != NULL, cases[i].is_taken);
        for (size_t k = 0; task && k < task->schemas.count; k++) {
            size += strlen(task->schemas.items[k]);
        }
        assert_in_range(size, 0, 1 << 20);
        serve_task_unref(task);
        cli_bytes_finish(&text);
    }
}

RUN_TESTS(NULL, NULL)
