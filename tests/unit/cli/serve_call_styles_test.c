// One description of a style yields its grammar, its reader and its writer: a call that the grammar
// allows is the call that is read, whole and as its text grows.
#include "cli/common/cli_json.h"
#include "cli/common/cli_json_read.h"
#include "cli/serve/calls/serve_call_grammar.h"
#include "cli/serve/calls/serve_calls.h"
#include "cli/serve/calls/serve_styles.h"
#include "tests/unit/cli/call_language.h"
#include "tests/unit/cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_TEXT = 1 << 16, N_WALKS = 4 };

// Returns the calls of a text, all of which the grammar allows; also checks them as the text grows.
static cJSON *read_all(const struct serve_call_style *style, const cJSON *tools, const char *text)
{
    size_t shown = 0;
    const char *begin =
        strncmp(text, " ", style->lead != NULL) == 0 ? text + (style->lead != NULL) : text;
    cJSON *list = serve_read_calls(style, tools, begin, strlen(begin), &shown);
    if (!list || shown != 0) {
        print_message("%s\n", text);
    }
    assert_non_null(list);
    assert_int_equal(shown, 0);
    call_expect_growth(style, tools, begin, list);
    return list;
}

static struct serve_task *make_grammar(const struct serve_call_style *style, const cJSON *tools,
                                       bool is_parallel)
{
    const struct serve_call_rules rules = {
        .style = style, .tools = tools, .is_required = true, .is_parallel = is_parallel};
    struct serve_task *task = serve_task_create(NULL);
    must_do(serve_set_call_grammar(&rules, task, &err));
    return task;
}

// Returns the mark that ends strings, NULL for a quote.
static const char *mark_of(const struct serve_call_style *style)
{
    return style->notation == SERVE_NOTATION_GEMMA ? style->quote : style->value_end;
}

//-- a call that is known --------------------------------------------------------------------------

// Arguments of a call of the tool do-it_2.x.
static const char *const known[] = {
    "{}",
    "{\"s\":\"Oslo\"}",
    "{\"s\":\"\"}",
    "{\"s\":\"a \\\"b\\\" 'c' \\\\d {e: [f], (g)} é 😀\",\"t\":\"x\"}",
    "{\"s\":\"two\\nlines\\n\",\"t\":\"\\n\\nx\"}",
    "{\"s\":\"</b> <parameter> ]\",\"t\":\"true\",\"u\":\"12\",\"v\":\"null\"}",
    "{\"n\":12345678901234567890123}",
    "{\"n\":-7,\"x\":1.0,\"y\":-2.5e3}",
    "{\"yes\":true,\"no\":false,\"z\":null}",
    "{\"l\":[1,2,3],\"o\":{\"k\":\"v\",\"m\":[true,null]}}",
    "{\"l\":[],\"o\":{}}",
    "{\"a_b-c\":\"d\",\"e f\":1}",
};

// Returns a schema that allows this value alone.
static cJSON *schema_of(const cJSON *value)
{
    cJSON *schema = cJSON_CreateObject();
    if (cJSON_IsString(value)) {
        cJSON_AddStringToObject(schema, "type", "string");
    }
    cJSON_AddItemToObject(schema, "const", cJSON_Duplicate(value, 1));
    return schema;
}

// Returns the list of one tool whose parameters have to be the arguments.
static cJSON *tools_of(const cJSON *arguments)
{
    cJSON *tools = cJSON_CreateArray();
    cJSON *function = cJSON_AddObjectToObject(cli_json_append(tools), "function");
    cJSON_AddStringToObject(function, "name", "do-it_2.x");
    cJSON *parameters = cJSON_AddObjectToObject(function, "parameters");
    cJSON_AddStringToObject(parameters, "type", "object");
    cJSON *properties = cJSON_AddObjectToObject(parameters, "properties");
    cJSON *required = cJSON_AddArrayToObject(parameters, "required");
    cJSON_AddFalseToObject(parameters, "additionalProperties");
    const cJSON *item;
    cJSON_ArrayForEach(item, arguments)
    {
        cJSON_AddItemToObject(properties, item->string, schema_of(item));
        cJSON_AddItemToArray(required, cJSON_CreateString(item->string));
    }
    return tools;
}

static void expect_known(const cJSON *calls, const cJSON *arguments)
{
    const cJSON *call;
    cJSON_ArrayForEach(call, calls)
    {
        const char *text = call_member(call, "arguments");
        cJSON *read = cli_json_parse_all(text, strlen(text), NULL);
        assert_string_equal(call_member(call, "name"), "do-it_2.x");
        char *own = cJSON_PrintUnformatted(read), *wanted = cJSON_PrintUnformatted(arguments);
        const bool is_same = cJSON_Compare(read, arguments, 1);
        if (!is_same) {
            print_message("%s is not %s\n", own, wanted);
        }
        assert_true(is_same);
        cJSON_free(own);
        cJSON_free(wanted);
        cJSON_Delete(read);
    }
}

// Gemma's grammar holds lists and objects of `const` to their notation alone, and tools without
// parameters may be called with any.
static bool is_held(const struct serve_call_style *style, const cJSON *arguments)
{
    const cJSON *item;
    bool is_held = arguments->child || style->notation == SERVE_NOTATION_JSON;
    cJSON_ArrayForEach(item, arguments)
    {
        const bool is_nested = cJSON_IsArray(item) || cJSON_IsObject(item);
        is_held = is_held && !(is_nested && style->notation == SERVE_NOTATION_GEMMA);
    }
    return is_held;
}

TEST(calls_of_the_grammar_are_the_calls_that_are_read)
{
    static char text[MAX_TEXT];
    unsigned seed = 1;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]) * SERVE_N_STYLES; i++) {
        const struct serve_call_style *style = &serve_styles[i % SERVE_N_STYLES];
        const char *wanted = known[i / SERVE_N_STYLES];
        cJSON *arguments = cli_json_parse_all(wanted, strlen(wanted), NULL);
        cJSON *tools = tools_of(arguments);
        struct serve_task *task = make_grammar(style, tools, i % 2);
        struct call_language language;
        call_language_open(&language, &task->grammar);
        for (int k = 0; k < N_WALKS && is_held(style, arguments); k++) {
            call_language_walk(&language, mark_of(style), &seed, text, sizeof(text));
            cJSON *calls = read_all(style, tools, text);
            expect_known(calls, arguments);
            cJSON_Delete(calls);
        }
        call_language_close(&language);
        serve_task_unref(task);
        cJSON_Delete(tools);
        cJSON_Delete(arguments);
    }
}

// Calls that the server writes in a prompt are read as they were. The grammar allows them, except
// that values of Python that JSON does not have are Python's words only where a type says so.
TEST(calls_that_are_written_are_the_calls_that_are_read)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]) * SERVE_N_STYLES; i++) {
        const struct serve_call_style *style = &serve_styles[i % SERVE_N_STYLES];
        const char *wanted = known[i / SERVE_N_STYLES];
        if (style->notation != SERVE_NOTATION_JSON && style->notation != SERVE_NOTATION_PYTHON) {
            continue;
        }
        cJSON *arguments = cli_json_parse_all(wanted, strlen(wanted), NULL);
        cJSON *tools = tools_of(arguments), *calls = cJSON_CreateArray();
        for (int k = 0; k < (style->between[0] ? 3 : 1); k++) {
            cJSON *function = cJSON_AddObjectToObject(cli_json_append(calls), "function");
            cJSON_AddStringToObject(function, "name", "do-it_2.x");
            cJSON_AddItemToObject(function, "arguments", cJSON_Duplicate(arguments, 1));
        }
        struct cli_bytes text = {0};
        cli_bytes_append(&text, style->lead, style->lead ? 1 : 0);
        serve_write_calls(style, calls, &text);
        struct serve_task *task = make_grammar(style, tools, true);
        struct call_language language;
        call_language_open(&language, &task->grammar);
        if (style->notation == SERVE_NOTATION_JSON && !call_language_has(&language, text.data)) {
            fail_msg("not in the grammar: %s", text.data);
        }
        cJSON *read = read_all(style, tools, text.data);
        assert_int_equal(cJSON_GetArraySize(read), cJSON_GetArraySize(calls));
        expect_known(read, arguments);
        cJSON_Delete(read);
        call_language_close(&language);
        serve_task_unref(task);
        cli_bytes_finish(&text);
        cJSON_Delete(tools);
        cJSON_Delete(calls);
        cJSON_Delete(arguments);
    }
}

//-- calls by chance -------------------------------------------------------------------------------

static const char free_tools[] =
    "[{\"function\":{\"name\":\"a\",\"parameters\":{\"type\":\"object\",\"properties\":{"
    "\"s\":{\"type\":\"string\"},\"i\":{\"type\":\"integer\"},\"x\":{\"type\":\"number\"},"
    "\"b\":{\"type\":\"boolean\"},\"e\":{\"enum\":[\"p\",\"q r\"]},"
    "\"l\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"maxItems\":2},"
    "\"o\":{\"type\":\"object\",\"properties\":{\"t\":{\"type\":\"string\"},\"n\":{\"type\":"
    "\"integer\"}},\"required\":[\"n\"]},\"z\":{\"type\":[\"string\",\"null\"]}},"
    "\"required\":[\"s\",\"e\"]}}},{\"function\":{\"name\":\"b\"}},"
    "{\"function\":{\"name\":\"c\",\"parameters\":{\"type\":\"object\",\"properties\":{"
    "\"b\":{\"type\":\"boolean\"}},\"required\":[\"b\"]}}}]";

static bool has_type(const cJSON *value, const char *name)
{
    switch (name[0]) {
    case 's':
    case 'e':
        return cJSON_IsString(value);
    case 'i':
    case 'x':
        return cli_json_is_number(value);
    case 'b':
        return cJSON_IsBool(value);
    case 'l':
        return cJSON_IsArray(value) && cJSON_GetArraySize(value) <= 2;
    case 'o':
        return cli_json_is_number(cli_json_get(value, "n"));
    default:
        return cJSON_IsString(value) || cJSON_IsNull(value);
    }
}

TEST(values_of_the_grammar_have_the_types_of_their_schemas)
{
    static char text[MAX_TEXT];
    unsigned seed = 7;
    cJSON *tools = cJSON_Parse(free_tools);
    for (size_t i = 0; i < SERVE_N_STYLES; i++) {
        const struct serve_call_style *style = &serve_styles[i];
        struct serve_task *task = make_grammar(style, tools, true);
        struct call_language language;
        call_language_open(&language, &task->grammar);
        for (int k = 0; k < 4 * N_WALKS; k++) {
            call_language_walk(&language, mark_of(style), &seed, text, sizeof(text));
            cJSON *calls = read_all(style, tools, text);
            const cJSON *call, *item;
            cJSON_ArrayForEach(call, calls)
            {
                const char *own = call_member(call, "arguments"), *name = call_member(call, "name");
                cJSON *arguments = cli_json_parse_all(own, strlen(own), NULL);
                assert_true(cJSON_IsObject(arguments) && strstr("abc", name));
                const cJSON *all = name[0] == 'b' ? NULL : arguments;
                cJSON_ArrayForEach(item, all)
                {
                    if (!has_type(item, item->string)) {
                        print_message("%s: %s\n", text, own);
                    }
                    assert_true(has_type(item, item->string));
                }
                assert_true(name[0] != 'a' ||
                            (cli_json_get(arguments, "s") && cli_json_get(arguments, "e")));
                cJSON_Delete(arguments);
            }
            cJSON_Delete(calls);
        }
        call_language_close(&language);
        serve_task_unref(task);
    }
    cJSON_Delete(tools);
}

RUN_TESTS(NULL, NULL)
