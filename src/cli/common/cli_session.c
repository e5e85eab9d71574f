#include "cli/common/cli_session.h"

#include "cli/common/cli_json.h"
#include "cli/common/cli_json_read.h"
#include "cli/flags/cli_text_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool cli_parse_predict(const char *text, void *field, char *why, size_t size)
{
    enum { MOST = 1 << 24 };
    char *end;
    const long value = strtol(text, &end, 10);
    // llama.cpp's -2 is taken and means -1.
    if (end == text || *end || value < -2 || value == 0 || value > MOST) {
        snprintf(why, size, "a whole number from 1 to %d, or -1: no limit", MOST);
        return false;
    }
    *(int64_t *)field = value;
    return true;
}

bool cli_parse_chain(const char *text, void *field, char *why, size_t size)
{
    char *end;
    if (strcmp(text, "auto") == 0) {
        *(int64_t *)field = 0;
        return true;
    }
    const long value = strtol(text, &end, 10);
    if (end == text || *end || value < 1 || value > 256) {
        snprintf(why, size, "auto or a number from 1 to 256");
        return false;
    }
    *(int64_t *)field = value;
    return true;
}

static bool is_template_text(const char *text)
{
    return strstr(text, "{%") || strstr(text, "{{");
}

bool cli_parse_template(const char *text, void *field, char *why, size_t size)
{
    const char *name;
    size_t used = 0;
    why[0] = '\0';
    if (is_template_text(text)) {
        *(const char **)field = text;
        return true;
    }
    for (size_t i = 0; (name = glinfer_chat_template_at(i)) != NULL; i++) {
        if (strcmp(text, name) == 0) {
            *(const char **)field = text;
            return true;
        }
        if (used < size) {
            used += (size_t)snprintf(why + used, size - used, "%s%s", i ? ", " : "one of ", name);
        }
    }
    return false;
}

bool cli_parse_template_file(const char *path, void *field, char *why, size_t size)
{
    const char *text = NULL;
    if (!cli_parse_text_file(path, &text, why, size)) {
        return false;
    }
    if (!is_template_text(text)) {
        snprintf(why, size, "invalid chat template %.200s: it has neither {%% nor {{", path);
        free((char *)text);
        return false;
    }
    *(const char **)field = text;
    return true;
}

const char *const cli_thinkings[] = {"auto", "on", "off", NULL};
const char *const cli_quantize_types[] = {"q8_0", "q5_1", "q5_0", "q4_1", "q4_0",
                                          "f16",  "bf16", "none", NULL};

bool cli_parse_variables(const char *text, void *field, char *why, size_t size)
{
    cJSON *json = cli_json_parse_all(text, strlen(text), NULL);
    const bool is_object = cJSON_IsObject(json);
    cJSON_Delete(json);
    snprintf(why, size, "a JSON object such as {\"enable_thinking\": false}");
    *(const char **)field = is_object ? text : NULL;
    return is_object;
}

// Templates ask for one of two names.
char *cli_session_variables(const struct cli_session_flags *flags)
{
    static const char *const names[] = {"enable_thinking", "thinking"};
    if (!flags->variables && !flags->reasoning_effort && flags->reasoning == CLI_THINKING_AUTO) {
        return NULL;
    }
    cJSON *object = flags->variables
                        ? cli_json_parse_all(flags->variables, strlen(flags->variables), NULL)
                        : cJSON_CreateObject();
    for (size_t i = 0; flags->reasoning != CLI_THINKING_AUTO && i < 2; i++) {
        if (!cli_json_get(object, names[i])) {
            cJSON_AddBoolToObject(object, names[i], flags->reasoning == CLI_THINKING_ON);
        }
    }
    if (flags->reasoning_effort && strcmp(flags->reasoning_effort, "default") != 0 &&
        !cli_json_get(object, "reasoning_effort")) {
        cJSON_AddStringToObject(object, "reasoning_effort", flags->reasoning_effort);
    }
    char *text = cJSON_PrintUnformatted(object);
    cJSON_Delete(object);
    return text;
}

void cli_session_init(struct cli_session *session, const struct cli_session_flags *flags)
{
    memset(session, 0, sizeof(*session));
    session->flags = flags;
    cli_bar_init(&session->bar);
}

void cli_session_params(const struct cli_session_flags *flags, const char *path,
                        struct glinfer_model_params *params)
{
    glinfer_model_params_init(params);
    params->path = path;
    params->chat_template = flags->chat_template;
    params->quantize = cli_quantize_types[flags->quantize];
    params->mem_budget = flags->mem_budget;
    params->n_ctx = (uint32_t)flags->n_ctx;
    params->type_k = (enum glinfer_cache_type)flags->type_k;
    params->type_v = (enum glinfer_cache_type)flags->type_v;
    cli_lora_fill(&flags->lora, params);
}

bool cli_session_check(struct cli_session *session)
{
    struct glinfer_error err;
    struct glinfer_model_params params;
    session->path = models_path(session->flags->model, &session->flags->hub);
    if (!session->path || !cli_lora_check(&session->flags->lora)) {
        return false;
    }
    cli_session_params(session->flags, session->path, &params);
    session->info.struct_size = sizeof(session->info);
    if (!glinfer_model_inspect(&params, &session->info, &err)) {
        return cli_fail_error(&err);
    }
    return session->info.is_supported || cli_fail(CLI_EXIT_FAILED, "%s", session->info.refusal);
}

static bool refuse_speech(const struct cli_session *session)
{
    return !session->info.is_speech ||
           cli_fail(CLI_EXIT_FAILED,
                    "%s is a speech model: `glinfer transcribe` and --speech-model of `glinfer "
                    "serve` take it, and it generates no other text",
                    session->flags->model);
}

static bool refuse_encoder(const struct cli_session *session)
{
    return !session->info.is_encoder ||
           cli_fail(CLI_EXIT_FAILED,
                    "%s is an encoder: it computes embeddings, with `glinfer embed`, and "
                    "generates no text",
                    session->flags->model);
}

bool cli_session_check_text(struct cli_session *session)
{
    return cli_session_check(session) && refuse_speech(session);
}

bool cli_session_check_decoder(struct cli_session *session)
{
    return cli_session_check(session) && refuse_encoder(session);
}

bool cli_session_check_generator(struct cli_session *session)
{
    return cli_session_check(session) && refuse_speech(session) && refuse_encoder(session);
}

// Logs the device, the model and its memory, for -v.
static void log_details(const struct cli_session *session)
{
    const struct glinfer_model_info *info = &session->info;
    void *verbosity = (void *)&session->flags->device.verbosity;
    char text[512], total[24], weights[24], cache[24], scratch[24];
    snprintf(text, sizeof(text), "device  %s: %s", session->device_info.device,
             session->device_info.renderer);
    cli_log(verbosity, GLINFER_LOG_INFO, text);
    snprintf(text, sizeof(text), "model   %.200s: %s", session->flags->model, info->description);
    cli_log(verbosity, GLINFER_LOG_INFO, text);
    snprintf(text, sizeof(text),
             "memory  %s on the device for a context of %u: weights %s, cache %s, scratch %s",
             cli_format_size(total, info->weights + info->kv_cache + info->scratch), info->n_ctx,
             cli_format_size(weights, info->weights), cli_format_size(cache, info->kv_cache),
             cli_format_size(scratch, info->scratch));
    cli_log(verbosity, GLINFER_LOG_INFO, text);
}

// Notes that a file is not quantized, if a type other than the default was asked for.
static void note_quantize(const struct cli_session *session)
{
    struct stat status;
    if (session->flags->quantize > 0 && stat(session->path, &status) == 0 &&
        !S_ISDIR(status.st_mode)) {
        cli_note("--quantize has no effect: it is for folders of SafeTensors");
    }
}

bool cli_session_load(struct cli_session *session)
{
    struct glinfer_error err;
    struct glinfer_model_params params;
    note_quantize(session);
    cli_session_params(session->flags, session->path, &params);
    params.progress = cli_progress;
    params.progress_user = &session->bar;
    if (!session->device) {
        session->device = cli_device_open(&session->flags->device, &session->device_info);
    }
    if (!session->device) {
        return false;
    }
    session->model = glinfer_model_load(session->device, &params, &err);
    if (session->model) {
        log_details(session);
    }
    return cli_bar_end(&session->bar, session->model, &err);
}

void cli_session_fill(struct cli_session *session, struct glinfer_session_params *params)
{
    const struct cli_session_flags *flags = session->flags;
    const bool is_cut =
        flags->n_batch > session->device_info.max_batch && !session->info.is_encoder;
    glinfer_session_params_init(params);
    params->n_ctx = (uint32_t)flags->n_ctx;
    params->type_k = (enum glinfer_cache_type)flags->type_k;
    params->type_v = (enum glinfer_cache_type)flags->type_v;
    params->precision = (enum glinfer_precision)flags->precision;
    params->n_batch = is_cut ? session->device_info.max_batch : (uint32_t)flags->n_batch;
    params->chain_length = (uint32_t)flags->chain;
    params->max_batch_ms = (uint32_t)flags->max_batch_ms;
    params->gpu_duty = (uint32_t)flags->gpu_duty;
    params->allows_speech = session->allows_speech;
    params->n_checkpoints = CLI_MAX_CHECKPOINTS;
    params->progress = cli_progress;
    params->progress_user = &session->bar;
}

bool cli_session_start(struct cli_session *session, const struct glinfer_generate_params *expected)
{
    struct glinfer_error err;
    struct glinfer_session_params params;
    cli_session_fill(session, &params);
    params.expected = expected;
    const double begin = cli_now();
    session->session = glinfer_session_create(session->model, &params, &err);
    session->compile_ms = 1e3 * (cli_now() - begin);
    cli_set_session(session->session);
    return cli_bar_end(&session->bar, session->session, &err);
}

void cli_session_stop(struct cli_session *session)
{
    cli_set_session(NULL);
    glinfer_session_destroy(&session->session);
}

void cli_session_unload(struct cli_session *session)
{
    cli_session_stop(session);
    glinfer_model_destroy(&session->model);
}

void cli_session_finish(struct cli_session *session)
{
    cli_session_unload(session);
    glinfer_device_destroy(&session->device);
}

//-- tokens ----------------------------------------------------------------------------------------

void cli_append_token(struct cli_bytes *text, const struct glinfer_tokenizer *tokenizer, int32_t id)
{
    size_t size = 0;
    const char *bytes = glinfer_token_bytes(tokenizer, id, &size);
    cli_bytes_append(text, bytes, bytes ? size : 0);
}

bool cli_tokenize(const struct glinfer_tokenizer *tokenizer, const struct cli_bytes *text,
                  unsigned flags, struct cli_ids *ids)
{
    struct glinfer_error err;
    do { // a second time once there is room
        ids->items = cli_reserve(ids->items, &ids->capacity, ids->count, sizeof(*ids->items));
        if (!glinfer_tokenize(tokenizer, text->data, text->size, flags, ids->items, ids->capacity,
                              &ids->count, &err)) {
            return cli_fail_error(&err);
        }
    } while (ids->count > ids->capacity);
    return true;
}

static bool encode_messages(const struct glinfer_tokenizer *tokenizer,
                            const struct glinfer_message *messages, size_t n, struct cli_ids *ids,
                            struct glinfer_error *err)
{
    do {
        ids->items = cli_reserve(ids->items, &ids->capacity, ids->count, sizeof(*ids->items));
        if (!glinfer_chat_tokenize(tokenizer, messages, n, ids->items, ids->capacity, &ids->count,
                                   err)) {
            return false;
        }
    } while (ids->count > ids->capacity);
    return true;
}

cJSON *cli_json_messages(const struct glinfer_message *messages, size_t n)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < n; i++) {
        cJSON *message = cli_json_append(list);
        cJSON_AddStringToObject(message, "role", messages[i].role);
        cJSON_AddStringToObject(message, "content", messages[i].content);
    }
    return list;
}

bool cli_chat_json_ids(const struct glinfer_tokenizer *tokenizer,
                       const struct glinfer_chat_json *chat, struct cli_ids *ids,
                       struct glinfer_error *err)
{
    do {
        ids->items = cli_reserve(ids->items, &ids->capacity, ids->count, sizeof(*ids->items));
        if (!glinfer_chat_tokenize_json(tokenizer, chat, ids->items, ids->capacity, &ids->count,
                                        err)) {
            return false;
        }
    } while (ids->count > ids->capacity);
    return true;
}

bool cli_chat_json_text(const struct glinfer_tokenizer *tokenizer,
                        const struct glinfer_chat_json *chat, struct cli_bytes *text,
                        struct glinfer_error *err)
{
    do {
        text->data = cli_reserve(text->data, &text->capacity, text->size + 1, 1);
        if (!glinfer_chat_write_json(tokenizer, chat, text->data, text->capacity, &text->size,
                                     err)) {
            return false;
        }
    } while (text->size >= text->capacity); // once more with room, and for a zero byte
    text->data[text->size] = 0;
    return true;
}

bool cli_session_encode(const struct cli_session *session, const struct glinfer_message *messages,
                        size_t n, struct cli_ids *ids, struct glinfer_error *err)
{
    const struct glinfer_tokenizer *tokenizer = glinfer_model_tokenizer(session->model);
    char *variables = cli_session_variables(session->flags), *text = NULL;
    bool is_done;
    if (variables) {
        struct glinfer_chat_json chat;
        cJSON *list = cli_json_messages(messages, n);
        glinfer_chat_json_init(&chat);
        chat.messages = text = cJSON_PrintUnformatted(list);
        chat.variables = variables;
        cJSON_Delete(list);
        is_done = cli_chat_json_ids(tokenizer, &chat, ids, err);
    } else {
        is_done = encode_messages(tokenizer, messages, n, ids, err);
    }
    cJSON_free(text);
    cJSON_free(variables);
    return is_done;
}

size_t cli_fill_checkpoints(const uint32_t *places, size_t n_places, size_t held, size_t n,
                            uint32_t *checkpoints)
{
    enum { FEWEST = 32 }; // tokens between two; reading fewer again costs less
    size_t n_filled = 0, last = held;
    for (size_t i = 0; i < n_places; i++) {
        const size_t at = places[i];
        const bool is_within = at > 0 && at >= held && at < held + n;
        if (is_within && at >= last + FEWEST) {
            checkpoints[n_filled++] = (uint32_t)(at - held);
            last = at;
        } else if (is_within && n_filled == 0) { // the state is there
            checkpoints[n_filled++] = 0;
        }
    }
    return n_filled;
}

//-- answers ---------------------------------------------------------------------------------------

// Brings the device back and goes on with the answer that broke off.
static bool recover(struct cli_session *session, struct glinfer_generate_params *params,
                    struct glinfer_stats *stats, struct glinfer_error *err)
{
    cli_note("%s", err->message);
    cli_note("recovering: creating a new context, loading the model again, continuing the answer");
    cli_bar_wait(&session->bar, "recovering", true);
    params->resume = true;
    const bool is_done =
        glinfer_device_recover(session->device, cli_progress, &session->bar, err) &&
        cli_check_interrupt(err) && glinfer_generate(session->session, params, stats, err);
    params->resume = false;
    cli_bar_clear(&session->bar);
    return is_done;
}

bool cli_is_broken(const struct glinfer_error *err)
{
    return err->status == GLINFER_STATUS_GPU_LOST || err->status == GLINFER_STATUS_GPU_FAULT;
}

bool cli_generate(struct cli_session *session, struct glinfer_generate_params *params,
                  struct glinfer_stats *stats, struct glinfer_error *err)
{
    params->progress = cli_progress;
    params->progress_user = &session->bar;
    *stats = (struct glinfer_stats){.struct_size = sizeof(*stats)};
    cli_bar_wait(&session->bar, "reading the prompt", true);
    bool is_done =
        cli_check_interrupt(err) && glinfer_generate(session->session, params, stats, err);
    cli_bar_clear(&session->bar);
    if (!is_done && cli_is_broken(err)) {
        is_done = recover(session, params, stats, err);
        if (!is_done && cli_is_broken(err)) {
            cli_say("the GPU was recovered once and failed again");
        }
    }
    return is_done;
}

double cli_per_second(uint32_t n, double ms)
{
    return ms > 0 ? n * 1000.0 / ms : 0;
}

uint32_t cli_timed_tokens(const struct glinfer_stats *stats)
{
    return stats->predicted_n > 0 ? stats->predicted_n - 1 : 0;
}

void cli_add_rate(cJSON *timings, const char *what, uint32_t n, uint32_t n_timed, double ms)
{
    const double values[] = {n, ms, n_timed > 0 ? ms / n_timed : 0, cli_per_second(n_timed, ms)};
    static const char *const names[] = {"n", "ms", "per_token_ms", "per_second"};
    char name[64];
    for (size_t i = 0; i < 4; i++) {
        snprintf(name, sizeof(name), "%s_%s", what, names[i]);
        cJSON_AddNumberToObject(timings, name, values[i]);
    }
}

double cli_cpu_per_token(const struct glinfer_stats *stats)
{
    const uint32_t n = cli_timed_tokens(stats);
    return n > 0 ? stats->predicted_cpu_ms / n : 0;
}

static void print_speed(const char *what, uint32_t n, uint32_t n_timed, double ms)
{
    fprintf(stderr, "%-7s %6u tokens  %9.1f ms  %8.2f tokens/s%s\n", what, n, ms,
            cli_per_second(n_timed, ms), n_timed < n ? " after the first token" : "");
}

void cli_print_speeds(const struct glinfer_stats *stats)
{
    print_speed("prompt", stats->prompt_n, stats->prompt_n, stats->prompt_ms);
    if (stats->predicted_n == 1) {
        fprintf(stderr, "answer       1 token, which came with the prompt\n");
    } else if (stats->predicted_n > 1) {
        print_speed("answer", stats->predicted_n, cli_timed_tokens(stats), stats->predicted_ms);
    } else {
        fprintf(stderr, "answer       0 tokens\n");
    }
    if (stats->draft_n > 0) {
        fprintf(stderr, "drafts %8u tokens, %u of them right\n", stats->draft_n,
                stats->draft_n_accepted);
    }
    fprintf(stderr, "CPU time %25.1f ms  %8.2f ms a token of the answer\n",
            stats->prompt_cpu_ms + stats->predicted_cpu_ms, cli_cpu_per_token(stats));
}
