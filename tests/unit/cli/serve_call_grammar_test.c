// The grammar of calls of tools.
#include "cli/serve/calls/serve_call_grammar.h"
#include "tests/unit/cmocka_test.h"

#include <string.h>

// Returns the task whose grammar is that of calls of tools with these parameters, NULL if it is
// refused. There is no vocabulary, so that marks are text.
static struct serve_task *make_grammar(const struct serve_call_style *style, const char *parameters)
{
    cJSON *tools = cJSON_Parse("[{\"function\":{\"name\":\"f\"}}]");
    cJSON *own = cJSON_Parse(parameters);
    assert_non_null(own);
    cJSON_AddItemToObject(cJSON_GetObjectItem(tools->child, "function"), "parameters", own);
    const struct serve_call_rules rules = {.style = style, .tools = tools, .is_required = true};
    struct serve_task *task = serve_task_create(NULL);
    if (!serve_set_call_grammar(&rules, task)) {
        serve_task_unref(task);
        task = NULL;
    }
    cJSON_Delete(tools);
    return task;
}

static void choices_that_need_escapes_are_left_to_json(void **state)
{
    (void)state;
    struct serve_task *task =
        make_grammar(&serve_style_lfm2, "{\"properties\":{\"a\":{\"type\":\"string\",\"enum\":["
                                        "\"x\",\"it's\",\"\\\\\",\"y\"]},\"b\":{\"type\":"
                                        "\"string\",\"enum\":[\"'\"]}}}");
    assert_non_null(strstr(task->grammar_text, "(json-2 | \"'x'\" | \"'y'\" )"));
    assert_non_null(strstr(task->grammar_text, "(json-3 )"));
    assert_true(glinfer_grammar_check(&task->grammar, NULL));
    serve_task_unref(task);
    task =
        make_grammar(&serve_style_minicpm, "{\"properties\":{\"a\":{\"enum\":[\"x\",\"it's\"]}}}");
    assert_non_null(strstr(task->grammar_text, "(\"x\" | \"it's\" )"));
    assert_true(glinfer_grammar_check(&task->grammar, NULL));
    serve_task_unref(task);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(choices_that_need_escapes_are_left_to_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
