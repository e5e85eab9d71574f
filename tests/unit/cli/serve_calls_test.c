// Calls of tools in what a model writes, and schemas of tools.
#include "cli/common/cli_memory.h"
#include "cli/serve/calls/serve_calls.h"
#include "cli/serve/calls/serve_styles.h"
#include "tests/unit/cli/call_language.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/data/case_file.h"

#include <stdio.h>
#include <stdlib.h>

TEST(text_is_shown_up_to_a_call)
{
    const struct serve_call_style *style = &serve_styles[SERVE_STYLE_TAGGED];
    static const struct {
        const char *text;
        size_t shown;
    } cases[] = {
        {"", 0},
        {"a < b", 5},
        {"a <", 2},
        {"a <tool_cal", 2},
        {"a <tool_cat", 11},
        {"a <tool_call>", 2},
        {"a <tool_call>{} more", 2},
        {"<<tool_call", 1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(serve_count_shown(style, cases[i].text, strlen(cases[i].text)),
                         cases[i].shown);
    }
}

TEST(half_a_call_is_found_at_the_end_of_a_cut_text)
{
    static const struct {
        const char *text;
        size_t found;
    } cases[] = {
        {"a < b", 5},          {"a <", 3},      {"a <tool_", 2}, {"<tool_", 0}, {"<", 0},
        {"a <tool_call>{", 2}, {"a <tool-", 8},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(serve_find_cut_call(&serve_styles[SERVE_STYLE_TAGGED], cases[i].text,
                                             strlen(cases[i].text)),
                         cases[i].found);
    }
}

#define WHOLE SIZE_MAX // all of the text

static const char tools_text[] =
    "[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{\"type\":\"object\","
    "\"properties\":{\"s\":{\"type\":\"string\"},\"n\":{\"type\":\"integer\"},\"o\":{\"anyOf\":["
    "{\"type\":\"string\"},{\"type\":\"null\"}]},\"r\":{\"$ref\":\"#/$defs/t\"},\"$ "
    "a\":{}},\"$defs\":{\"t\":{"
    "\"enum\":[\"1\",\"2\"]}}}}}]";

// Reads calls as "name arguments;" each.
static void expect_calls(const struct serve_call_style *style, const char *text,
                         const char *expected, size_t expected_shown)
{
    char found[512] = "";
    cJSON *tools = cJSON_Parse(tools_text);
    size_t used = 0;
    size_t shown = strlen(text);
    cJSON *list = serve_read_calls(style, tools, text, strlen(text), &shown);
    const cJSON *call;
    cJSON_ArrayForEach(call, list)
    {
        const cJSON *function = cJSON_GetObjectItem(call, "function");
        used += (size_t)snprintf(found + used, sizeof(found) - used, "%s%s;",
                                 cJSON_GetObjectItem(function, "name")->valuestring,
                                 cJSON_GetObjectItem(function, "arguments")->valuestring);
    }
    assert_string_equal(found, expected);
    assert_int_equal(shown, expected_shown == WHOLE ? strlen(text) : expected_shown);
    if (list) {
        call_expect_growth(style, tools, text + shown, list);
    }
    cJSON_Delete(list);
    cJSON_Delete(tools);
}

static const struct {
    const char *name;
    enum serve_style style;
} styles[] = {
    {"TAGGED", SERVE_STYLE_TAGGED},   {"PLAIN", SERVE_STYLE_PLAIN},
    {"LISTED", SERVE_STYLE_LISTED},   {"MISTRAL", SERVE_STYLE_MISTRAL},
    {"HARMONY", SERVE_STYLE_HARMONY}, {"QWEN", SERVE_STYLE_QWEN},
    {"SEED", SERVE_STYLE_SEED},       {"MINICPM", SERVE_STYLE_MINICPM},
    {"LFM2", SERVE_STYLE_LFM2},       {"OLMO3", SERVE_STYLE_OLMO3},
    {"GEMMA", SERVE_STYLE_GEMMA},     {"FUNCTION_GEMMA", SERVE_STYLE_FUNCTION_GEMMA},
};

static void check_calls(const char *const fields[])
{
    size_t i = 0;
    while (i < sizeof(styles) / sizeof(styles[0]) && strcmp(styles[i].name, fields[0]) != 0) {
        i++;
    }
    assert_true(i < sizeof(styles) / sizeof(styles[0]));
    const size_t shown = strcmp(fields[3], "whole") == 0 ? WHOLE : strtoul(fields[3], NULL, 10);
    expect_calls(&serve_styles[styles[i].style], fields[1], fields[2], shown);
}

TEST(calls_are_read)
{
    each_case("serve_calls.cases", "calls", check_calls);
}

TEST(names_of_tools_are_those_that_calls_are_read_with)
{
    char name[66];
    memset(name, 'a', sizeof(name));
    name[64] = 0;
    assert_true(serve_is_name(name));
    assert_true(serve_is_name("f_2-x.y"));
    name[64] = 'a';
    name[65] = 0;
    assert_false(serve_is_name(name));
    assert_false(serve_is_name(""));
    assert_false(serve_is_name("a/b"));
}

TEST(names_of_parameters_are_those_that_calls_are_read_with)
{
    static const struct {
        const char *name;
        bool is_tag, is_python, is_gemma; // may be a name of that form
    } cases[] = {
        {"a_b-c", true, true, true}, {"a b", true, true, true},  {"a=b", true, false, true},
        {"a>b", false, true, true},  {"a:b", true, true, false}, {"a}", true, true, false},
        {" a", true, false, false},  {")", true, false, true},   {"", true, false, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(serve_is_key(&serve_styles[SERVE_STYLE_QWEN], cases[i].name),
                         cases[i].is_tag);
        assert_int_equal(serve_is_key(&serve_styles[SERVE_STYLE_LFM2], cases[i].name),
                         cases[i].is_python);
        assert_int_equal(serve_is_key(&serve_styles[SERVE_STYLE_GEMMA], cases[i].name),
                         cases[i].is_gemma);
        assert_true(serve_is_key(&serve_styles[SERVE_STYLE_TAGGED], cases[i].name));
    }
    assert_true(serve_is_key(&serve_styles[SERVE_STYLE_MINICPM], "a>b"));
    assert_false(serve_is_key(&serve_styles[SERVE_STYLE_MINICPM], "a\">b"));
}

TEST(calls_are_written_as_they_are_read)
{
    static const struct {
        const struct serve_call_style *style;
        const char *text;
    } cases[] = {
        {&serve_styles[SERVE_STYLE_LFM2],
         "<|tool_call_start|>[f(s=\"a\", n=None), g(x=[True, {\"k\": 1}])]<|tool_call_end|>"},
        {&serve_styles[SERVE_STYLE_GRANITE],
         "<|tool_call|>[{\"name\":\"f\",\"arguments\":{\"s\":\"a\",\"n\":null}}, "
         "{\"name\":\"g\",\"arguments\":{\"x\":[true,{\"k\":1}]}}]"},
        {&serve_styles[SERVE_STYLE_TAGGED],
         "<tool_call>\n{\"name\":\"f\",\"arguments\":{\"s\":\"a\",\"n\":null}}\n"
         "</tool_call>\n<tool_call>\n{\"name\":\"g\",\"arguments\":{\"x\":[true,"
         "{\"k\":1}]}}\n</tool_call>"},
    };
    cJSON *calls =
        cJSON_Parse("[{\"function\":{\"name\":\"f\",\"arguments\":{\"s\":\"a\",\"n\":null}}},"
                    "{\"function\":{\"name\":\"g\",\"arguments\":{\"x\":[true,{\"k\":1}]}}}]");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cli_bytes text = {0};
        serve_write_calls(cases[i].style, calls, &text);
        assert_string_equal(text.data, cases[i].text);
        expect_calls(cases[i].style, text.data,
                     "f{\"s\":\"a\",\"n\":null};g{\"x\":[true,{\"k\":1}]};", 0);
        cli_bytes_finish(&text);
    }
    cJSON_Delete(calls);
}

TEST(arguments_that_are_no_object_have_no_names)
{
    struct cli_bytes text = {0};
    cJSON *calls = cJSON_Parse("[{\"function\":{\"name\":\"f\",\"arguments\":[1]}},"
                               "{\"function\":{\"name\":\"g\",\"arguments\":\"x\"}},{}]");
    serve_write_calls(&serve_styles[SERVE_STYLE_LFM2], calls, &text);
    assert_string_equal(text.data, "<|tool_call_start|>[f(), g(), ()]<|tool_call_end|>");
    cli_bytes_finish(&text);
    cJSON_Delete(calls);
}

TEST(control_tokens_of_calls_stand_within_fences)
{
    struct cli_bytes text = {0};
    serve_fence_marks(&serve_styles[SERVE_STYLE_LFM2], "~",
                      "<|tool_call_start|>[f()]<|tool_call_end|>", &text);
    serve_fence_marks(&serve_styles[SERVE_STYLE_GRANITE], "~", "<|tool_call|>[{}]", &text);
    assert_string_equal(text.data,
                        "~<|tool_call_start|>~[f()]~<|tool_call_end|>~~<|tool_call|>~[{}]");
    cli_bytes_finish(&text);
}

RUN_TESTS(NULL, NULL)
