// Requests for completions and chats.
#include "cli/common/cli_json_read.h"
#include "cli/serve/api/serve_conversation.h"
#include "cli/serve/api/serve_handlers.h"
#include "cli/serve/api/serve_request.h"
#include "cli/serve/api/serve_sampling.h"
#include "cli/serve/api/serve_tokens.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_TOP = 64 };

//-- shared fields ---------------------------------------------------------------------------------

static void read_stream(struct serve_request *request)
{
    struct serve_fields *fields = &request->fields;
    serve_fields_bool(fields, "stream", &request->answer->is_stream);
    serve_fields_bool(fields, "return_progress", &request->task->has_progress);
    serve_fields_bool(fields, "timings_per_token", &request->answer->has_timings);
    serve_fields_int(fields, "sse_ping_interval", -1, 86400, &request->answer->ping_s);
    const cJSON *options = serve_fields_get(fields, "stream_options");
    request->answer->has_usage = cJSON_IsTrue(cli_json_get(options, "include_usage"));
    request->task->has_progress = request->task->has_progress && request->answer->is_stream;
}

static void read_slot(struct serve_request *request)
{
    bool keeps_cache = true;
    int64_t slot = -1, n_keep = 0;
    struct serve_snapshot seen;
    serve_scheduler_look(request->api->scheduler, &seen);
    serve_fields_bool(&request->fields, "cache_prompt", &keeps_cache);
    serve_fields_int(&request->fields, "id_slot", -1, seen.n_slots - 1, &slot);
    serve_fields_int(&request->fields, "n_keep", -1, 1 << 24, &n_keep);
    request->task->is_fresh = !keeps_cache;
    request->task->slot = (int32_t)slot;
    request->task->params.n_keep = (int32_t)n_keep;
}

// Reads the number of log-probabilities that are wanted. The token itself is looked for among the
// likeliest.
static void read_probs(struct serve_request *request)
{
    struct serve_fields *fields = &request->fields;
    const cJSON *logprobs = serve_fields_get(fields, "logprobs");
    int64_t n_top = 0;
    bool has_probs = serve_fields_int(fields, "n_probs", 0, MAX_TOP, &n_top) && n_top > 0;
    if (cJSON_IsBool(logprobs)) {
        has_probs = cJSON_IsTrue(logprobs);
        serve_fields_int(fields, "top_logprobs", 0, 20, &n_top);
    } else if (serve_fields_int(fields, "logprobs", 0, 20, &n_top)) {
        has_probs = true;
    }
    if (!has_probs && serve_fields_int(fields, "top_logprobs", 0, 20, &n_top) && n_top > 0) {
        serve_fields_refuse(fields, 400, "invalid \"top_logprobs\": \"logprobs\" is missing");
    }
    serve_fields_bool(fields, "post_sampling_probs", &request->answer->has_chosen_probs);
    request->answer->n_top = (uint32_t)n_top;
    request->task->params.n_probs = has_probs ? MAX_TOP : 0;
}

static void set_schema(struct serve_request *request, const cJSON *schema)
{
    struct serve_task *task = request->task;
    free(task->grammar_text);
    task->grammar_text = cJSON_PrintUnformatted(schema);
    task->grammar.json_schema = task->grammar_text;
}

static void read_format(struct serve_request *request)
{
    struct serve_fields *fields = &request->fields;
    const cJSON *format = serve_fields_get(fields, "response_format");
    const cJSON *type = cli_json_get(format, "type");
    const cJSON *schema = cli_json_get(format, "schema");
    const cJSON *named = cli_json_get(format, "json_schema");
    const char *name = cJSON_IsString(type) ? type->valuestring : "";
    schema = cJSON_IsObject(named) ? cli_json_get(named, "schema") : schema;
    if (!format || strcmp(name, "text") == 0) {
        return;
    }
    if (strcmp(name, "json_schema") != 0 && strcmp(name, "json_object") != 0) {
        serve_fields_expect(fields, "response_format", "the type text, json_object or json_schema");
    } else if (schema) {
        set_schema(request, schema);
    } else {
        request->task->grammar.json_schema = "{\"type\":\"object\"}";
    }
}

static void read_grammar(struct serve_request *request)
{
    struct glinfer_grammar *grammar = &request->task->grammar;
    const struct glinfer_grammar *own = &request->api->settings->sampling.grammar;
    const cJSON *schema = serve_fields_get(&request->fields, "json_schema");
    read_format(request);
    if (schema) {
        set_schema(request, schema);
    }
    const char *gbnf = NULL;
    if (serve_fields_text(&request->fields, "grammar", &gbnf) && gbnf[0]) {
        grammar->gbnf = gbnf; // counts more than a schema
        grammar->json_schema = NULL;
    }
    if (!grammar->gbnf && !grammar->json_schema) {
        *grammar = *own;
    }
    request->task->params.grammar = grammar->gbnf || grammar->json_schema ? grammar : NULL;
    struct glinfer_error err;
    if (request->task->params.grammar && request->task->params.n_predict == 0 &&
        !glinfer_grammar_check(grammar, &err)) { // no token needs it
        serve_fields_refuse(&request->fields, 400, "%s", err.message);
    }
}

static void read_shared(struct serve_request *request)
{
    static const char *const lengths[] = {"n_predict", "max_tokens", "max_completion_tokens"};
    const struct serve_api *api = request->api;
    int64_t n_predict = api->settings->n_predict;
    if (serve_scheduler_info(api->scheduler)->is_encoder) {
        serve_fields_refuse(&request->fields, 400,
                            "this model is an encoder: it cannot generate text; /v1/embeddings "
                            "computes embeddings");
    }
    serve_sampling_read(&request->fields, &api->settings->sampling, request->tokenizer,
                        request->task, &request->seed);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        serve_fields_int(&request->fields, lengths[i], -1, 1 << 24, &n_predict);
    }
    request->task->params.n_predict = (int32_t)n_predict;
    request->answer->is_verbose = api->settings->session.device.verbosity > 0;
    serve_fields_bool(&request->fields, "verbose", &request->answer->is_verbose);
    request->task->params.context_full =
        api->settings->shifts ? GLINFER_CONTEXT_FULL_SHIFT : GLINFER_CONTEXT_FULL_STOP;
    read_stream(request);
    read_slot(request);
    read_probs(request);
    read_grammar(request);
    serve_fields_int(&request->fields, "n", 1, SERVE_MAX_ANSWERS, &request->n_choices);
    serve_fields_int(&request->fields, "n_cmpl", 1, SERVE_MAX_ANSWERS, &request->n_choices);
    serve_fields_bool(&request->fields, "return_tokens", &request->answer->has_ids);
}

//-- prompts ---------------------------------------------------------------------------------------

// Adds the answers to one prompt with its places; takes over its ids. text: of the prompt; NULL:
// unknown.
static void add_jobs(struct serve_request *request, const char *text, struct cli_ids *ids,
                     const struct serve_places *places)
{
    struct serve_task *task = request->task;
    const uint32_t n_ctx = serve_scheduler_info(request->api->scheduler)->n_ctx;
    if (ids->count == 0) {
        serve_fields_refuse(&request->fields, 400, "invalid prompt: it is empty");
    } else if (ids->count >= n_ctx) {
        serve_fields_overflow(&request->fields, ids->count, n_ctx);
    }
    for (int64_t i = 0; i < request->n_choices && !request->fields.is_wrong; i++) {
        if (task->n_jobs == SERVE_MAX_ANSWERS) {
            serve_fields_refuse(&request->fields, 400, "invalid request: more than %d answers",
                                SERVE_MAX_ANSWERS);
            break;
        }
        struct serve_job *job = serve_task_add(task);
        job->seed = request->seed + (uint64_t)i;
        cli_ids_append(&job->prompt, ids->items, ids->count);
        job->text = text;
        job->places = *places;
    }
    free(ids->items);
    *ids = (struct cli_ids){0};
}

static void add_prompt(struct serve_request *request, const cJSON *prompt)
{
    struct cli_ids ids = {0};
    if (serve_read_prompt(&request->fields, request->tokenizer, prompt, &ids)) {
        add_jobs(request, cJSON_IsString(prompt) ? prompt->valuestring : NULL, &ids,
                 &(const struct serve_places){0});
    } else {
        free(ids.items);
    }
}

// Returns true for a list of prompts; a list with an id is one prompt.
static bool is_list_of_prompts(const cJSON *prompt)
{
    const cJSON *item = cJSON_IsArray(prompt) ? prompt->child : NULL;
    while (item && !cli_json_is_number(item)) {
        item = item->next;
    }
    return cJSON_IsArray(prompt) && !item;
}

static void read_prompts(struct serve_request *request)
{
    const cJSON *prompt = serve_fields_get(&request->fields, "prompt");
    if (prompt) {
        serve_request_each(request, "prompt", prompt, is_list_of_prompts(prompt), add_prompt);
    } else {
        serve_fields_refuse(&request->fields, 400, "missing \"prompt\"");
    }
}

//-- handlers --------------------------------------------------------------------------------------

// Refuses fields of OpenAI's completions that this server does not support.
static void refuse_absent(struct serve_fields *fields)
{
    int64_t best_of = 1;
    const cJSON *suffix = serve_fields_get(fields, "suffix");
    serve_fields_int(fields, "best_of", 1, SERVE_MAX_ANSWERS, &best_of);
    if (best_of > 1) {
        serve_fields_refuse(fields, 400, "\"best_of\" is not supported; \"n\" gives all answers");
    } else if (cJSON_IsString(suffix) && suffix->valuestring[0]) {
        serve_fields_refuse(fields, 400,
                            "\"suffix\" is not supported; write the fill-in tokens of the model "
                            "into the \"prompt\"");
    }
}

void serve_complete(const struct serve_api *api, cJSON *body, const struct serve_format *format,
                    struct serve_reply *reply)
{
    struct serve_request request;
    serve_request_open(&request, api, body, format);
    read_shared(&request);
    if (format == &serve_format_completion) {
        refuse_absent(&request.fields);
        serve_fields_bool(&request.fields, "echo", &request.task->has_echo);
        request.task->has_echo_probs = request.task->has_echo && request.task->params.n_probs > 0;
        request.task->n_echo_probs = request.answer->n_top;
    }
    if (!request.fields.is_wrong) {
        read_prompts(&request);
    }
    serve_request_close(&request, reply);
}

void serve_handle_completion(const struct serve_api *api, cJSON *body, struct serve_reply *reply)
{
    serve_complete(api, body, &serve_format_native, reply);
}

void serve_handle_completions(const struct serve_api *api, cJSON *body, struct serve_reply *reply)
{
    serve_complete(api, body, &serve_format_completion, reply);
}

// Returns true if thoughts are separated from answers.
static bool read_reasoning(struct serve_request *request)
{
    const char *name =
        request->api->settings->reasoning_format == SERVE_REASONING_NONE ? "none" : "auto";
    serve_fields_text(&request->fields, "reasoning_format", &name);
    if (strcmp(name, "none") == 0) {
        return false;
    }
    if (strcmp(name, "auto") != 0 && strncmp(name, "deepseek", strlen("deepseek")) != 0) {
        serve_fields_expect(&request->fields, "reasoning_format", "auto, deepseek or none");
    }
    return true;
}

// Returns the maximum number of tokens of a thought, -1: no limit, and sets its last words.
static int64_t read_budget(struct serve_request *request, const char **message)
{
    static const char *const names[] = {"thinking_budget_tokens", "reasoning_budget_tokens"};
    int64_t budget = -1;
    for (size_t i = 0; i < 2; i++) {
        serve_fields_int(&request->fields, names[i], -1, INT32_MAX, &budget);
    }
    serve_fields_text(&request->fields, "reasoning_budget_message", message);
    return budget >= 0 ? budget : request->api->settings->thought_budget;
}

// Ends a thought that the prompt leaves open if there is no budget for it, or if a grammar applies
// from the first token on: the thought would have to follow the grammar.
static void close_thought(const struct serve_request *request, int64_t budget, struct cli_ids *ids)
{
    const struct glinfer_grammar *grammar = request->task->params.grammar;
    const bool is_free = budget != 0 && (!grammar || grammar->n_trigger_words > 0);
    const char *end = cli_reasoning_end_of(cli_reasoning_find_open(request->tokenizer, ids));
    char text[32];
    int32_t more[32];
    size_t n = 0;
    snprintf(text, sizeof(text), "\n%s\n\n", end ? end : "");
    if (!is_free && end &&
        glinfer_tokenize(request->tokenizer, text, strlen(text), GLINFER_TOKENIZE_NO_BOS, more, 32,
                         &n, NULL) &&
        n <= 32) {
        cli_ids_append(ids, more, n);
    }
}

void serve_chat(const struct serve_api *api, cJSON *body, const struct serve_format *format,
                struct serve_reply *reply)
{
    struct serve_request request;
    struct serve_tools tools = {0};
    struct cli_ids ids = {0};
    struct serve_places places = {0};
    const bool has_states = serve_scheduler_info(api->scheduler)->checkpoint > 0;
    serve_add_variables(api, body);
    serve_request_open(&request, api, body, format);
    read_shared(&request);
    const bool has_thoughts = read_reasoning(&request);
    const char *message = api->settings->thought_message;
    const int64_t budget = read_budget(&request, &message);
    serve_tools_read(&request.fields, request.tokenizer, request.task, &tools);
    if (!request.fields.is_wrong &&
        serve_read_conversation(&request.fields, request.tokenizer, &tools, &ids, NULL,
                                has_states ? &places : NULL)) {
        close_thought(&request, budget, &ids);
        add_jobs(&request, NULL, &ids, &places);
    }
    serve_answer_prepare(request.answer);
    for (uint32_t i = 0; i < request.task->n_jobs; i++) {
        struct serve_job *job = &request.task->jobs[i];
        const int kind = cli_reasoning_find_open(request.tokenizer, &job->prompt);
        serve_thoughts_begin(&request.answer->choices[i].thoughts, kind, has_thoughts);
        if (budget >= 0) {
            job->budget = (struct serve_budget){.most = budget, .message = message};
            serve_budget_begin(&job->budget, kind);
        }
    }
    request.answer->calls = tools.style;
    serve_tools_finish(&tools);
    free(ids.items);
    serve_request_close(&request, reply);
}

void serve_handle_chat(const struct serve_api *api, cJSON *body, struct serve_reply *reply)
{
    serve_chat(api, body, &serve_format_chat, reply);
}
