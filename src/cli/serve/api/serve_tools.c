#include "cli/serve/api/serve_tools.h"

#include "cli/common/cli_json.h"
#include "cli/serve/calls/serve_call_grammar.h"
#include "cli/serve/calls/serve_writer.h"

#include <stdlib.h>
#include <string.h>

enum {
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

// Returns what the template writes, NULL if it does not; the caller frees it.
static char *probe(const struct glinfer_tokenizer *tokenizer, const char *messages)
{
    struct glinfer_chat_json chat;
    struct cli_ids ids = {0};
    char *text = NULL;
    glinfer_chat_json_init(&chat);
    chat.messages = messages;
    chat.tools = PROBE_TOOL;
    if (cli_chat_json_ids(tokenizer, &chat, &ids, NULL)) {
        cJSON *raw = serve_write_tokens(tokenizer, ids.items, ids.count);
        cJSON *json = cJSON_Parse(raw->valuestring);
        text = cJSON_IsString(json) ? cli_copy(json->valuestring) : NULL;
        cJSON_Delete(json);
        cJSON_Delete(raw);
    }
    free(ids.items);
    return text;
}

// Finds the style of JSON with a name first.
static const struct serve_call_style *find_json_style(const char *called)
{
    static const char name[] = "{\"name\": \"probe_name\", ";
    const char *found = strstr(called, name);
    const char *member = found ? found + strlen(name) : "";
    if (strncmp(member, "\"parameters\":", 13) == 0) {
        return &serve_style_plain;
    }
    if (strncmp(member, "\"arguments\":", 12) != 0) {
        return NULL;
    }
    return strstr(called, "<tool_calls>[")  ? &serve_style_apriel
           : strstr(called, "<tool_call>")  ? &serve_style_tagged
           : strstr(called, "[TOOL_CALLS]") ? &serve_style_listed
           : strstr(called, "<TOOLCALL>")   ? &serve_style_nemotron
                                            : NULL;
}

// Finds the style in what a template wrote of a call, behind what it tells of tools.
static const struct serve_call_style *find_written(const char *called)
{
    static const struct {
        const char *sign;
        const struct serve_call_style *style;
    } signs[] = {
        {"[TOOL_CALLS]probe_name[", &serve_style_mistral},
        {"to=functions.probe_name", &serve_style_harmony},
        {"<seed:tool_call>\n<function=probe_name>", &serve_style_seed},
        {"<tool_call>\n<function=probe_name>", &serve_style_qwen},
        {"<function name=\"probe_name\">", &serve_style_minicpm},
        {"<|tool_call_start|>[probe_name(", &serve_style_lfm2_written},
        {"<function_calls>probe_name(", &serve_style_olmo3},
        {"<|tool_response>response:probe_name{", &serve_style_gemma},
        {"<|tool_call>call:probe_name{", &serve_style_gemma_first},
    };
    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
        if (strstr(called, signs[i].sign)) {
            return signs[i].style;
        }
    }
    return find_json_style(called);
}

// Finds the style of a template that tells of tools but writes no call, NULL if it is not known.
static const struct serve_call_style *find_told(const struct glinfer_tokenizer *tokenizer,
                                                const char *told)
{
    const char *lfm2 = serve_style_lfm2.trigger;
    return strstr(told, "<|tool_call|>") ? &serve_style_granite
           : strstr(told, "List of tools: ") && serve_find_mark(tokenizer, lfm2, strlen(lfm2)) >= 0
               ? &serve_style_lfm2
               : NULL;
}

const struct serve_call_style *serve_find_style(const struct glinfer_tokenizer *tokenizer)
{
    const struct serve_call_style *style = NULL;
    char *told = probe(tokenizer, "[{\"role\":\"user\",\"content\":\"q\"}]");
    char *called = probe(tokenizer, PROBE_CALL);
    if (told && strstr(told, "probe_name")) {
        const size_t half = strlen(told) / 2;
        style = called && strlen(called) > half ? find_written(called + half) : NULL;
        style = style ? style : find_told(tokenizer, told);
    }
    free(told);
    free(called);
    return style ? style : &serve_style_told;
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
        if (!serve_is_name(name)) {
            return serve_fields_refuse(
                fields, 400, "the name of a tool is 1 to 64 of A-Z, a-z, 0-9, _, - and .");
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
    if (serve_fields_get(fields, "functions") || serve_fields_get(fields, "function_call")) {
        serve_fields_refuse(fields, 400,
                            "\"functions\" and \"function_call\" are not supported; use \"tools\" "
                            "and \"tool_choice\"");
    }
    if (list && !cJSON_IsArray(list)) {
        serve_fields_refuse(fields, 400, "\"tools\" is a list");
    }
    if (choice && !wanted &&
        !(word && (tools->is_required || strcmp(word, "auto") == 0 || strcmp(word, "none") == 0))) {
        serve_fields_refuse(fields, 400,
                            "\"tool_choice\" is none, auto, required, or {\"type\": "
                            "\"function\", \"function\": {\"name\": ...}}");
    }
    if (tools->is_required && cJSON_GetArraySize(list) == 0) {
        serve_fields_refuse(fields, 400,
                            "\"tool_choice\" asks for a call, but there are no \"tools\"");
    }
    if (fields->is_wrong || !list || (word && strcmp(word, "none") == 0) ||
        !copy_tools(fields, wanted, tools)) {
        return;
    }
    tools->style = serve_find_style(tokenizer);
    const struct serve_call_rules rules = {
        .tokenizer = tokenizer,
        .style = tools->style,
        .tools = tools->list,
        .is_required = tools->is_required,
        .is_parallel = is_parallel,
    };
    struct glinfer_error why = {0};
    if (!task->params.grammar && !serve_set_call_grammar(&rules, task, &why)) {
        serve_fields_refuse(fields, 400, "%s", why.message);
    }
}

void serve_tools_finish(struct serve_tools *tools)
{
    cJSON_Delete(tools->list);
    tools->list = NULL;
}
