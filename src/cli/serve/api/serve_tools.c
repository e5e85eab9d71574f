#include "cli/serve/api/serve_tools.h"

#include "cli/common/cli_json.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_CALLS = 8, // of one answer
    MAX_NESTING = 50,
    MAX_TOOLS = 128,
};

//-- styles ----------------------------------------------------------------------------------------

#define PROBE_TOOL                                                                                 \
    "[{\"type\":\"function\",\"function\":{\"name\":\"probe_name\",\"description\":\"d\","         \
    "\"parameters\":{\"type\":\"object\",\"properties\":{\"probe_key\":{\"type\":\"string\"}},"    \
    "\"required\":[\"probe_key\"]}}}]"
#define PROBE_CALL                                                                                 \
    "[{\"role\":\"user\",\"content\":\"q\"},{\"role\":\"assistant\",\"content\":\"\","             \
    "\"tool_calls\":[{\"id\":\"probe0001\",\"type\":\"function\",\"function\":{\"name\":"          \
    "\"probe_name\",\"arguments\":{\"probe_key\":\"v\"}}}]},{\"role\":\"tool\",\"tool_call_id\":"  \
    "\"probe0001\",\"name\":\"probe_name\",\"content\":\"r\"}]"

// Returns what the template writes, as a JSON string's inside is escaped; NULL if it does not.
static char *probe(const struct glinfer_tokenizer *tokenizer, const char *messages)
{
    struct glinfer_chat_json chat;
    int32_t ids[2048];
    size_t n = 0;
    glinfer_chat_json_init(&chat);
    chat.messages = messages;
    chat.tools = PROBE_TOOL;
    if (!glinfer_chat_tokenize_json(tokenizer, &chat, ids, 2048, &n, NULL) || n > 2048) {
        return NULL;
    }
    cJSON *json = serve_write_tokens(tokenizer, ids, n);
    char *text = cJSON_PrintUnformatted(json);
    cJSON_Delete(json);
    return text;
}

const struct serve_call_style *serve_find_style(const struct glinfer_tokenizer *tokenizer)
{
    const struct serve_call_style *style = &serve_style_told;
    char *told = probe(tokenizer, "[{\"role\":\"user\",\"content\":\"q\"}]");
    char *called = probe(tokenizer, PROBE_CALL);
    if (told && called && strstr(told, "probe_name")) {
        static const char name[] = "{\\\"name\\\": \\\"probe_name\\\", ";
        const char *found = strstr(called + strlen(told) / 2, name);
        const char *member = found ? found + strlen(name) : "";
        if (strncmp(member, "\\\"arguments\\\":", 14) == 0) {
            style = strstr(called, "<tool_call>")    ? &serve_style_tagged
                    : strstr(called, "[TOOL_CALLS]") ? &serve_style_listed
                                                     : style;
        } else if (strncmp(member, "\\\"parameters\\\":", 15) == 0) {
            style = &serve_style_plain;
        }
    }
    cJSON_free(told);
    cJSON_free(called);
    return style;
}

//-- schemas ---------------------------------------------------------------------------------------

static bool is_one_of(const char *word, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(word, words[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_known(const cJSON *member)
{
    static const char *const words[] = {
        "type",
        "enum",
        "const",
        "properties",
        "required",
        "items",
        "minItems",
        "maxItems",
        "minLength",
        "maxLength",
        "anyOf",
        "oneOf",
        "allOf",
        "$ref",
        "$defs",
        "definitions",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "prefixItems",
        "additionalProperties",
    };
    static const char *const formats[] = {"date", "time", "date-time", "uuid"};
    if (strcmp(member->string, "format") == 0) {
        return cJSON_IsString(member) && is_one_of(member->valuestring, formats, 4);
    }
    return is_one_of(member->string, words, sizeof(words) / sizeof(words[0]));
}

// Relaxes every schema of a list. NOLINTNEXTLINE(misc-no-recursion): bounded by MAX_NESTING
static bool relax_all(cJSON *list, int depth)
{
    cJSON *item;
    bool is_done = true;
    cJSON_ArrayForEach(item, list)
    {
        is_done = is_done && serve_relax_schema(item, depth);
    }
    return is_done;
}

// NOLINTNEXTLINE(misc-no-recursion)
bool serve_relax_schema(cJSON *schema, int depth)
{
    static const char *const lists[] = {"properties", "$defs", "definitions", "anyOf",
                                        "oneOf",      "allOf", "prefixItems"};
    if (depth > MAX_NESTING) {
        return false;
    }
    if (!cJSON_IsObject(schema)) {
        return true;
    }
    for (cJSON *member = schema->child, *next; member; member = next) {
        next = member->next;
        if (!is_known(member)) {
            cJSON_Delete(cJSON_DetachItemViaPointer(schema, member));
        }
    }
    // Bounds are counted for whole numbers alone.
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(schema, "type");
    static const char *const bounds[] = {"minimum", "maximum", "exclusiveMinimum",
                                         "exclusiveMaximum"};
    for (size_t i = 0;
         i < 4 && !(cJSON_IsString(type) && strcmp(type->valuestring, "integer") == 0); i++) {
        cJSON_DeleteItemFromObjectCaseSensitive(schema, bounds[i]);
    }
    bool is_done = serve_relax_schema(cJSON_GetObjectItemCaseSensitive(schema, "items"), depth + 1);
    for (size_t i = 0; is_done && i < sizeof(lists) / sizeof(lists[0]); i++) {
        is_done = relax_all(cJSON_GetObjectItemCaseSensitive(schema, lists[i]), depth + 1);
    }
    return is_done;
}

// Moves the definitions of a schema, which $ref looks for in the whole, to the whole.
static void hoist(cJSON *root, cJSON *schema, const char *name)
{
    cJSON *own = cJSON_DetachItemFromObjectCaseSensitive(schema, name);
    cJSON *all = cJSON_GetObjectItemCaseSensitive(root, name);
    if (!own) {
        return;
    }
    all = all ? all : cJSON_AddObjectToObject(root, name);
    for (cJSON *item = own->child, *next; item; item = next) {
        next = item->next;
        cJSON *detached = cJSON_DetachItemViaPointer(own, item);
        if (cJSON_GetObjectItemCaseSensitive(all, detached->string)) {
            cJSON_Delete(detached);
        } else {
            cJSON_AddItemToObject(all, detached->string, detached);
        }
    }
    cJSON_Delete(own);
}

// Returns the schema of a tool's call; NULL if the parameters nest too deeply.
static cJSON *create_call_schema(cJSON *root, const cJSON *function, const char *arguments)
{
    const cJSON *parameters = cJSON_GetObjectItemCaseSensitive(function, "parameters");
    cJSON *own = cJSON_IsObject(parameters) ? cJSON_Duplicate(parameters, 1) : NULL;
    const bool is_strict = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(function, "strict"));
    own = own ? own : cJSON_Parse("{\"type\":\"object\"}");
    if (!is_strict && !serve_relax_schema(own, 0)) {
        cJSON_Delete(own);
        return NULL;
    }
    hoist(root, own, "$defs");
    hoist(root, own, "definitions");
    cJSON *schema = cJSON_CreateObject();
    cJSON_AddStringToObject(schema, "type", "object");
    cJSON *properties = cJSON_AddObjectToObject(schema, "properties");
    cJSON *name = cJSON_AddObjectToObject(properties, "name");
    cJSON_AddItemToObject(name, "const",
                          cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(function, "name"), 1));
    cJSON_AddItemToObject(properties, arguments, own);
    cJSON *required = cJSON_AddArrayToObject(schema, "required");
    cJSON_AddItemToArray(required, cJSON_CreateString("name"));
    cJSON_AddItemToArray(required, cJSON_CreateString(arguments));
    return schema;
}

// Returns the schema of what a style's JSON is: one of the calls, or a list of them.
static cJSON *create_list_schema(cJSON *root, const struct serve_call_style *style,
                                 bool is_parallel)
{
    if (!style->is_list) {
        return root;
    }
    cJSON *list = cJSON_CreateObject();
    cJSON_AddStringToObject(list, "type", "array");
    cJSON_AddNumberToObject(list, "minItems", 1);
    cJSON_AddNumberToObject(list, "maxItems", is_parallel ? MAX_CALLS : 1);
    hoist(list, root, "$defs");
    hoist(list, root, "definitions");
    cJSON_AddItemToObject(list, "items", root);
    return list;
}

// Has a style's trigger begin the grammar, and the token of that name, which may have no text, if
// that is all that stands in front of the JSON.
static void set_trigger(struct serve_task *task, const struct glinfer_tokenizer *tokenizer,
                        const struct serve_tools *tools)
{
    const char *trigger = tools->style->trigger;
    struct glinfer_grammar *grammar = &task->grammar;
    size_t n = 0;
    if (tools->is_required) {
        return;
    }
    task->triggers[0] = trigger;
    grammar->trigger_words = task->triggers;
    grammar->n_trigger_words = 1;
    if (strcmp(trigger, tools->style->before) == 0 &&
        glinfer_tokenize(tokenizer, trigger, strlen(trigger), GLINFER_TOKENIZE_NO_BOS,
                         &task->trigger_token, 1, &n, NULL) &&
        n == 1) {
        grammar->trigger_tokens = &task->trigger_token;
        grammar->n_trigger_tokens = 1;
    }
}

static void set_grammar(struct serve_fields *fields, const struct glinfer_tokenizer *tokenizer,
                        struct serve_task *task, const struct serve_tools *tools, bool is_parallel)
{
    const struct serve_call_style *style = tools->style;
    struct glinfer_grammar *grammar = &task->grammar;
    cJSON *root = cJSON_CreateObject();
    cJSON *any = cJSON_AddArrayToObject(root, "anyOf");
    const cJSON *tool;
    cJSON_ArrayForEach(tool, tools->list)
    {
        cJSON *schema = create_call_schema(root, cJSON_GetObjectItemCaseSensitive(tool, "function"),
                                           style->arguments);
        if (!schema) {
            serve_fields_refuse(fields, 400, "the parameters of a tool nest too deeply");
        }
        cJSON_AddItemToArray(any, schema);
    }
    root = create_list_schema(root, style, is_parallel);
    free(task->grammar_text);
    task->grammar_text = cJSON_PrintUnformatted(root);
    cJSON_Delete(root);
    grammar->json_schema = task->grammar_text;
    grammar->json_before = style->before;
    grammar->json_after = style->after;
    grammar->max_json = is_parallel && style->after[0] ? MAX_CALLS : 1;
    set_trigger(task, tokenizer, tools);
    task->params.grammar = grammar;
}

//-- what is asked for -----------------------------------------------------------------------------

static const char *name_of(const cJSON *tool)
{
    const cJSON *function = cJSON_GetObjectItemCaseSensitive(tool, "function");
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(function, "name");
    return cJSON_IsString(name) && name->valuestring[0] ? name->valuestring : NULL;
}

static bool copy_tools(struct serve_fields *fields, const char *wanted, struct serve_tools *tools)
{
    const cJSON *list = serve_fields_get(fields, "tools"), *tool;
    tools->list = cJSON_CreateArray();
    cJSON_ArrayForEach(tool, list)
    {
        const char *name = name_of(tool);
        if (!name) {
            return serve_fields_refuse(fields, 400,
                                       "a tool is {\"type\": \"function\", \"function\": "
                                       "{\"name\": ..., \"parameters\": ...}}");
        }
        if (!wanted || strcmp(name, wanted) == 0) {
            cJSON_AddItemToArray(tools->list, cJSON_Duplicate(tool, 1));
        }
    }
    const int n = cJSON_GetArraySize(tools->list);
    return n > MAX_TOOLS
               ? serve_fields_refuse(fields, 400, "there are more than %d tools", MAX_TOOLS)
           : wanted && n == 0 ? serve_fields_refuse(fields, 400, "no tool is called %s", wanted)
                              : n > 0;
}

void serve_tools_read(struct serve_fields *fields, const struct glinfer_tokenizer *tokenizer,
                      struct serve_task *task, struct serve_tools *tools)
{
    const cJSON *list = serve_fields_get(fields, "tools");
    const cJSON *choice = serve_fields_get(fields, "tool_choice");
    const char *word = cJSON_IsString(choice) ? choice->valuestring : NULL;
    const char *wanted = cJSON_IsObject(choice) ? name_of(choice) : NULL;
    bool is_parallel = true;
    serve_fields_bool(fields, "parallel_tool_calls", &is_parallel);
    *tools = (struct serve_tools){.is_required = wanted || (word && strcmp(word, "required") == 0)};
    if (list && !cJSON_IsArray(list)) {
        serve_fields_refuse(fields, 400, "\"tools\" is a list");
    }
    if (choice && !wanted &&
        !(word && (tools->is_required || strcmp(word, "auto") == 0 || strcmp(word, "none") == 0))) {
        serve_fields_refuse(fields, 400,
                            "\"tool_choice\" is none, auto, required, or {\"type\": "
                            "\"function\", \"function\": {\"name\": ...}}");
    }
    if (fields->is_wrong || !list || (word && strcmp(word, "none") == 0) ||
        !copy_tools(fields, wanted, tools)) {
        return;
    }
    tools->style = serve_find_style(tokenizer);
    if (!task->params.grammar) {
        set_grammar(fields, tokenizer, task, tools, is_parallel);
    }
}

void serve_tools_finish(struct serve_tools *tools)
{
    cJSON_Delete(tools->list);
    tools->list = NULL;
}
