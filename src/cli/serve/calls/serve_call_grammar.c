#include "cli/serve/calls/serve_call_grammar.h"

#include "cli/common/cli_io.h"
#include "cli/common/cli_json_read.h"
#include "cli/serve/calls/serve_arguments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_PROPERTIES = 1000, // of a tool
    MAX_CALLS = 8,         // in an answer
};

static const char too_large[] = "the parameters of the tools are too large or nest too deeply";

//-- tools -----------------------------------------------------------------------------------------

static bool is_bounded(const cJSON *list)
{
    return cJSON_GetArraySize(list) <= MAX_PROPERTIES;
}

static bool are_keys(const struct serve_call_style *style, const cJSON *properties)
{
    const cJSON *item;
    bool are = true;
    cJSON_ArrayForEach(item, properties)
    {
        are = are && (!item->string || serve_is_key(style, item->string));
    }
    return are;
}

// Checks the keys of nested objects too, for notations that write them without quotes.
// NOLINTNEXTLINE(misc-no-recursion): as deep as the reader of JSON allows
static bool are_nested_keys(const struct serve_call_style *style, const cJSON *value)
{
    const cJSON *item;
    bool are = true;
    cJSON_ArrayForEach(item, value)
    {
        const bool is_list = item->string && strcmp(item->string, "properties") == 0;
        are = are && (!is_list || are_keys(style, item)) && are_nested_keys(style, item);
    }
    return are;
}

static bool fail(struct glinfer_error *err, const char *why)
{
    err->status = GLINFER_STATUS_UNSUPPORTED;
    snprintf(err->message, sizeof(err->message), "%s", why);
    return false;
}

// Checks the schema of a tool's parameters. A tool that is strict is refused if a grammar cannot
// keep to it; for any other tool, a warning names the part that the grammar leaves out.
static bool check_schema(const cJSON *function, const cJSON *parameters, struct glinfer_error *err)
{
    const char *name = cli_json_get(function, "name")->valuestring;
    const bool is_strict = cJSON_IsTrue(cli_json_get(function, "strict"));
    char *text = cJSON_PrintUnformatted(parameters);
    struct glinfer_grammar grammar;
    struct glinfer_error why = {0};
    glinfer_grammar_init(&grammar);
    grammar.json_schema = text;
    const bool is_ok = text && glinfer_grammar_check(&grammar, &why);
    cJSON_free(text);
    if (!is_ok && is_strict) {
        err->status = why.status;
        snprintf(err->message, sizeof(err->message), "the tool \"%.64s\": %.900s", name,
                 why.message);
        return false;
    }
    if (!is_ok) {
        cli_warn("the tool \"%.64s\": %s; calls are not held to that", name, why.message);
    }
    return true;
}

// Returns a tool's parameters as the grammar takes them; NULL if they cannot be taken.
static cJSON *copy_parameters(const struct serve_call_style *style, const cJSON *function,
                              struct glinfer_error *err)
{
    const cJSON *parameters = cli_json_get(function, "parameters");
    const cJSON *properties = cli_json_get(parameters, "properties");
    if (!is_bounded(properties) || !is_bounded(cli_json_get(parameters, "required"))) {
        fail(err, too_large);
        return NULL;
    }
    if (!are_keys(style, properties) ||
        (style->notation == SERVE_NOTATION_GEMMA && !are_nested_keys(style, properties))) {
        fail(
            err,
            "the name of a tool's parameter has a character that ends names in this model's calls");
        return NULL;
    }
    cJSON *own = cJSON_IsObject(parameters) ? cJSON_Duplicate(parameters, 1) : NULL;
    own = own ? own : cJSON_Parse("{\"type\":\"object\"}");
    if (!check_schema(function, own, err)) {
        cJSON_Delete(own);
        return NULL;
    }
    return own;
}

//-- calls -----------------------------------------------------------------------------------------

// Writes the rule of an answer.
static void write_root(struct serve_writer *writer, const struct serve_call_rules *rules)
{
    const struct serve_call_style *style = rules->style;
    struct cli_bytes outer = serve_writer_begin(writer);
    serve_writer_add(writer, "root ::= ");
    serve_writer_pattern(writer, rules->is_required ? style->lead : NULL);
    serve_writer_pattern(writer, style->begin);
    serve_writer_add(writer, "call ");
    if (rules->is_parallel && style->between[0]) {
        serve_writer_add(writer, "(");
        serve_writer_alternatives(writer, style->between);
        serve_writer_add(writer, "call){0,%d} ", MAX_CALLS - 1);
    }
    serve_writer_pattern(writer, style->end);
    serve_writer_add(writer, "\ncall ::= call-0");
    for (int i = 1; i < cJSON_GetArraySize(rules->tools); i++) {
        serve_writer_add(writer, " | call-%d", i);
    }
    serve_writer_end(writer, outer);
}

// Writes the rule of calls of a tool; returns false if its parameters are refused.
static bool write_call(struct serve_writer *writer, size_t index, const cJSON *function,
                       struct glinfer_error *err)
{
    const struct serve_call_style *style = writer->style;
    const char *quote = style->is_json ? "\\\"" : "";
    cJSON *parameters = copy_parameters(style, function, err);
    if (!parameters) {
        return false;
    }
    struct cli_bytes outer = serve_writer_begin(writer);
    serve_writer_add(writer, "call-%zu ::= ", index);
    serve_writer_pattern(writer, style->before);
    serve_writer_alternatives(writer, style->heads);
    serve_writer_add(writer, "\"%s%s%s\" ", quote, cli_json_get(function, "name")->valuestring,
                     quote);
    serve_writer_alternatives(writer, style->opens);
    serve_write_arguments(writer, parameters);
    serve_writer_pattern(writer, style->close);
    serve_writer_pattern(writer, style->after);
    serve_writer_end(writer, outer);
    cJSON_Delete(parameters);
    return !writer->is_full || fail(err, too_large);
}

// Lets the triggers of the style begin the grammar, and the control token of the first one's name.
static void set_triggers(struct serve_writer *writer)
{
    struct serve_task *task = writer->task;
    const struct serve_call_style *style = writer->style;
    const char *first = style->triggers[0];
    const int32_t id = serve_find_mark(writer->tokenizer, first, strlen(first));
    task->grammar.trigger_words = style->triggers;
    task->grammar.n_trigger_words = style->triggers[1] ? 2 : 1;
    if (id >= 0 && serve_is_mark(style, first, strlen(first))) {
        task->trigger_token = id;
        task->grammar.trigger_tokens = &task->trigger_token;
        task->grammar.n_trigger_tokens = 1;
    }
}

bool serve_set_call_grammar(const struct serve_call_rules *rules, struct serve_task *task,
                            struct glinfer_error *err)
{
    struct serve_writer writer = {
        .tokenizer = rules->tokenizer, .style = rules->style, .task = task};
    const cJSON *tool;
    bool is_ok = true;
    size_t i = 0;
    write_root(&writer, rules);
    serve_write_argument_rules(&writer);
    cJSON_ArrayForEach(tool, rules->tools)
    {
        is_ok = is_ok && write_call(&writer, i++, cli_json_get(tool, "function"), err);
    }
    if (!rules->is_required) {
        set_triggers(&writer);
    }
    free(task->grammar_text);
    task->grammar_text = writer.rules.data;
    task->grammar.gbnf = task->grammar_text;
    task->grammar.schemas = (const char *const *)task->schemas.items;
    task->grammar.n_schemas = task->schemas.count;
    task->grammar.schemas_are_hints = true;
    task->params.grammar = &task->grammar;
    return is_ok;
}
