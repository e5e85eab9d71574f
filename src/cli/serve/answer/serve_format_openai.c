// The shapes of OpenAI's /v1/chat/completions and /v1/completions.
#include "cli/common/cli_json.h"
#include "cli/common/cli_json_read.h"
#include "cli/common/cli_session.h"
#include "cli/common/cli_utf8.h"
#include "cli/serve/answer/serve_answer.h"

#include <stdio.h>
#include <string.h>

//-- shared ----------------------------------------------------------------------------------------

static bool is_chat(const struct serve_answer *answer)
{
    return answer->format == &serve_format_chat;
}

// Returns an object with all members except the choices.
static cJSON *envelope(const struct serve_answer *answer)
{
    char fingerprint[64];
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "id", answer->id);
    cJSON_AddStringToObject(json, "object",
                            !is_chat(answer)    ? "text_completion"
                            : answer->is_stream ? "chat.completion.chunk"
                                                : "chat.completion");
    cJSON_AddNumberToObject(json, "created", (double)answer->created);
    cJSON_AddStringToObject(json, "model", answer->model);
    // Clients of llama-server expect the b of its build numbers.
    snprintf(fingerprint, sizeof(fingerprint), "b0-glinfer-%s", glinfer_version());
    cJSON_AddStringToObject(json, "system_fingerprint", fingerprint);
    return json;
}

static cJSON *add_choice(cJSON *list, uint32_t index, const char *finish_reason)
{
    cJSON *choice = cli_json_append(list);
    cJSON_AddNumberToObject(choice, "index", index);
    cJSON_AddItemToObject(choice, "finish_reason",
                          finish_reason ? cJSON_CreateString(finish_reason) : cJSON_CreateNull());
    return choice;
}

static const char *finish_reason(const struct serve_choice *choice)
{
    const enum glinfer_stop stop = choice->stats.stop;
    if (choice->calls && cJSON_GetArraySize(choice->calls) >= choice->n_calls) {
        return "tool_calls"; // unless a stream has begun one that is cut
    }
    return stop == GLINFER_STOP_EOS || stop == GLINFER_STOP_WORD ? "stop" : "length";
}

static void add_usage(cJSON *json, const struct serve_answer *answer)
{
    double n_prompt = 0, n_answer = 0, n_cached = 0;
    const struct serve_task *task = answer->task;
    for (uint32_t i = 0; i < task->n_jobs; i++) {
        n_answer += answer->choices[i].stats.predicted_n;
        // A prompt with several answers counts once.
        if (i == 0 || task->jobs[i].prompt.items[0] != task->jobs[0].prompt.items[0] ||
            task->jobs[i].prompt.count != task->jobs[0].prompt.count) {
            n_prompt += (double)task->jobs[i].prompt.count;
            n_cached += answer->choices[i].n_cached;
        }
    }
    cJSON *usage = cJSON_AddObjectToObject(json, "usage");
    cJSON_AddNumberToObject(usage, "prompt_tokens", n_prompt);
    cJSON_AddNumberToObject(usage, "completion_tokens", n_answer);
    cJSON_AddNumberToObject(usage, "total_tokens", n_prompt + n_answer);
    cJSON *details = cJSON_AddObjectToObject(usage, "prompt_tokens_details");
    cJSON_AddNumberToObject(details, "cached_tokens", n_cached);
}

// Adds timings if there is one answer.
static void add_common_timings(cJSON *json, const struct serve_answer *answer)
{
    if (answer->task->n_jobs == 1) {
        serve_add_timings(json, answer, 0);
    }
}

// Returns the last event of a stream: usage, if it was requested.
static cJSON *openai_close(const struct serve_answer *answer)
{
    if (!answer->has_usage) {
        return NULL;
    }
    cJSON *json = envelope(answer);
    cJSON_AddArrayToObject(json, "choices");
    add_usage(json, answer);
    add_common_timings(json, answer);
    return json;
}

//-- chat ------------------------------------------------------------------------------------------

static void add_message(cJSON *choice, const struct serve_choice *own)
{
    cJSON *message = cJSON_AddObjectToObject(choice, "message");
    cJSON_AddStringToObject(message, "role", "assistant");
    cJSON_AddItemToObject(message, "content",
                          own->calls && own->text.size == 0
                              ? cJSON_CreateNull()
                              : cli_json_text(own->text.data, own->text.size));
    if (own->thoughts.text.size > 0) {
        cJSON_AddItemToObject(message, "reasoning_content",
                              cli_json_text(own->thoughts.text.data, own->thoughts.text.size));
    }
    if (own->calls) {
        cJSON_AddItemToObject(message, "tool_calls", cJSON_Duplicate(own->calls, 1));
    }
    if (own->probs) {
        cJSON *logprobs = cJSON_AddObjectToObject(choice, "logprobs");
        cJSON_AddItemToObject(logprobs, "content", cJSON_Duplicate(own->probs, 1));
    }
}

static cJSON *chat_begin(const struct serve_answer *answer, uint32_t index)
{
    cJSON *json = envelope(answer);
    cJSON *choice = add_choice(cJSON_AddArrayToObject(json, "choices"), index, NULL);
    cJSON *delta = cJSON_AddObjectToObject(choice, "delta");
    cJSON_AddStringToObject(delta, "role", "assistant");
    cJSON_AddNullToObject(delta, "content");
    return json;
}

// Returns an event with a text as a member of the delta; takes over text and probs.
static cJSON *chat_delta(const struct serve_answer *answer, uint32_t index, const char *name,
                         cJSON *text, cJSON *probs)
{
    cJSON *json = envelope(answer);
    cJSON *choice = add_choice(cJSON_AddArrayToObject(json, "choices"), index, NULL);
    cJSON *delta = cJSON_AddObjectToObject(choice, "delta");
    cJSON_AddItemToObject(delta, name, text);
    if (probs) {
        cJSON *logprobs = cJSON_AddObjectToObject(choice, "logprobs");
        cJSON *list = cJSON_AddArrayToObject(logprobs, "content");
        cJSON_AddItemToArray(list, probs);
    }
    return json;
}

static cJSON *chat_token(struct serve_answer *answer, uint32_t index, const char *text, size_t size,
                         cJSON *probs)
{
    return chat_delta(answer, index, "content", cli_json_text(text, size), probs);
}

static cJSON *chat_thought(struct serve_answer *answer, uint32_t index, const char *text,
                           size_t size, cJSON *probs)
{
    return chat_delta(answer, index, "reasoning_content", cli_json_text(text, size), probs);
}

// Returns an event with a call that begins, without its arguments, or with a fragment of these.
static cJSON *chat_call(const struct serve_answer *answer, uint32_t index, int call_index,
                        const cJSON *call, const char *fragment)
{
    cJSON *list = cJSON_CreateArray();
    cJSON *own = fragment ? cJSON_CreateObject() : cJSON_Duplicate(call, 1);
    cJSON *function =
        fragment ? cJSON_AddObjectToObject(own, "function") : cli_json_get(own, "function");
    cJSON_AddNumberToObject(own, "index", call_index);
    cli_json_set(function, "arguments", cJSON_CreateString(fragment ? fragment : ""));
    cJSON_AddItemToArray(list, own);
    return chat_delta(answer, index, "tool_calls", list, NULL);
}

//-- completions -----------------------------------------------------------------------------------

// Returns the name of a token in a completion's "logprobs": its text or, where that is not UTF-8,
// its bytes as OpenAI writes them, such as bytes:\xe2. The caller finishes it.
static struct cli_bytes name_token(const struct serve_answer *answer, int32_t id)
{
    size_t size = 0;
    char escape[8];
    struct cli_bytes name = {0};
    const char *bytes = glinfer_token_bytes(answer->tokenizer, id, &size);
    const bool is_text = cli_utf8_is_valid(bytes, size) && !memchr(bytes ? bytes : "", 0, size);
    cli_bytes_append(&name, is_text ? bytes : "bytes:", is_text ? size : strlen("bytes:"));
    for (size_t i = 0; !is_text && i < size; i++) {
        snprintf(escape, sizeof(escape), "\\x%02x", (unsigned char)bytes[i]);
        cli_bytes_add(&name, escape);
    }
    return name;
}

// Appends the prompt of a choice as it was given; ids as their text.
static void append_prompt(const struct serve_answer *answer, uint32_t index, struct cli_bytes *text)
{
    const struct serve_job *job = &answer->task->jobs[index];
    if (job->text) {
        cli_bytes_add(text, job->text);
        return;
    }
    for (size_t i = 0; i < job->prompt.count; i++) {
        cli_append_token(text, answer->tokenizer, job->prompt.items[i]);
    }
}

// Returns the items of a token for the four lists of a completion's "logprobs".
static cJSON *completion_probs(struct serve_answer *answer, struct serve_choice *choice,
                               const struct serve_event *event, const struct glinfer_prob *probs)
{
    size_t size = 0;
    const char *bytes = glinfer_token_bytes(answer->tokenizer, event->id, &size);
    cJSON *json = cJSON_CreateObject();
    struct cli_bytes name = name_token(answer, event->id);
    cJSON_AddStringToObject(json, "token", name.data);
    cli_bytes_finish(&name);
    if (event->n_probs > 0) {
        cli_json_add_float(json, "logprob", serve_token_logprob(event, probs));
    } else { // nothing comes before it
        cJSON_AddNullToObject(json, "logprob");
        cJSON_AddNullToObject(json, "top");
    }
    cJSON_AddNumberToObject(json, "offset", (double)choice->text_offset);
    for (size_t i = 0; bytes && i < size; i++) {
        choice->text_offset += !cli_utf8_continues(bytes[i]);
    }
    cJSON *top = event->n_probs > 0 ? cJSON_AddObjectToObject(json, "top") : NULL;
    for (size_t i = 0; i < event->n_probs && i < answer->n_top; i++) {
        name = name_token(answer, probs[i].id);
        if (!cli_json_get(top, name.data)) { // the likelier one of a text
            cli_json_add_float(top, name.data, probs[i].logprob);
        }
        cli_bytes_finish(&name);
    }
    return json;
}

static void add_logprobs(cJSON *choice, const cJSON *probs)
{
    static const char *const from[] = {"token", "logprob", "top", "offset"};
    static const char *const to[] = {"tokens", "token_logprobs", "top_logprobs", "text_offset"};
    const cJSON *item;
    if (!probs) {
        cJSON_AddNullToObject(choice, "logprobs");
        return;
    }
    cJSON *logprobs = cJSON_AddObjectToObject(choice, "logprobs");
    for (size_t i = 0; i < sizeof(from) / sizeof(from[0]); i++) {
        cJSON *list = cJSON_AddArrayToObject(logprobs, to[i]);
        cJSON_ArrayForEach(item, probs)
        {
            cJSON_AddItemToArray(list, cJSON_Duplicate(cJSON_GetObjectItem(item, from[i]), 1));
        }
    }
}

static void add_text(cJSON *choice, const struct serve_answer *answer, uint32_t index)
{
    const struct serve_choice *own = &answer->choices[index];
    struct cli_bytes text = {0};
    if (answer->task->has_echo) {
        append_prompt(answer, index, &text);
    }
    cli_bytes_append(&text, own->text.data ? own->text.data : "", own->text.size);
    cJSON_AddItemToObject(choice, "text", cli_json_text(text.data, text.size));
    cli_bytes_finish(&text);
    add_logprobs(choice, own->probs);
}

// Returns the echo of the prompt, if it was requested.
static cJSON *completion_begin(const struct serve_answer *answer, uint32_t index)
{
    struct cli_bytes text = {0};
    if (!answer->task->has_echo) {
        return NULL;
    }
    cJSON *json = envelope(answer);
    cJSON *choice = add_choice(cJSON_AddArrayToObject(json, "choices"), index, NULL);
    append_prompt(answer, index, &text);
    cJSON_AddItemToObject(choice, "text", cli_json_text(text.data, text.size));
    add_logprobs(choice, answer->choices[index].probs);
    cli_bytes_finish(&text);
    return json;
}

static cJSON *completion_token(struct serve_answer *answer, uint32_t index, const char *text,
                               size_t size, cJSON *probs)
{
    cJSON *json = envelope(answer);
    cJSON *choice = add_choice(cJSON_AddArrayToObject(json, "choices"), index, NULL);
    cJSON_AddItemToObject(choice, "text", cli_json_text(text, size));
    cJSON *list = probs ? cJSON_CreateArray() : NULL;
    cJSON_AddItemToArray(list, probs);
    add_logprobs(choice, list);
    cJSON_Delete(list);
    return json;
}

//-- both ------------------------------------------------------------------------------------------

static cJSON *openai_whole(const struct serve_answer *answer)
{
    cJSON *json = envelope(answer);
    cJSON *list = cJSON_AddArrayToObject(json, "choices");
    for (uint32_t i = 0; i < answer->task->n_jobs; i++) {
        cJSON *choice = add_choice(list, i, finish_reason(&answer->choices[i]));
        if (is_chat(answer)) {
            add_message(choice, &answer->choices[i]);
        } else {
            add_text(choice, answer, i);
        }
    }
    add_usage(json, answer);
    add_common_timings(json, answer);
    if (answer->is_verbose) {
        cJSON_AddItemToObject(json, "__verbose", serve_native_result(answer, 0, true));
    }
    return json;
}

static cJSON *openai_finish(const struct serve_answer *answer, uint32_t index)
{
    cJSON *json = envelope(answer);
    cJSON *choice = add_choice(cJSON_AddArrayToObject(json, "choices"), index,
                               finish_reason(&answer->choices[index]));
    if (is_chat(answer)) {
        cJSON_AddObjectToObject(choice, "delta");
    } else {
        cJSON_AddStringToObject(choice, "text", "");
        cJSON_AddNullToObject(choice, "logprobs");
    }
    if (!answer->has_usage) {
        serve_add_timings(json, answer, index);
    }
    return json;
}

const struct serve_format serve_format_chat = {
    .id_prefix = "chatcmpl-",
    .end = "data: [DONE]\n\n",
    .whole = openai_whole,
    .begin = chat_begin,
    .token = chat_token,
    .thought = chat_thought,
    .call = chat_call,
    .finish = openai_finish,
    .close = openai_close,
    .probs = serve_list_probs,
};

const struct serve_format serve_format_completion = {
    .id_prefix = "cmpl-",
    .end = "data: [DONE]\n\n",
    .whole = openai_whole,
    .begin = completion_begin,
    .token = completion_token,
    .finish = openai_finish,
    .close = openai_close,
    .probs = completion_probs,
};
