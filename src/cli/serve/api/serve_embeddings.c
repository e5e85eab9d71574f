// Requests for embeddings: each input is an answer of its own.
#include "cli/common/cli_json_read.h"
#include "cli/embed/cli_embedding.h"
#include "cli/serve/api/serve_handlers.h"
#include "cli/serve/api/serve_request.h"
#include "cli/serve/api/serve_tokens.h"

#include <stdlib.h>
#include <string.h>

// Adds an input; takes over its ids.
static void add_ids(struct serve_request *request, const char *name, struct cli_ids *ids)
{
    const uint32_t n_ctx = serve_scheduler_info(request->api->scheduler)->n_ctx;
    bool is_cut = request->answer->format->framing == SERVE_FRAMES_LINES; // as Ollama does
    if (is_cut) {
        serve_fields_bool(&request->fields, "truncate", &is_cut);
    }
    if (is_cut && ids->count > n_ctx) {
        ids->items[n_ctx - 1] = ids->items[ids->count - 1]; // it may end a text
        ids->count = n_ctx;
    }
    if (ids->count == 0) {
        serve_fields_refuse(&request->fields, 400, "invalid \"%s\": it is empty", name);
    } else if (ids->count > n_ctx) {
        serve_fields_overflow(&request->fields, ids->count, n_ctx);
    } else if (request->task->n_jobs == SERVE_MAX_INPUTS) {
        serve_fields_refuse(&request->fields, 400, "invalid \"%s\": more than %d", name,
                            SERVE_MAX_INPUTS);
    } else {
        serve_task_add(request->task)->prompt = *ids;
        return;
    }
    free(ids->items);
}

static void add_input(struct serve_request *request, const cJSON *input)
{
    struct cli_ids ids = {0};
    if (serve_read_prompt(&request->fields, request->tokenizer, input, &ids)) {
        add_ids(request, "input", &ids);
    } else {
        free(ids.items);
    }
}

static void read_inputs(struct serve_request *request)
{
    const cJSON *input = serve_fields_get(&request->fields, "input");
    input = input ? input : serve_fields_get(&request->fields, "content");
    // A list that begins with an id is one input.
    const bool is_list = cJSON_IsArray(input) && !cli_json_is_number(input->child);
    if (input) {
        serve_request_each(request, "input", input, is_list, add_input);
    } else {
        serve_fields_refuse(&request->fields, 400,
                            "missing \"input\"; expected a string or a list");
    }
}

static void read_form(struct serve_request *request)
{
    struct serve_task *task = request->task;
    const char *form = "float";
    int64_t n_dimensions = 0;
    const uint32_t width = serve_scheduler_info(request->api->scheduler)->n_embedding;
    serve_fields_text(&request->fields, "encoding_format", &form);
    serve_fields_int(&request->fields, "embd_normalize", -1, 64, &task->norm);
    request->answer->is_base64 = strcmp(form, "base64") == 0;
    if (!request->answer->is_base64 && strcmp(form, "float") != 0) {
        serve_fields_expect(&request->fields, "encoding_format", "float or base64");
    }
    serve_fields_int(&request->fields, "dimensions", 1, width, &n_dimensions);
    if (n_dimensions > 0 && task->pooling == GLINFER_POOLING_NONE) {
        serve_fields_refuse(&request->fields, 400,
                            "\"dimensions\" is not supported with --pooling none");
    }
    task->n_dimensions = (uint32_t)n_dimensions;
}

// Chooses the pooling; refuses one that the model does not support.
static void choose_pooling(struct serve_request *request, bool is_native)
{
    const struct serve_api *api = request->api;
    struct serve_task *task = request->task;
    task->pooling = (enum glinfer_pooling)api->settings->pooling;
    if (task->pooling == GLINFER_POOLING_DEFAULT) {
        task->pooling = serve_scheduler_info(api->scheduler)->pooling;
    }
    if (task->pooling == GLINFER_POOLING_DEFAULT) {
        serve_fields_refuse(&request->fields, 501,
                            "this model is not an embedding model; start the server with "
                            "--pooling mean or last to try anyway");
    } else if (task->pooling == GLINFER_POOLING_NONE && !is_native) {
        serve_fields_refuse(
            &request->fields, 400,
            "this server computes embeddings of single tokens (--pooling none); use /embedding");
    }
}

void serve_embed(const struct serve_api *api, cJSON *body, const struct serve_format *format,
                 bool is_native, struct serve_reply *reply)
{
    struct serve_request request;
    serve_request_open(&request, api, body, format);
    request.task->is_embedding = true;
    request.task->norm = api->settings->norm;
    choose_pooling(&request, is_native);
    if (!request.fields.is_wrong) {
        read_form(&request);
    }
    if (!request.fields.is_wrong) {
        read_inputs(&request);
    }
    serve_request_close(&request, reply);
}

//-- scores ----------------------------------------------------------------------------------------

static void add_document(struct serve_request *request, const char *query, const char *name,
                         const cJSON *document)
{
    struct glinfer_error err;
    const char *content = serve_document_text(document);
    if (!content) {
        serve_fields_expect(&request->fields, name, "a list of strings or of {\"text\": ...}");
    } else {
        struct cli_ids ids = {0};
        const struct cli_bytes text = {.data = (char *)content, .size = strlen(content)};
        if (cli_tokenize_pair(request->tokenizer, query, &text, &ids, &err)) {
            add_ids(request, name, &ids);
        } else {
            serve_fields_refuse(&request->fields, 501, "%s", err.message);
        }
    }
}

static void read_documents(struct serve_request *request, const char *name)
{
    static const char *const switches[] = {"return_documents", "return_text", "raw_scores"};
    int64_t n_best = 0;
    bool is_on = false; // checked alone: the answer reads the fields again
    const char *query = NULL;
    const cJSON *documents = serve_fields_get(&request->fields, name), *item;
    serve_fields_text(&request->fields, "query", &query);
    serve_fields_int(&request->fields, "top_n", 0, INT32_MAX, &n_best);
    for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++) {
        serve_fields_bool(&request->fields, switches[i], &is_on);
    }
    if (!query) {
        serve_fields_refuse(&request->fields, 400, "missing \"query\"; expected a string");
    } else if (!cJSON_IsArray(documents)) {
        serve_fields_refuse(&request->fields, 400, "missing \"%s\"; expected a list of strings",
                            name);
    } else if (cJSON_GetArraySize(documents) == 0) {
        serve_fields_refuse(&request->fields, 400, "invalid \"%s\": it is an empty list", name);
    }
    cJSON_ArrayForEach(item, documents)
    {
        if (!request->fields.is_wrong) {
            add_document(request, query, name, item);
        }
    }
}

void serve_handle_rerank(const struct serve_api *api, cJSON *body, struct serve_reply *reply)
{
    struct serve_request request;
    const bool has_texts =
        cli_json_get(body, "texts") && !cJSON_IsNull(cli_json_get(body, "texts"));
    serve_request_open(&request, api, body,
                       has_texts ? &serve_format_rerank_texts : &serve_format_rerank);
    request.task->is_embedding = true;
    request.task->pooling = GLINFER_POOLING_RANK;
    if (serve_scheduler_info(api->scheduler)->pooling != GLINFER_POOLING_RANK) {
        serve_fields_refuse(&request.fields, 501, "this model is not a reranker");
    } else {
        read_documents(&request, has_texts ? "texts" : "documents");
    }
    serve_request_close(&request, reply);
}

//-- embeddings ------------------------------------------------------------------------------------

void serve_handle_embeddings(const struct serve_api *api, cJSON *body, struct serve_reply *reply)
{
    serve_embed(api, body, &serve_format_embedding, false, reply);
}

void serve_handle_embedding(const struct serve_api *api, cJSON *body, struct serve_reply *reply)
{
    serve_embed(api, body, &serve_format_embedding_native, true, reply);
}
