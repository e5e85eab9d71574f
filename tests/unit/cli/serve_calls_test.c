// Calls of tools in what a model writes, and schemas of tools.
#include "cli/common/cli_memory.h"
#include "cli/serve/calls/serve_calls.h"
#include "cli/serve/calls/serve_styles.h"
#include "tests/unit/cmocka_test.h"

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

static const char *member_of(const cJSON *call, const char *name)
{
    return cJSON_GetObjectItem(cJSON_GetObjectItem(call, "function"), name)->valuestring;
}

// Calls that are read from a text that grows go on as it does, up to those of the whole text.
static void expect_growth(const struct serve_call_style *style, const cJSON *tools,
                          const char *text, size_t shown, const cJSON *whole)
{
    size_t before = 0;
    for (size_t size = shown; size <= strlen(text); size++) {
        char *part = strndup(text + shown, size - shown); // so that reads past its end are found
        cJSON *list = serve_read_begun_calls(style, tools, part, size - shown);
        const cJSON *call, *wanted = whole->child;
        size_t now = 0;
        cJSON_ArrayForEach(call, list)
        {
            const char *arguments = member_of(call, "arguments");
            assert_non_null(wanted);
            assert_string_equal(member_of(call, "name"), member_of(wanted, "name"));
            assert_memory_equal(arguments, member_of(wanted, "arguments"), strlen(arguments));
            now += 1 + strlen(arguments);
            wanted = wanted->next;
        }
        assert_true(now >= before);
        before = now;
        cJSON_Delete(list);
        free(part);
    }
    for (const cJSON *call = whole->child; call; call = call->next) {
        before -= 1 + strlen(member_of(call, "arguments"));
    }
    assert_int_equal(before, 0);
}

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
        expect_growth(style, tools, text, shown, list);
    }
    cJSON_Delete(list);
    cJSON_Delete(tools);
}

TEST(calls_are_read)
{
    const struct serve_call_style *tagged = &serve_styles[SERVE_STYLE_TAGGED],
                                  *plain = &serve_styles[SERVE_STYLE_PLAIN];
    expect_calls(tagged,
                 "hm <tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>",
                 "f{\"a\":1};", 3);
    expect_calls(tagged,
                 "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>\n<tool_call>\n"
                 "{\"name\":\"g\",\"arguments\":{}}",
                 "f{};g{};", 0);
    expect_calls(tagged, "<tool_call>\n{\"name\": \"f\", \"argu", "", WHOLE);
    expect_calls(tagged, "<tool_call>\n{\"name\": 1, \"arguments\": {}}", "", WHOLE);
    expect_calls(tagged, "no call", "", WHOLE);
    expect_calls(plain, "{\"name\": \"f\", \"parameters\": {\"a\": [1]}}", "f{\"a\":[1]};", 0);
    expect_calls(&serve_styles[SERVE_STYLE_LISTED],
                 "well [TOOL_CALLS] [{\"name\": \"f\", \"arguments\": {}}, {\"name\": \"g\", "
                 "\"arguments\": {\"a\": 1}, \"id\": \"x\"}]",
                 "f{};g{\"a\":1};", 5);
    expect_calls(&serve_styles[SERVE_STYLE_LISTED], "[TOOL_CALLS][{\"name\": \"f\", \"ar", "",
                 WHOLE);
    expect_calls(plain, "{\"names\": 1}", "", WHOLE);
}

TEST(arguments_keep_their_digits_and_come_in_pieces)
{
#define LONG_ID "12345678901234567890123"
    static const char wanted[] = "long_name{\"n\":" LONG_ID ",\"x\":[1.0,1e5],\"s\":\"a \\\"b\"};";
    static const char json[] = "{\"n\": " LONG_ID ", \"x\": [1.0, 1e5], \"s\": \"a \\\"b\"}";
    char text[256];
    snprintf(text, sizeof(text),
             "<tool_call>\n{\"name\": \"long_name\", \"arguments\": %s}\n</tool_call>", json);
    expect_calls(&serve_styles[SERVE_STYLE_TAGGED], text, wanted, 0);
    snprintf(text, sizeof(text), "{\"name\": \"long_name\", \"parameters\": %s}", json);
    expect_calls(&serve_styles[SERVE_STYLE_PLAIN], text, wanted, 0);
    snprintf(text, sizeof(text), "[TOOL_CALLS]long_name[ARGS]%s", json);
    expect_calls(&serve_styles[SERVE_STYLE_MISTRAL], text, wanted, 0);
    expect_calls(&serve_styles[SERVE_STYLE_QWEN],
                 "<tool_call>\n<function=long_name>\n<parameter=n>\n" LONG_ID
                 "\n</parameter>\n<parameter=x>\n[1.0, 1e5]\n</parameter>\n<parameter=s>\n"
                 "a \"b\n</parameter>\n</function>\n</tool_call>",
                 wanted, 0);
    expect_calls(&serve_styles[SERVE_STYLE_OLMO3],
                 "<function_calls>long_name(n=" LONG_ID
                 ", x=[1.0, 1e5], s='a \"b')</function_calls>",
                 wanted, 0);
    expect_calls(&serve_styles[SERVE_STYLE_GEMMA],
                 "<|tool_call>call:long_name{n:" LONG_ID
                 ",x:[1.0,1e5],s:<|\"|>a \"b<|\"|>}<tool_call|>",
                 wanted, 0);
}

TEST(names_before_arguments_are_read)
{
    const struct serve_call_style *mistral = &serve_styles[SERVE_STYLE_MISTRAL];
    expect_calls(mistral, "so [TOOL_CALLS]f[ARGS]{\"a\": 1}[TOOL_CALLS]g_2.x[ARGS] {}",
                 "f{\"a\":1};g_2.x{};", 3);
    expect_calls(mistral, "[TOOL_CALLS]f[CALL_ID]abcdefghi[ARGS]{}", "f{};", 0);
    expect_calls(mistral, "[TOOL_CALLS]f[ARGS]{\"a\": ", "", WHOLE);
    expect_calls(mistral, "[TOOL_CALLS]f{\"a\": 1}", "", WHOLE);
    const struct serve_call_style *harmony = &serve_styles[SERVE_STYLE_HARMONY];
    expect_calls(harmony, "to=functions.f <|constrain|>json<|message|>{\"a\": 1}", "f{\"a\":1};",
                 0);
    expect_calls(harmony, "to=functions.f<|channel|>commentary json<|message|>{}", "f{};", 0);
}

TEST(tags_are_read)
{
    const struct serve_call_style *qwen = &serve_styles[SERVE_STYLE_QWEN];
    expect_calls(
        qwen,
        "ok\n<tool_call>\n<function=f>\n<parameter=s>\n12\n</parameter>\n<parameter=n>\n12\n"
        "</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=g>\n</function>\n"
        "</tool_call>",
        "f{\"s\":\"12\",\"n\":12};g{};", 3);
    expect_calls(
        qwen,
        "<function=f>\n<parameter=s>\n\n a </b>\n\n</parameter>\n<parameter=r>\n1\n</parameter>"
        "\n<parameter=o>\n[1]\n</parameter>\n<parameter=x>\n[True, 'a']\n</parameter>\n"
        "</function>\n</tool_call>",
        "f{\"s\":\"\\n a </b>\\n\",\"r\":\"1\",\"o\":\"[1]\",\"x\":[true,\"a\"]};", 0);
    expect_calls(
        qwen,
        "<function=f>\n<parameter=u>\n\"a\"\n</parameter>\n<parameter=v>\n'b'\n</parameter>"
        "\n<parameter=w>\n\"c</parameter>d\"\n</parameter>\n</function>\n</tool_call>",
        "f{\"u\":\"a\",\"v\":\"b\",\"w\":\"c</parameter>d\"};", 0);
    expect_calls(qwen, "<tool_call>\n<function=f>\n<parameter=s>\n12", "", WHOLE);
    expect_calls(&serve_styles[SERVE_STYLE_SEED],
                 "<seed:tool_call>\n<function=f>\n<parameter=s>a\nb</parameter>\n</function>\n"
                 "</seed:tool_call>",
                 "f{\"s\":\"a\\nb\"};", 0);
    expect_calls(&serve_styles[SERVE_STYLE_MINICPM],
                 "<function name=\"f\"><param name=\"s\"><![CDATA[a < b]]></param><param "
                 "name=\"n\">7</param></function>",
                 "f{\"s\":\"a < b\",\"n\":7};", 0);
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

TEST(python_is_read)
{
    const struct serve_call_style *lfm2 = &serve_styles[SERVE_STYLE_LFM2];
    expect_calls(
        lfm2,
        "<|tool_call_start|>[f(s=\"a\", n=1, o=None), g(x=[True, 'it's', (1,)], y={'k': "
        "-1.5})]<|tool_call_end|>",
        "f{\"s\":\"a\",\"n\":1,\"o\":null};g{\"x\":[true,\"it's\",[1]],\"y\":{\"k\":-1.5}};", 0);
    expect_calls(lfm2, "<|tool_call_start|>[f(s='\\u00e9\\n\\q')]", "f{\"s\":\"é\\n\\\\q\"};", 0);
    expect_calls(lfm2, "<|tool_call_start|>[f(s='\\ud83d\\ude00\\U0001F600\\x41')]",
                 "f{\"s\":\"😀😀A\"};", 0);
    expect_calls(lfm2, "<|tool_call_start|>[f(s='\\u +41\\x-1\\ud83dz')]",
                 "f{\"s\":\"\\\\u +41\\\\x-1\\\\ud83dz\"};", 0);
    expect_calls(lfm2, "<|tool_call_start|>[f(s=\"a", "", WHOLE);
    expect_calls(lfm2, "<|tool_call_start|>[f($ a=1, x = 2)]", "f{\"$ a\":1,\"x\":2};", 0);
    expect_calls(lfm2, "<|tool_call_start|>[f(\"a\", x=2)]", "", WHOLE);
    expect_calls(lfm2, "<|tool_call_start|>[f(\"a\")]", "", WHOLE);
    expect_calls(&serve_styles[SERVE_STYLE_OLMO3],
                 "<function_calls>f(s=\"a\")\ng()</function_calls>", "f{\"s\":\"a\"};g{};", 0);
}

TEST(dictionaries_are_read)
{
    const struct serve_call_style *gemma = &serve_styles[SERVE_STYLE_GEMMA];
    expect_calls(gemma,
                 "so <|tool_call>call:f{s:<|\"|>a \"b\", {c}\n<|\"|>,n:-1.5e3,o:null}<tool_call|>"
                 "<|tool_call>call:g{}<tool_call|>",
                 "f{\"s\":\"a \\\"b\\\", {c}\\n\",\"n\":-1.5e3,\"o\":null};g{};", 3);
    expect_calls(gemma,
                 "<|tool_call>call:f{x:{theme:<|\"|>dark<|\"|>,k:[true, <|\"|><|\"|>,[]], "
                 "<|\"|>q: r<|\"|>:{}}}",
                 "f{\"x\":{\"theme\":\"dark\",\"k\":[true,\"\",[]],\"q: r\":{}}};", 0);
    expect_calls(gemma, "<|tool_call>call:f{s:Rome, the city}", "", WHOLE);
    expect_calls(gemma, "<|tool_call>call:f{s: Rome }", "f{\"s\":\"Rome\"};", 0);
    expect_calls(gemma, "<|tool_call>call:f{s:<|\"|>a", "", WHOLE);
    expect_calls(gemma, "<|tool_call>call:f{s:}", "", WHOLE);
    expect_calls(gemma, "<|tool_call>f{}", "", WHOLE);
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

TEST(the_first_of_arguments_of_a_name_counts)
{
    expect_calls(&serve_styles[SERVE_STYLE_LFM2],
                 "<|tool_call_start|>[f(n=1, s={'k': 1, 'k': 2}, n=22)]",
                 "f{\"n\":1,\"s\":{\"k\":2}};", 0);
    expect_calls(&serve_styles[SERVE_STYLE_MINICPM],
                 "<function name=\"f\"><param name=\"n\">1</param><param name=\"n\">22</param>"
                 "<param name=\"s\">a</param><param name=\"s\">bcd</param></function>",
                 "f{\"n\":1,\"s\":\"a\"};", 0);
    expect_calls(&serve_styles[SERVE_STYLE_GEMMA], "<|tool_call>call:f{n:1,n:22,m:3}<tool_call|>",
                 "f{\"n\":1,\"m\":3};", 0);
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
