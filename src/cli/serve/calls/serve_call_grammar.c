#include "cli/serve/calls/serve_call_grammar.h"

#include "cli/common/cli_io.h"
#include "cli/serve/calls/serve_call_schema.h"
#include "cli/serve/calls/serve_call_tools.h"
#include "cli/serve/calls/serve_gemma.h"
#include "cli/serve/calls/serve_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PROPERTIES = 1000 }; // of a tool

static const char too_large[] = "the parameters of the tools are too large or nest too deeply";

//-- forms -----------------------------------------------------------------------------------------

static const cJSON *required_of(const cJSON *parameters)
{
    return cJSON_GetObjectItemCaseSensitive(parameters, "required");
}

// Writes an object whose names stand as the trigger has them. Some models tell its type too.
static void write_object(struct serve_writer *writer, const char *name, const cJSON *parameters)
{
    const struct serve_call_style *style = writer->style;
    serve_writer_text(writer, style->is_list ? "" : style->before);
    serve_writer_add(writer, "\"{\" %s",
                     style->other_trigger ? "(\"\\\"type\\\": \\\"function\\\", \")? " : "");
    serve_writer_add(writer, "\"\\\"name\\\":\" ws ");
    serve_writer_constant(writer, name);
    serve_writer_add(writer, "ws \",\" ws ");
    serve_writer_constant(writer, style->arguments);
    serve_writer_add(writer, "\":\" ws ");
    serve_writer_json(writer, parameters, parameters);
    serve_writer_add(writer, "ws \"}\" ");
    serve_writer_text(writer, style->is_list ? "" : style->after);
}

static void write_named(struct serve_writer *writer, const char *name, const cJSON *parameters)
{
    serve_writer_text(writer, writer->style->before);
    serve_writer_text(writer, name);
    serve_writer_add(writer, "middle ");
    serve_writer_json(writer, parameters, parameters);
    serve_writer_text(writer, writer->style->after);
}

static void write_tagged_value(struct serve_writer *writer, const cJSON *schema,
                               const cJSON *parameters)
{
    if (!serve_is_text(schema, parameters)) {
        serve_writer_json(writer, schema, parameters);
    } else {
        serve_writer_add(writer, "%s",
                         serve_writer_choices(writer, schema, "(", "") ? ") " : "text-0 ");
    }
}

static void write_tags(struct serve_writer *writer, const char *name, const cJSON *parameters)
{
    const struct serve_call_tags *tags = writer->style->tags;
    const cJSON *properties = cJSON_GetObjectItemCaseSensitive(parameters, "properties"), *item;
    struct serve_names required = serve_names_of(required_of(parameters));
    if (writer->style->other_trigger) { // which comes without what stands in front of it
        serve_writer_add(writer, "(");
        serve_writer_text(writer, writer->style->before);
        serve_writer_add(writer, ")? ");
    } else {
        serve_writer_text(writer, writer->style->before);
    }
    serve_writer_text(writer, tags->name);
    serve_writer_text(writer, name);
    serve_writer_text(writer, tags->name_end);
    cJSON_ArrayForEach(item, properties)
    {
        const bool is_needed = serve_names_have(&required, item->string);
        serve_writer_add(writer, "%s", is_needed ? "" : "(");
        serve_writer_text(writer, tags->key);
        serve_writer_text(writer, item->string);
        serve_writer_text(writer, tags->key_end);
        write_tagged_value(writer, item, parameters);
        serve_writer_text(writer, tags->value_end);
        serve_writer_add(writer, "%s", is_needed ? "" : ")? ");
    }
    serve_names_finish(&required);
    serve_writer_add(writer, "%s", properties && properties->child ? "" : "free* ");
    serve_writer_text(writer, tags->end);
    serve_writer_text(writer, writer->style->after);
}

static void write_python_value(struct serve_writer *writer, const cJSON *schema,
                               const cJSON *parameters)
{
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(schema, "type");
    const char *word = cJSON_IsString(type) ? type->valuestring : "";
    serve_writer_add(writer, "(");
    serve_writer_json(writer, schema, parameters);
    if (strcmp(word, "boolean") == 0) {
        serve_writer_add(writer, "| \"True\" | \"False\" ");
    } else if (strcmp(word, "string") == 0) {
        serve_writer_add(writer, "%s",
                         serve_writer_choices(writer, schema, "| ", "'") ? "" : "| quoted ");
    }
    serve_writer_add(writer, ") ");
}

// Writes a call whose arguments come in the order of the schema: rules args-T-I-0 and args-T-I-1
// are what may stand from argument I on after none, and after others.
static void write_python(struct serve_writer *writer, size_t tool, const char *name,
                         const cJSON *parameters)
{
    const cJSON *properties = cJSON_GetObjectItemCaseSensitive(parameters, "properties"), *item;
    const bool is_free = !properties || !properties->child;
    size_t i = 0;
    serve_writer_text(writer, name);
    serve_writer_add(writer, "\"(\" %s", is_free ? "free? \")\"\n" : "");
    if (is_free) {
        return;
    }
    struct serve_names required = serve_names_of(required_of(parameters));
    serve_writer_add(writer, "args-%zu-0-0 \")\"\n", tool);
    cJSON_ArrayForEach(item, properties)
    {
        const bool is_needed = serve_names_have(&required, item->string);
        serve_writer_add(writer, "arg-%zu-%zu ::= ", tool, i);
        serve_writer_text(writer, item->string);
        serve_writer_add(writer, "\"=\" ");
        write_python_value(writer, item, parameters);
        serve_writer_rules_of_entry(writer, "args", "arg", tool, i, is_needed, ", ");
        i++;
    }
    serve_names_finish(&required);
    serve_writer_rules_of_end(writer, "args", tool, i);
}

static void write_gemma(struct serve_writer *writer, const char *name, const cJSON *parameters)
{
    serve_writer_text(writer, writer->style->before);
    serve_writer_text(writer, name);
    serve_write_gemma(writer, parameters, writer->style->after);
}

//-- all calls -------------------------------------------------------------------------------------

// Writes what an answer is: calls, of which lists and Python have all in one frame.
static void write_root(struct serve_writer *writer, const struct serve_call_rules *rules)
{
    enum { MAX_CALLS = 8 };
    const struct serve_call_style *style = rules->style;
    const bool is_python = style->form == SERVE_CALL_PYTHON, is_whole = is_python || style->is_list;
    const bool is_alone =
        style->lead || (style->form == SERVE_CALL_JSON && !is_whole && !style->after[0]);
    serve_writer_add(writer, "root ::= ");
    serve_writer_text(writer, is_whole                            ? style->before
                              : rules->is_required && style->lead ? style->lead
                                                                  : "");
    serve_writer_add(writer, "%scall ", style->is_list ? "ws \"[\" ws " : "");
    if (rules->is_parallel && !is_alone) {
        serve_writer_add(writer, "(");
        if (is_python) {
            serve_writer_text(writer, style->between);
        } else {
            serve_writer_add(writer, style->is_list ? "ws \",\" ws " : "\"\\n\"? ");
        }
        serve_writer_add(writer, "call){0,%d} ", MAX_CALLS - 1);
    }
    serve_writer_add(writer, "%s", style->is_list ? "ws \"]\" " : "");
    serve_writer_text(writer, is_whole ? style->after : "");
    serve_writer_add(writer, "\ncall ::= call-0");
    for (int i = 1; i < cJSON_GetArraySize(rules->tools); i++) {
        serve_writer_add(writer, " | call-%d", i);
    }
    serve_writer_add(writer, "\n");
}

// Writes the rules that calls share.
static void write_shared(struct serve_writer *writer)
{
    const struct serve_call_style *style = writer->style;
    if (style->form == SERVE_CALL_NAMED) {
        serve_writer_add(writer, "middle ::= ");
        for (size_t i = 0; i < 4 && style->middles[i]; i++) {
            serve_writer_add(writer, "%s", i > 0 ? "| " : "");
            serve_writer_text(writer, style->middles[i]);
        }
        serve_writer_add(writer, "\n");
    } else if (style->form == SERVE_CALL_TAGS) {
        char end[32];
        const size_t n = strlen(style->tags->value_end);
        snprintf(end, sizeof(end), "%.*s",
                 (int)(n > 0 && style->tags->value_end[n - 1] == '\n' ? n - 1 : n),
                 style->tags->value_end);
        serve_writer_rules_of_text(writer, end);
        serve_writer_add(writer, "free ::= ");
        serve_writer_text(writer, style->tags->key);
        serve_writer_add(writer, "[a-zA-Z0-9_.]+ ");
        serve_writer_text(writer, style->tags->key_end);
        serve_writer_add(writer, "text-0 ");
        serve_writer_text(writer, style->tags->value_end);
        serve_writer_add(writer, "\n");
    } else if (style->form == SERVE_CALL_GEMMA) {
        serve_write_gemma_rules(writer);
    } else if (style->form == SERVE_CALL_PYTHON) {
        serve_writer_add(writer, "quoted ::= \"'\" [^'\\\\\\x00-\\x1F]* \"'\"\n");
        serve_writer_add(writer, "free ::= [a-zA-Z0-9_]+ \"=\" ");
        serve_writer_json(writer, NULL, NULL);
        serve_writer_add(writer, "(\", \" [a-zA-Z0-9_]+ \"=\" json-%zu)*\n",
                         writer->task->schemas.count);
    }
}

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

// Looks at the names in values, too, for forms that write those without quotes.
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
    const char *name = cJSON_GetObjectItemCaseSensitive(function, "name")->valuestring;
    const bool is_strict = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(function, "strict"));
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
    const cJSON *parameters = cJSON_GetObjectItemCaseSensitive(function, "parameters");
    const cJSON *properties = cJSON_GetObjectItemCaseSensitive(parameters, "properties");
    if (!is_bounded(properties) || !is_bounded(required_of(parameters))) {
        fail(err, too_large);
        return NULL;
    }
    if (!are_keys(style, properties) ||
        (style->form == SERVE_CALL_GEMMA && !are_nested_keys(style, properties))) {
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

static bool write_calls(struct serve_writer *writer, const cJSON *tools, struct glinfer_error *err)
{
    const cJSON *tool;
    size_t i = 0;
    cJSON_ArrayForEach(tool, tools)
    {
        const cJSON *function = cJSON_GetObjectItemCaseSensitive(tool, "function");
        const char *name = cJSON_GetObjectItemCaseSensitive(function, "name")->valuestring;
        cJSON *parameters = writer->is_full ? NULL : copy_parameters(writer->style, function, err);
        if (!parameters) {
            return writer->is_full ? fail(err, too_large) : false;
        }
        serve_writer_add(writer, "call-%zu ::= ", i);
        switch (writer->style->form) {
        case SERVE_CALL_JSON:
            write_object(writer, name, parameters);
            break;
        case SERVE_CALL_NAMED:
            write_named(writer, name, parameters);
            break;
        case SERVE_CALL_TAGS:
            write_tags(writer, name, parameters);
            break;
        case SERVE_CALL_PYTHON:
            write_python(writer, i, name, parameters);
            break;
        case SERVE_CALL_GEMMA:
            write_gemma(writer, name, parameters);
        }
        serve_writer_add(writer, "\n");
        cJSON_Delete(parameters);
        i++;
    }
    return !writer->is_full || fail(err, too_large);
}

// Has the trigger of the style begin the grammar, and the control token of its name.
static void set_triggers(struct serve_writer *writer)
{
    struct serve_task *task = writer->task;
    const struct serve_call_style *style = writer->style;
    const int32_t id = serve_find_mark(writer->tokenizer, style->trigger, strlen(style->trigger));
    task->triggers[0] = style->trigger;
    task->triggers[1] = style->other_trigger;
    task->grammar.trigger_words = task->triggers;
    task->grammar.n_trigger_words = style->other_trigger ? 2 : 1;
    if (id >= 0 && serve_is_mark(style, style->trigger, strlen(style->trigger))) {
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
    write_root(&writer, rules);
    write_shared(&writer);
    if (task->schemas.count == 0) { // the rules of JSON come with a schema
        serve_writer_add(&writer, "any ::= ");
        serve_writer_json(&writer, NULL, NULL);
        serve_writer_add(&writer, "\n");
    }
    const bool is_ok = write_calls(&writer, rules->tools, err);
    if (!rules->is_required) {
        set_triggers(&writer);
    }
    free(task->grammar_text);
    task->grammar_text = writer.text.data;
    task->grammar.gbnf = task->grammar_text;
    task->grammar.schemas = (const char *const *)task->schemas.items;
    task->grammar.n_schemas = task->schemas.count;
    task->grammar.schemas_are_hints = true;
    task->params.grammar = &task->grammar;
    return is_ok;
}
