#include "cli/serve/calls/serve_call_grammar.h"

#include "cli/serve/calls/serve_call_schema.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_SCHEMAS =
        4 << 20, // bytes of all schemas, to which each brings the definitions it refers to
    MAX_PROPERTIES = 1000, // of a tool
};

struct writer {
    const struct glinfer_tokenizer *tokenizer;
    const struct serve_call_style *style;
    struct cli_bytes text;
    struct serve_task *task; // gets the schemas
    size_t schemas_size;     // bytes of these
    bool is_full;            // one more did not fit
};

//-- text ------------------------------------------------------------------------------------------

static void write(struct writer *writer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void write(struct writer *writer, const char *format, ...)
{
    char text[128];
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    cli_bytes_append(&writer->text, text, n < 0 ? 0 : strlen(text));
}

// Writes bytes of UTF-8 as they stand in a literal or a class.
static void write_escaped(struct writer *writer, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const unsigned char byte = (unsigned char)text[i];
        if (byte < 0x20 || byte == 0x7f) {
            write(writer, "\\x%02X", byte);
        } else {
            write(writer, "%s%c", strchr("\"\\[]-^", byte) && byte != '^' ? "\\" : "", byte);
        }
    }
}

int32_t serve_find_mark(const struct glinfer_tokenizer *tokenizer, const char *name, size_t size)
{
    int32_t id = -1;
    size_t n = 0, name_size = 0;
    const bool is_one =
        glinfer_tokenize(tokenizer, name, size, GLINFER_TOKENIZE_NO_BOS, &id, 1, &n, NULL) &&
        n == 1;
    const char *own = is_one ? glinfer_token_bytes(tokenizer, id, &name_size) : NULL;
    return own && name_size == size && memcmp(own, name, size) == 0 ? id : -1;
}

// Writes a text, in which marks may also be the control tokens of their names.
static void write_text(struct writer *writer, const char *text)
{
    const struct serve_call_style *style = writer->style;
    for (size_t left = strlen(text), n; left > 0; text += n, left -= n) {
        const size_t mark = serve_measure_mark(style, text, left);
        n = mark;
        while (mark == 0 && n < left && serve_measure_mark(style, text + n, left - n) == 0) {
            n++;
        }
        const int32_t id = mark > 0 ? serve_find_mark(writer->tokenizer, text, mark) : -1;
        write(writer, "%s", id >= 0 ? "(\"" : "\"");
        write_escaped(writer, text, n);
        if (id >= 0) {
            write(writer, "\" | <[%d]>)", id);
        } else {
            write(writer, "\"");
        }
        write(writer, " ");
    }
}

//-- values ----------------------------------------------------------------------------------------

// Returns a schema as JSON, with the definitions that it may refer to. The caller frees it with
// cJSON_free; NULL: no memory.
static char *print_schema(const cJSON *schema, const cJSON *parameters)
{
    static const char *const names[] = {"$defs", "definitions"};
    cJSON *own = cJSON_IsObject(schema) ? cJSON_Duplicate(schema, 1) : cJSON_CreateObject();
    char *text = cJSON_PrintUnformatted(own);
    bool is_more = false;
    for (size_t i = 0; i < 2 && text && strstr(text, "\"$ref\""); i++) {
        const cJSON *all = cJSON_GetObjectItemCaseSensitive(parameters, names[i]);
        if (all && !cJSON_GetObjectItemCaseSensitive(own, names[i])) {
            cJSON_AddItemToObject(own, names[i], cJSON_Duplicate(all, 1));
            is_more = true;
        }
    }
    if (is_more) {
        cJSON_free(text);
        text = cJSON_PrintUnformatted(own);
    }
    cJSON_Delete(own);
    return text;
}

// Gives the grammar a schema and writes its rule's name.
static void write_json(struct writer *writer, const cJSON *schema, const cJSON *parameters)
{
    char *text = writer->is_full ? NULL : print_schema(schema, parameters);
    const size_t size = text ? strlen(text) : 0;
    writer->is_full = !text || size > MAX_SCHEMAS - writer->schemas_size;
    if (writer->is_full) {
        cJSON_free(text);
        return;
    }
    writer->schemas_size += size;
    *CLI_APPEND(&writer->task->schemas) = text;
    write(writer, "json-%zu ", writer->task->schemas.count);
}

// Writes the choices of a text as alternatives in quotes, with `first` in front; false if the
// schema has none. Those that quotes would have to escape are left out.
static bool write_choices(struct writer *writer, const cJSON *schema, const char *first,
                          const char *quote)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(schema, "enum"), *item;
    const cJSON *constant = cJSON_GetObjectItemCaseSensitive(schema, "const");
    bool is_choice = false;
    list = cJSON_IsArray(list) ? list : NULL;
    for (item = list ? list->child : constant; item; item = list ? item->next : NULL) {
        is_choice = is_choice || cJSON_IsString(item);
        if (cJSON_IsString(item) && !(quote[0] && strpbrk(item->valuestring, "\\'\n\r"))) {
            write(writer, "%s\"%s", first, quote);
            write_escaped(writer, item->valuestring, strlen(item->valuestring));
            write(writer, "%s\" ", quote);
            first = "| ";
        }
    }
    return is_choice;
}

// Writes the rules of texts that do not contain `end`, whose first byte comes in it once: the rule
// `text-I` is what may follow behind its first I bytes.
static void write_text_rules(struct writer *writer, const char *end)
{
    const size_t n = strlen(end);
    for (size_t i = 0; i < n; i++) {
        write(writer, "text-%zu ::= ", i);
        if (i > 0 && i + 1 < n) {
            write(writer, "\"");
            write_escaped(writer, end + i, 1);
            write(writer, "\" text-%zu | ", i + 1);
        }
        write(writer, "\"");
        write_escaped(writer, end, 1);
        write(writer, "\" text-%d | [^", n > 1 ? 1 : 0);
        write_escaped(writer, end, 1);
        if (i > 0) {
            write_escaped(writer, end + i, 1);
        }
        write(writer, "] text-0 | \"\"\n");
    }
}

// Writes a text as JSON has it.
static void write_constant(struct writer *writer, const char *text)
{
    cJSON *string = cJSON_CreateString(text);
    char *json = cJSON_PrintUnformatted(string);
    write(writer, "\"");
    write_escaped(writer, json ? json : "", json ? strlen(json) : 0);
    write(writer, "\" ");
    cJSON_free(json);
    cJSON_Delete(string);
}

//-- forms -----------------------------------------------------------------------------------------

static bool is_required(const cJSON *parameters, const char *name)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(parameters, "required"))
    {
        if (cJSON_IsString(item) && strcmp(item->valuestring, name) == 0) {
            return true;
        }
    }
    return false;
}

// Writes an object whose names stand as the trigger has them. Some models tell its type too.
static void write_object(struct writer *writer, const char *name, const cJSON *parameters)
{
    const struct serve_call_style *style = writer->style;
    write_text(writer, style->is_list ? "" : style->before);
    write(writer, "\"{\" %s",
          style->other_trigger ? "(\"\\\"type\\\": \\\"function\\\", \")? " : "");
    write(writer, "\"\\\"name\\\":\" ws ");
    write_constant(writer, name);
    write(writer, "ws \",\" ws ");
    write_constant(writer, style->arguments);
    write(writer, "\":\" ws ");
    write_json(writer, parameters, parameters);
    write(writer, "ws \"}\" ");
    write_text(writer, style->is_list ? "" : style->after);
}

static void write_named(struct writer *writer, const char *name, const cJSON *parameters)
{
    write_text(writer, writer->style->before);
    write_text(writer, name);
    write(writer, "middle ");
    write_json(writer, parameters, parameters);
    write_text(writer, writer->style->after);
}

static void write_tagged_value(struct writer *writer, const cJSON *schema, const cJSON *parameters)
{
    if (!serve_is_text(schema, parameters)) {
        write_json(writer, schema, parameters);
    } else {
        write(writer, "%s", write_choices(writer, schema, "(", "") ? ") " : "text-0 ");
    }
}

static void write_tags(struct writer *writer, const char *name, const cJSON *parameters)
{
    const struct serve_call_tags *tags = writer->style->tags;
    const cJSON *properties = cJSON_GetObjectItemCaseSensitive(parameters, "properties"), *item;
    if (writer->style->other_trigger) { // which comes without what stands in front of it
        write(writer, "(");
        write_text(writer, writer->style->before);
        write(writer, ")? ");
    } else {
        write_text(writer, writer->style->before);
    }
    write_text(writer, tags->name);
    write_text(writer, name);
    write_text(writer, tags->name_end);
    cJSON_ArrayForEach(item, properties)
    {
        const bool is_needed = is_required(parameters, item->string);
        write(writer, "%s", is_needed ? "" : "(");
        write_text(writer, tags->key);
        write_text(writer, item->string);
        write_text(writer, tags->key_end);
        write_tagged_value(writer, item, parameters);
        write_text(writer, tags->value_end);
        write(writer, "%s", is_needed ? "" : ")? ");
    }
    write(writer, "%s", properties && properties->child ? "" : "free* ");
    write_text(writer, tags->end);
    write_text(writer, writer->style->after);
}

static void write_python_value(struct writer *writer, const cJSON *schema, const cJSON *parameters)
{
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(schema, "type");
    const char *word = cJSON_IsString(type) ? type->valuestring : "";
    write(writer, "(");
    write_json(writer, schema, parameters);
    if (strcmp(word, "boolean") == 0) {
        write(writer, "| \"True\" | \"False\" ");
    } else if (strcmp(word, "string") == 0) {
        write(writer, "%s", write_choices(writer, schema, "| ", "'") ? "" : "| quoted ");
    }
    write(writer, ") ");
}

// Writes a call whose arguments come in the order of the schema: rules args-T-I-0 and args-T-I-1
// are what may stand from argument I on after none, and after others.
static void write_python(struct writer *writer, size_t tool, const char *name,
                         const cJSON *parameters)
{
    const cJSON *properties = cJSON_GetObjectItemCaseSensitive(parameters, "properties"), *item;
    const bool is_free = !properties || !properties->child;
    size_t i = 0;
    write_text(writer, name);
    write(writer, "\"(\" %s", is_free ? "free? \")\"\n" : "");
    if (is_free) {
        return;
    }
    write(writer, "args-%zu-0-0 \")\"\n", tool);
    cJSON_ArrayForEach(item, properties)
    {
        const bool is_needed = is_required(parameters, item->string);
        write(writer, "arg-%zu-%zu ::= ", tool, i);
        write_text(writer, item->string);
        write(writer, "\"=\" ");
        write_python_value(writer, item, parameters);
        for (int k = 0; k < 2; k++) {
            write(writer, "\nargs-%zu-%zu-%d ::= %sarg-%zu-%zu args-%zu-%zu-1", tool, i, k,
                  k ? "\", \" " : "", tool, i, tool, i + 1);
            if (!is_needed) {
                write(writer, " | args-%zu-%zu-%d", tool, i + 1, k);
            }
        }
        write(writer, "\n");
        i++;
    }
    write(writer, "args-%zu-%zu-0 ::= \"\"\nargs-%zu-%zu-1 ::= \"\"\n", tool, i, tool, i);
}

//-- all calls -------------------------------------------------------------------------------------

// Writes what an answer is: calls, of which lists and Python have all in one frame.
static void write_root(struct writer *writer, const struct serve_call_rules *rules)
{
    enum { MAX_CALLS = 8 };
    const struct serve_call_style *style = rules->style;
    const bool is_python = style->form == SERVE_CALL_PYTHON, is_whole = is_python || style->is_list;
    const bool is_alone =
        style->lead || (style->form == SERVE_CALL_JSON && !is_whole && !style->after[0]);
    write(writer, "root ::= ");
    write_text(writer, is_whole                            ? style->before
                       : rules->is_required && style->lead ? style->lead
                                                           : "");
    write(writer, "%scall ", style->is_list ? "ws \"[\" ws " : "");
    if (rules->is_parallel && !is_alone) {
        write(writer, "(");
        if (is_python) {
            write_text(writer, style->between);
        } else {
            write(writer, style->is_list ? "ws \",\" ws " : "\"\\n\"? ");
        }
        write(writer, "call){0,%d} ", MAX_CALLS - 1);
    }
    write(writer, "%s", style->is_list ? "ws \"]\" " : "");
    write_text(writer, is_whole ? style->after : "");
    write(writer, "\ncall ::= call-0");
    for (int i = 1; i < cJSON_GetArraySize(rules->tools); i++) {
        write(writer, " | call-%d", i);
    }
    write(writer, "\n");
}

// Writes the rules that calls share.
static void write_shared(struct writer *writer)
{
    const struct serve_call_style *style = writer->style;
    if (style->form == SERVE_CALL_NAMED) {
        write(writer, "middle ::= ");
        for (size_t i = 0; i < 4 && style->middles[i]; i++) {
            write(writer, "%s", i > 0 ? "| " : "");
            write_text(writer, style->middles[i]);
        }
        write(writer, "\n");
    } else if (style->form == SERVE_CALL_TAGS) {
        char end[32];
        const size_t n = strlen(style->tags->value_end);
        snprintf(end, sizeof(end), "%.*s",
                 (int)(n > 0 && style->tags->value_end[n - 1] == '\n' ? n - 1 : n),
                 style->tags->value_end);
        write_text_rules(writer, end);
        write(writer, "free ::= ");
        write_text(writer, style->tags->key);
        write(writer, "[a-zA-Z0-9_.]+ ");
        write_text(writer, style->tags->key_end);
        write(writer, "text-0 ");
        write_text(writer, style->tags->value_end);
        write(writer, "\n");
    } else if (style->form == SERVE_CALL_PYTHON) {
        write(writer, "quoted ::= \"'\" [^'\\\\\\x00-\\x1F]* \"'\"\n");
        write(writer, "free ::= [a-zA-Z0-9_]+ \"=\" ");
        write_json(writer, NULL, NULL);
        write(writer, "(\", \" [a-zA-Z0-9_]+ \"=\" json-%zu)*\n", writer->task->schemas.count);
    }
}

static bool is_bounded(const cJSON *list)
{
    return cJSON_GetArraySize(list) <= MAX_PROPERTIES;
}

// Returns a tool's parameters as the grammar takes them; NULL if they are too many or nest too
// deeply.
static cJSON *copy_parameters(const cJSON *function)
{
    const cJSON *parameters = cJSON_GetObjectItemCaseSensitive(function, "parameters");
    if (!is_bounded(cJSON_GetObjectItemCaseSensitive(parameters, "properties")) ||
        !is_bounded(cJSON_GetObjectItemCaseSensitive(parameters, "required"))) {
        return NULL;
    }
    cJSON *own = cJSON_IsObject(parameters) ? cJSON_Duplicate(parameters, 1) : NULL;
    own = own ? own : cJSON_Parse("{\"type\":\"object\"}");
    if (!cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(function, "strict")) &&
        !serve_relax_schema(own, 0)) {
        cJSON_Delete(own);
        return NULL;
    }
    return own;
}

static bool write_calls(struct writer *writer, const cJSON *tools)
{
    const cJSON *tool;
    size_t i = 0;
    cJSON_ArrayForEach(tool, tools)
    {
        const cJSON *function = cJSON_GetObjectItemCaseSensitive(tool, "function");
        const char *name = cJSON_GetObjectItemCaseSensitive(function, "name")->valuestring;
        cJSON *parameters = writer->is_full ? NULL : copy_parameters(function);
        if (!parameters) {
            return false;
        }
        write(writer, "call-%zu ::= ", i);
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
        }
        write(writer, "\n");
        cJSON_Delete(parameters);
        i++;
    }
    return !writer->is_full;
}

// Has the trigger of the style begin the grammar, and the control token of its name.
static void set_triggers(struct writer *writer)
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

bool serve_set_call_grammar(const struct serve_call_rules *rules, struct serve_task *task)
{
    struct writer writer = {.tokenizer = rules->tokenizer, .style = rules->style, .task = task};
    write_root(&writer, rules);
    write_shared(&writer);
    if (task->schemas.count == 0) { // the rules of JSON come with a schema
        write(&writer, "any ::= ");
        write_json(&writer, NULL, NULL);
        write(&writer, "\n");
    }
    const bool is_written = write_calls(&writer, rules->tools);
    if (!rules->is_required) {
        set_triggers(&writer);
    }
    free(task->grammar_text);
    task->grammar_text = writer.text.data;
    task->grammar.gbnf = task->grammar_text;
    task->grammar.schemas = (const char *const *)task->schemas.items;
    task->grammar.n_schemas = task->schemas.count;
    task->params.grammar = &task->grammar;
    return is_written;
}
