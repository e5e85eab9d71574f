// The shapes of Ollama's /api/chat, /api/generate and /api/embed.
#include "cli/common/cli_io.h"
#include "cli/common/cli_json.h"
#include "cli/common/cli_json_read.h"
#include "cli/serve/answer/serve_answer.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static bool is_chat(const struct serve_answer *answer)
{
    return answer->format == &serve_format_ollama_chat;
}

// Returns an object with the members that every one has.
static cJSON *envelope(const struct serve_answer *answer, bool is_done)
{
    char now[64], text[96];
    struct timespec at;
    struct tm when;
    clock_gettime(CLOCK_REALTIME, &at);
    gmtime_r(&at.tv_sec, &when);
    strftime(now, sizeof(now), "%Y-%m-%dT%H:%M:%S", &when);
    snprintf(text, sizeof(text), "%s.%06ldZ", now, at.tv_nsec / 1000);
    cJSON *json = cJSON_CreateObject();
    const char *asked = cli_json_get_text(answer->task->body, "model");
    cJSON_AddStringToObject(json, "model", asked ? asked : answer->model);
    cJSON_AddStringToObject(json, "created_at", text);
    cJSON_AddBoolToObject(json, "done", is_done);
    return json;
}

// Adds the text and the thought, which may be NULL, of an answer. Returns the object with the text.
static cJSON *add_texts(cJSON *json, const struct serve_answer *answer, cJSON *text, cJSON *thought)
{
    cJSON *own = is_chat(answer) ? cJSON_AddObjectToObject(json, "message") : json;
    if (is_chat(answer)) {
        cJSON_AddStringToObject(own, "role", "assistant");
    }
    cJSON_AddItemToObject(own, is_chat(answer) ? "content" : "response", text);
    if (thought) {
        cJSON_AddItemToObject(own, "thinking", thought);
    }
    return own;
}

// Adds the calls of an answer, with arguments that are objects.
static void add_calls(cJSON *message, const cJSON *calls)
{
    const cJSON *call;
    cJSON *list =
        cJSON_GetArraySize(calls) > 0 ? cJSON_AddArrayToObject(message, "tool_calls") : NULL;
    cJSON_ArrayForEach(call, calls)
    {
        const cJSON *function = cli_json_get(call, "function");
        const char *text = cli_json_get_text(function, "arguments");
        cJSON *arguments = text ? cli_json_parse_all(text, strlen(text), NULL) : NULL;
        cJSON *own = cJSON_AddObjectToObject(cli_json_append(list), "function");
        cJSON_AddStringToObject(own, "name", cli_json_get_text(function, "name"));
        cJSON_AddItemToObject(own, "arguments", arguments ? arguments : cJSON_CreateObject());
    }
}

static void add_ns(cJSON *json, const char *name, double ms)
{
    cli_json_add_u64(json, name, ms > 0 ? (uint64_t)(ms * 1e6) : 0);
}

// Adds what an answer that ends cost.
static void add_stats(cJSON *json, const struct serve_answer *answer, uint32_t index)
{
    const struct serve_choice *choice = &answer->choices[index];
    const struct glinfer_stats *stats = &choice->stats;
    const bool is_cut = stats->stop == GLINFER_STOP_LIMIT || stats->stop == GLINFER_STOP_CONTEXT;
    cJSON_AddStringToObject(json, "done_reason", is_cut ? "length" : "stop");
    add_ns(json, "total_duration", 1e3 * (cli_now() - choice->began));
    cJSON_AddNumberToObject(json, "load_duration", 0);
    cJSON_AddNumberToObject(json, "prompt_eval_count",
                            (double)answer->task->jobs[index].prompt.count);
    add_ns(json, "prompt_eval_duration", stats->prompt_ms);
    cJSON_AddNumberToObject(json, "eval_count", stats->predicted_n);
    add_ns(json, "eval_duration", stats->predicted_ms);
}

static cJSON *ollama_whole(const struct serve_answer *answer)
{
    const struct serve_choice *choice = &answer->choices[0];
    const struct cli_bytes *thought = &choice->thoughts.text;
    cJSON *json = envelope(answer, true);
    add_calls(add_texts(json, answer, cli_json_text(choice->text.data, choice->text.size),
                        thought->size > 0 ? cli_json_text(thought->data, thought->size) : NULL),
              choice->calls);
    add_stats(json, answer, 0);
    return json;
}

// Returns a line with a part of the text or, if it is not NULL, of the thought.
static cJSON *part(const struct serve_answer *answer, cJSON *text, cJSON *thought, cJSON *probs)
{
    cJSON_Delete(probs);
    cJSON *json = envelope(answer, false);
    add_texts(json, answer, text, thought);
    return json;
}

static cJSON *ollama_token(struct serve_answer *answer, uint32_t index, const char *text,
                           size_t size, cJSON *probs)
{
    (void)index;
    return part(answer, cli_json_text(text, size), NULL, probs);
}

static cJSON *ollama_thought(struct serve_answer *answer, uint32_t index, const char *text,
                             size_t size, cJSON *probs)
{
    (void)index;
    return part(answer, cJSON_CreateString(""), cli_json_text(text, size), probs);
}

// Sends nothing: the calls come whole, before the last line.
static cJSON *ollama_call(const struct serve_answer *answer, uint32_t index, int call_index,
                          const cJSON *call, const char *fragment)
{
    (void)answer, (void)index, (void)call_index, (void)call, (void)fragment;
    return NULL;
}

static cJSON *ollama_finish(const struct serve_answer *answer, uint32_t index)
{
    cJSON *list = cJSON_CreateArray();
    if (answer->choices[index].calls) {
        cJSON *json = envelope(answer, false);
        add_calls(add_texts(json, answer, cJSON_CreateString(""), NULL),
                  answer->choices[index].calls);
        cJSON_AddItemToArray(list, json);
    }
    cJSON *last = envelope(answer, true);
    add_texts(last, answer, cJSON_CreateString(""), NULL);
    add_stats(last, answer, index);
    cJSON_AddItemToArray(list, last);
    return list;
}

static cJSON *values_of(const struct serve_choice *choice)
{
    return cli_json_floats((const float *)(const void *)choice->bytes.data,
                           choice->bytes.size / sizeof(float));
}

static cJSON *embed_whole(const struct serve_answer *answer)
{
    double n = 0;
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "model", answer->model);
    cJSON *list = cJSON_AddArrayToObject(json, "embeddings");
    for (uint32_t i = 0; i < answer->task->n_jobs; i++) {
        cJSON_AddItemToArray(list, values_of(&answer->choices[i]));
        n += (double)answer->task->jobs[i].prompt.count;
    }
    cJSON_AddNumberToObject(json, "prompt_eval_count", n);
    return json;
}

static cJSON *embedding_whole(const struct serve_answer *answer)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddItemToObject(json, "embedding", values_of(&answer->choices[0]));
    return json;
}

#define TEXT_FUNCTIONS                                                                             \
    .framing = SERVE_FRAMES_LINES, .id_prefix = "ollama-", .end = "", .whole = ollama_whole,       \
    .token = ollama_token, .thought = ollama_thought, .call = ollama_call,                         \
    .finish = ollama_finish, .probs = serve_list_probs
const struct serve_format serve_format_ollama_chat = {TEXT_FUNCTIONS};
const struct serve_format serve_format_ollama_text = {TEXT_FUNCTIONS};
const struct serve_format serve_format_ollama_embed = {
    .framing = SERVE_FRAMES_LINES, .id_prefix = "ollama-", .whole = embed_whole};
const struct serve_format serve_format_ollama_embedding = {
    .framing = SERVE_FRAMES_LINES, .id_prefix = "ollama-", .whole = embedding_whole};
