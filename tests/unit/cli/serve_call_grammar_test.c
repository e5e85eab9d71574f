// The grammar of calls of tools.
#include "cli/serve/calls/serve_call_grammar.h"
#include "tests/unit/cli/call_language.h"
#include "tests/unit/cmocka_test.h"

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

// Checks if Gemma's grammar of a tool with these parameters allows the arguments.
static void expect_arguments(const char *parameters, const char *arguments, bool is_allowed)
{
    char text[256];
    struct call_language language;
    struct serve_task *task = make_grammar(&serve_styles[SERVE_STYLE_GEMMA], parameters);
    snprintf(text, sizeof(text), "<|tool_call>call:f{%s}<tool_call|>", arguments);
    call_language_open(&language, &task->grammar);
    if (call_language_has(&language, text) != is_allowed) {
        fail_msg("%s: %s", parameters, text);
    }
    call_language_close(&language);
    serve_task_unref(task);
}

TEST(dictionaries_have_values_by_schema)
{
#define Q SERVE_GEMMA_QUOTE
    static const char parameters[] =
        "{\"type\":\"object\",\"required\":[\"b\"],\"properties\":{\"b\":{\"type\":\"string\"},"
        "\"A\":{\"enum\":[\"x\",1]},\"c\":{\"type\":[\"object\",\"null\"],\"properties\":{\"d\":"
        "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}}},\"e\":{\"anyOf\":[{\"type\":"
        "\"integer\"},{\"$ref\":\"#\"}]}}}";
    static const struct {
        const char *arguments;
        bool is_allowed;
    } cases[] = {
        {"b:" Q "y" Q, true},
        {"A:" Q "x" Q ",b:" Q Q, true},
        {"A:1,b:" Q "<|" Q ",c:{d:[" Q "z" Q "]},e:-7", true},
        {"b:" Q "y" Q ",c:null,e:{k:[true,1.5e3]}", true},
        {"b:" Q "y" Q ",c:{}", true},
        {"", false},                    // "b" is required
        {"b:" Q "y" Q ",A:1", false},   // in the order of their names
        {"A:2,b:" Q "y" Q, false},      // a value that is not listed
        {"b:y", false},                 // a string without quotes
        {"b:" Q "y" Q ",c:[1]", false}, // another type
        {"b:" Q "y" Q ",c:{d:[1]}", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        expect_arguments(parameters, cases[i].arguments, cases[i].is_allowed);
    }
    expect_arguments("{\"properties\":{}}", "any:" Q "thing" Q, true);
    expect_arguments("{\"properties\":[1]}", "", true);
#undef Q
}

TEST(lists_in_dictionaries_have_their_numbers_of_items)
{
    static const struct {
        const char *schema, *allowed, *refused;
    } cases[] = {
        {"\"items\":{\"type\":\"null\"}", "a:[null,null,null]", "a:[1]"},
        {"\"items\":{\"type\":\"null\"},\"minItems\":2,\"maxItems\":2", "a:[null,null]",
         "a:[null]"},
        {"\"items\":{\"type\":\"null\"},\"minItems\":1", "a:[null,null]", "a:[]"},
        {"\"maxItems\":3", "a:[1,2,3]", "a:[1,2,3,4]"},
        {"\"maxItems\":0", "a:[]", "a:[1]"},
        {"\"minItems\":3,\"maxItems\":1", "a:[1,2,3,4]", "a:[1,2]"},
        {"\"maxItems\":9007199254740993", "a:[1,2,3,4]", "a:[1,]"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[256];
        snprintf(text, sizeof(text), "{\"properties\":{\"a\":{\"type\":\"array\",%s}}}",
                 cases[i].schema);
        expect_arguments(text, cases[i].allowed, true);
        expect_arguments(text, cases[i].refused, false);
    }
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
