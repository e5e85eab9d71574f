// The shapes of /v1/embeddings, of llama-server's /embedding and of /rerank. The bytes of a choice
// are the numbers of an embedding.
#include "cli/common/cli_json.h"
#include "cli/common/cli_json_read.h"
#include "cli/serve/answer/serve_answer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

//-- numbers ---------------------------------------------------------------------------------------

static size_t count_values(const struct serve_choice *choice)
{
    return choice->bytes.size / sizeof(float);
}

static const float *values_of(const struct serve_choice *choice)
{
    return (const float *)(const void *)choice->bytes.data;
}

// Returns the base64 of the bytes, which are 32-bit floats of this machine.
static cJSON *encode_values(const struct serve_choice *choice)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *data = (const unsigned char *)choice->bytes.data;
    const size_t size = choice->bytes.size;
    char *text = cli_alloc(4 * (size / 3 + 1) + 1, 1), *out = text;
    for (size_t i = 0; i < size; i += 3) {
        const size_t n = size - i < 3 ? size - i : 3;
        const unsigned bits = (unsigned)data[i] << 16 | (n > 1 ? (unsigned)data[i + 1] << 8 : 0) |
                              (n > 2 ? data[i + 2] : 0);
        *out++ = letters[bits >> 18];
        *out++ = letters[bits >> 12 & 63];
        *out++ = n > 1 ? letters[bits >> 6 & 63] : '=';
        *out++ = n > 2 ? letters[bits & 63] : '=';
    }
    cJSON *json = cJSON_CreateString(text);
    free(text);
    return json;
}

//-- whole -----------------------------------------------------------------------------------------

static void add_usage(cJSON *json, const struct serve_answer *answer)
{
    double n = 0;
    for (uint32_t i = 0; i < answer->task->n_jobs; i++) {
        n += (double)answer->task->jobs[i].prompt.count;
    }
    cJSON *usage = cJSON_AddObjectToObject(json, "usage");
    cJSON_AddNumberToObject(usage, "prompt_tokens", n);
    cJSON_AddNumberToObject(usage, "total_tokens", n);
}

static cJSON *openai_whole(const struct serve_answer *answer)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "object", "list");
    cJSON *data = cJSON_AddArrayToObject(json, "data");
    for (uint32_t i = 0; i < answer->task->n_jobs; i++) {
        const struct serve_choice *choice = &answer->choices[i];
        cJSON *item = cli_json_append(data);
        cJSON_AddStringToObject(item, "object", "embedding");
        cJSON_AddNumberToObject(item, "index", i);
        cJSON_AddItemToObject(item, "embedding",
                              answer->is_base64
                                  ? encode_values(choice)
                                  : cli_json_floats(values_of(choice), count_values(choice)));
    }
    cJSON_AddStringToObject(json, "model", answer->model);
    add_usage(json, answer);
    return json;
}

// Returns a list of rows for each embedding: one row, or one for each token without pooling.
static cJSON *native_whole(const struct serve_answer *answer)
{
    cJSON *json = cJSON_CreateArray();
    for (uint32_t i = 0; i < answer->task->n_jobs; i++) {
        const struct serve_choice *choice = &answer->choices[i];
        const bool has_rows = answer->task->pooling == GLINFER_POOLING_NONE;
        const size_t n_rows = has_rows ? answer->task->jobs[i].prompt.count : 1;
        const size_t width = count_values(choice) / n_rows;
        cJSON *item = cli_json_append(json);
        cJSON_AddNumberToObject(item, "index", i);
        cJSON *rows = cJSON_AddArrayToObject(item, "embedding");
        for (size_t row = 0; row < n_rows; row++) {
            cJSON_AddItemToArray(rows, cli_json_floats(values_of(choice) + row * width, width));
        }
    }
    return json;
}

// A document and its first score.
struct ranked {
    uint32_t index;
    float score;
};

// Orders by descending score, then by index.
static int compare_ranked(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    return a->score != b->score ? (a->score < b->score ? 1 : -1)
                                : (a->index > b->index) - (a->index < b->index);
}

// Returns the texts, the best first, and sets *count to the number that the request asks for. The
// caller frees them.
static struct ranked *rank(const struct serve_answer *answer, uint32_t *count)
{
    const uint32_t n = answer->task->n_jobs;
    struct ranked *ranks = cli_alloc(n, sizeof(*ranks));
    const cJSON *n_best = cli_json_get(answer->task->body, "top_n");
    for (uint32_t i = 0; i < n; i++) {
        ranks[i] = (struct ranked){i, values_of(&answer->choices[i])[0]};
    }
    qsort(ranks, n, sizeof(ranks[0]), compare_ranked);
    int64_t wanted;
    *count = cli_json_int(n_best, &wanted) && wanted >= 0 && wanted < n ? (uint32_t)wanted : n;
    return ranks;
}

static bool is_on(const struct serve_answer *answer, const char *name)
{
    return cJSON_IsTrue(cli_json_get(answer->task->body, name));
}

const char *serve_document_text(const cJSON *document)
{
    const cJSON *text = cJSON_IsObject(document) ? cli_json_get(document, "text") : document;
    return cJSON_IsString(text) ? text->valuestring : NULL;
}

// Returns a text of a list of the request, which has been checked.
static const char *text_at(const struct serve_answer *answer, const char *list, uint32_t index)
{
    const cJSON *texts = cli_json_get(answer->task->body, list);
    return serve_document_text(cJSON_GetArrayItem(texts, (int)index));
}

// Lists documents in the shape of Jina's and Cohere's API.
static cJSON *rerank_whole(const struct serve_answer *answer)
{
    uint32_t n;
    struct ranked *ranks = rank(answer, &n);
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "object", "list");
    cJSON_AddStringToObject(json, "model", answer->model);
    cJSON *results = cJSON_AddArrayToObject(json, "results");
    for (uint32_t i = 0; i < n; i++) {
        cJSON *item = cli_json_append(results);
        cJSON_AddNumberToObject(item, "index", ranks[i].index);
        cli_json_add_float(item, "relevance_score", ranks[i].score);
        if (is_on(answer, "return_documents")) {
            cJSON *document = cJSON_AddObjectToObject(item, "document");
            cJSON_AddStringToObject(document, "text", text_at(answer, "documents", ranks[i].index));
        }
    }
    add_usage(json, answer);
    free(ranks);
    return json;
}

// Lists texts in the shape of Hugging Face's Text Embeddings Inference: a single score goes through
// a sigmoid unless the request asks for raw scores.
static cJSON *rerank_texts_whole(const struct serve_answer *answer)
{
    uint32_t n;
    struct ranked *ranks = rank(answer, &n);
    const bool is_raw = is_on(answer, "raw_scores") || count_values(&answer->choices[0]) > 1;
    cJSON *results = cJSON_CreateArray();
    for (uint32_t i = 0; i < n; i++) {
        const float score = ranks[i].score;
        cJSON *item = cli_json_append(results);
        cJSON_AddNumberToObject(item, "index", ranks[i].index);
        if (is_on(answer, "return_text")) {
            cJSON_AddStringToObject(item, "text", text_at(answer, "texts", ranks[i].index));
        }
        cli_json_add_float(item, "score", is_raw ? score : 1 / (1 + expf(-score)));
    }
    free(ranks);
    return results;
}

const struct serve_format serve_format_embedding = {
    .id_prefix = "embd-",
    .whole = openai_whole,
};

const struct serve_format serve_format_embedding_native = {
    .id_prefix = "embd-",
    .whole = native_whole,
};

const struct serve_format serve_format_rerank = {
    .id_prefix = "rank-",
    .whole = rerank_whole,
};

const struct serve_format serve_format_rerank_texts = {
    .id_prefix = "rank-",
    .whole = rerank_texts_whole,
};
