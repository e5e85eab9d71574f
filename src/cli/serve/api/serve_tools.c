#include "cli/serve/api/serve_tools.h"

#include "cli/common/cli_json_read.h"
#include "cli/common/cli_session.h"
#include "cli/serve/api/serve_tokens.h"
#include "cli/serve/calls/serve_call_grammar.h"
#include "cli/serve/calls/serve_calls.h"
#include "cli/serve/calls/serve_values.h"
#include "cli/serve/calls/serve_writer.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_TOOLS = 128 };

//-- templates -------------------------------------------------------------------------------------

#define PROBE_TOOL                                                                                 \
    "[{\"type\":\"function\",\"function\":{\"name\":\"probe_name\",\"description\":\"d\","         \
    "\"parameters\":{\"type\":\"object\",\"properties\":{\"probe_key\":{\"type\":\"string\"}},"    \
    "\"required\":[\"probe_key\"]}}}]"
#define PROBE_CALL                                                                                 \
    "[{\"role\":\"user\",\"content\":\"q\"},{\"role\":\"assistant\",\"content\":\"\","             \
    "\"tool_calls\":[{\"id\":\"probe0001\",\"type\":\"function\",\"function\":{\"name\":"          \
    "\"probe_name\",\"arguments\":{\"probe_key\":\"v\"}}}]},{\"role\":\"tool\",\"tool_call_id\":"  \
    "\"probe0001\",\"name\":\"probe_name\",\"content\":\"r\"}]"

// Returns the text that the template writes, NULL if it fails; the caller frees it.
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

// Returns true if a call that a template wrote is one of a style: the reader finds the call.
static bool is_written(const struct serve_call_style *style, const char *written)
{
    bool is_found = false;
    for (const char *at = strstr(written, style->triggers[0]); at && !is_found;
         at = strstr(at + 1, style->triggers[0])) {
        size_t shown = 0;
        struct serve_input in = {at, at + strlen(at)};
        const bool has_begin = serve_take(&in, style->begin);
        cJSON *calls = has_begin ? serve_read_calls(style, NULL, at, strlen(at), &shown) : NULL;
        const cJSON *function = cli_json_get(cJSON_GetArrayItem(calls, 0), "function");
        const char *name = cli_json_get_text(function, "name");
        const char *arguments = cli_json_get_text(function, "arguments");
        is_found = name && strcmp(name, "probe_name") == 0 &&
                   strcmp(arguments, "{\"probe_key\":\"v\"}") == 0;
        cJSON_Delete(calls);
    }
    return is_found;
}

// Finds the style of a template that describes tools but writes no calls.
static void find_told(struct serve_tools *tools, const struct glinfer_tokenizer *tokenizer,
                      const char *told)
{
    const struct serve_call_style *granite = &serve_styles[SERVE_STYLE_GRANITE];
    const struct serve_call_style *lfm2 = &serve_styles[SERVE_STYLE_LFM2];
    const char *mark = lfm2->triggers[0];
    const bool is_granite = strstr(told, granite->triggers[0]);
    if (is_granite ||
        (strstr(told, "List of tools: ") && serve_find_mark(tokenizer, mark, strlen(mark)) >= 0)) {
        tools->style = is_granite ? granite : lfm2;
        tools->support = SERVE_TOOLS_TOLD;
    }
}

void serve_tools_probe(struct serve_tools *tools, const struct glinfer_tokenizer *tokenizer)
{
    char *told = probe(tokenizer, "[{\"role\":\"user\",\"content\":\"q\"}]");
    char *called = probe(tokenizer, PROBE_CALL);
    const bool has_tools = told && strstr(told, "probe_name");
    tools->style = &serve_styles[SERVE_STYLE_TAGGED];
    tools->support = SERVE_TOOLS_UNKNOWN;
    for (size_t i = 0; has_tools && called && !tools->support && i < SERVE_N_STYLES; i++) {
        const struct serve_call_style *style = &serve_styles[i];
        if (is_written(style, called)) {
            tools->style = style;
            tools->support = style->result && !strstr(called, style->result) ? SERVE_TOOLS_JOINED
                                                                             : SERVE_TOOLS_WRITTEN;
        }
    }
    if (has_tools && !tools->support) {
        find_told(tools, tokenizer, told);
    }
    free(told);
    free(called);
}

//-- requests --------------------------------------------------------------------------------------

static const char *name_of(const cJSON *tool)
{
    const char *name = cli_json_get_text(cli_json_get(tool, "function"), "name");
    return name && name[0] ? name : NULL;
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
                                       "invalid tool: expected {\"type\": \"function\", "
                                       "\"function\": {\"name\": ..., \"parameters\": ...}}");
        }
        if (!serve_is_name(name)) {
            return serve_fields_refuse(
                fields, 400,
                "invalid name of a tool: expected 1 to 64 of A-Z, a-z, 0-9, _, - and .");
        }
        if (!wanted || strcmp(name, wanted) == 0) {
            cJSON_AddItemToArray(tools->list, cJSON_Duplicate(tool, 1));
        }
    }
    const int n = cJSON_GetArraySize(tools->list);
    return n > MAX_TOOLS
               ? serve_fields_refuse(fields, 400, "invalid \"tools\": more than %d", MAX_TOOLS)
           : wanted && n == 0 ? serve_fields_refuse(
                                    fields, 400, "invalid \"tool_choice\": unknown tool %s", wanted)
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
        serve_fields_expect(fields, "tools", "a list");
    }
    if (choice && !wanted &&
        !(word && (tools->is_required || strcmp(word, "auto") == 0 || strcmp(word, "none") == 0))) {
        serve_fields_expect(
            fields, "tool_choice",
            "none, auto, required, or {\"type\": \"function\", \"function\": {\"name\": ...}}");
    }
    if (tools->is_required && cJSON_GetArraySize(list) == 0) {
        serve_fields_refuse(
            fields, 400, "invalid \"tool_choice\": a call is required, but there are no \"tools\"");
    }
    if (fields->is_wrong || !list || (word && strcmp(word, "none") == 0) ||
        !copy_tools(fields, wanted, tools)) {
        return;
    }
    serve_tools_probe(tools, tokenizer);
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
