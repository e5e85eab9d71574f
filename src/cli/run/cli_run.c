#include "cli/run/cli_run.h"

#include "cli/common/cli_json.h"
#include "cli/common/cli_start.h"
#include "cli/run/cli_run_flags.h"

#include <stdlib.h>
#include <unistd.h>

struct run {
    const struct cli_run_settings *settings;
    struct cli_bytes text; // the prompt's
    struct cli_bytes stop_texts[CLI_MAX_TEXTS];
    const char *stop[CLI_MAX_TEXTS];
    struct cli_bytes system;
    bool is_chat;
    struct cli_session session;
    int32_t *prompt;
    size_t n_prompt;
    uint64_t seed;
    bool is_line_open; // text was printed and its last character ends no line
    // For JSON:
    struct cli_bytes answer, ids; // ids: int32_t
    cJSON *probs;
    bool is_out_of_memory;
    struct glinfer_stats stats;
};

//-- the prompt's text -----------------------------------------------------------------------------

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// The character of an escape behind its backslash, and the bytes it takes there; 0 bytes: none.
static char read_escape(const char *text, size_t size, size_t *n_used)
{
    static const char letters[] = "nrt\\\"'", values[] = "\n\r\t\\\"'";
    const char *found = size > 0 && text[0] ? strchr(letters, text[0]) : NULL;
    if (size >= 3 && text[0] == 'x' && hex_digit(text[1]) >= 0 && hex_digit(text[2]) >= 0) {
        *n_used = 3;
        return (char)(hex_digit(text[1]) * 16 + hex_digit(text[2]));
    }
    *n_used = found != NULL;
    return found ? values[found - letters] : 0;
}

static void resolve_escapes(struct cli_bytes *bytes)
{
    size_t to = 0;
    for (size_t from = 0; from < bytes->size;) {
        size_t n_used = 0;
        char c = bytes->data[from++];
        if (c == '\\') {
            char value = read_escape(bytes->data + from, bytes->size - from, &n_used);
            c = n_used > 0 ? value : c;
        }
        from += n_used;
        bytes->data[to++] = c;
    }
    bytes->size = to;
    if (bytes->data) {
        bytes->data[to] = 0;
    }
}

static bool copy_text(const struct run *run, const char *text, struct cli_bytes *bytes)
{
    if (!cli_bytes_append(bytes, text, strlen(text))) {
        cli_fail(0, "no memory for a text of the command line");
        return false;
    }
    if (run->settings->has_escapes) {
        resolve_escapes(bytes);
    }
    return true;
}

static bool read_prompt(struct run *run)
{
    const struct cli_run_settings *settings = run->settings;
    if (settings->prompt) {
        return copy_text(run, settings->prompt, &run->text);
    }
    if (!settings->file && isatty(STDIN_FILENO)) {
        fprintf(stderr, "glinfer: the prompt, ended by Ctrl-D:\n");
    }
    if (!cli_read_all(settings->file, &run->text)) {
        return false;
    }
    cli_bytes_trim(&run->text);
    if (settings->has_escapes) {
        resolve_escapes(&run->text);
    }
    return true;
}

static bool read_texts(struct run *run)
{
    const struct cli_run_settings *settings = run->settings;
    for (size_t i = 0; i < settings->stop.count; i++) {
        if (!copy_text(run, settings->stop.items[i], &run->stop_texts[i])) {
            return false;
        }
        run->stop[i] = run->stop_texts[i].data;
    }
    return (!settings->system || copy_text(run, settings->system, &run->system)) &&
           read_prompt(run);
}

//-- the prompt's tokens ---------------------------------------------------------------------------

// Chooses between chat and plain completion; prints why neither will do.
static bool choose_template(struct run *run)
{
    const struct glinfer_model_info *info = &run->session.info;
    const bool has_none = strcmp(info->chat_template, "none") == 0;
    run->is_chat = !run->settings->is_raw && !has_none;
    if (run->is_chat && strcmp(info->chat_template, "unknown") == 0) {
        cli_fail(0,
                 "%s has a chat template that glinfer does not know; --chat-template names one, "
                 "--raw continues the prompt as plain text",
                 run->settings->session.model);
        return false;
    }
    if (!run->is_chat && run->settings->system) {
        cli_fail(0,
                 "-sys needs a chat template, and the model has none: --chat-template names one");
        return false;
    }
    return true;
}

static bool encode(const struct run *run, const struct glinfer_tokenizer *tokenizer, int32_t *ids,
                   size_t cap, size_t *n, struct glinfer_error *err)
{
    const struct glinfer_message messages[2] = {
        {"system", run->system.data},
        {"user",   run->text.data  },
    };
    const size_t first = run->settings->system ? 0 : 1;
    if (run->is_chat) {
        return glinfer_chat_tokenize(tokenizer, messages + first, 2 - first, ids, cap, n, err);
    }
    return glinfer_tokenize(tokenizer, run->text.data, run->text.size, 0, ids, cap, n, err);
}

// Chat messages end at a zero byte.
static bool check_zero_bytes(const struct run *run)
{
    const size_t size = run->text.data ? strlen(run->text.data) : 0;
    if (run->is_chat && size < run->text.size) {
        cli_fail(0,
                 "the prompt has a zero byte at offset %zu, which a chat cannot carry; --raw can",
                 size);
        return false;
    }
    return true;
}

static bool tokenize(struct run *run)
{
    struct glinfer_error err;
    const struct glinfer_tokenizer *tokenizer = glinfer_model_tokenizer(run->session.model);
    size_t n = 0;
    if (!encode(run, tokenizer, NULL, 0, &run->n_prompt, &err)) {
        cli_fail_error(&err);
        return false;
    }
    if (run->n_prompt == 0) {
        cli_fail(0, "the prompt is empty");
        return false;
    }
    run->prompt = calloc(run->n_prompt, sizeof(*run->prompt));
    if (!run->prompt) {
        cli_fail(0, "no memory for a prompt of %zu tokens", run->n_prompt);
        return false;
    }
    if (!encode(run, tokenizer, run->prompt, run->n_prompt, &n, &err)) {
        cli_fail_error(&err);
        return false;
    }
    return true;
}

//-- the answer ------------------------------------------------------------------------------------

static bool add_probs(struct run *run, const struct glinfer_token *token)
{
    cJSON *list = cJSON_CreateArray();
    for (uint32_t i = 0; list && i < token->n_probs; i++) {
        cJSON *entry = cJSON_CreateObject();
        bool is_good = cJSON_AddNumberToObject(entry, "id", token->probs[i].id) &&
                       cli_json_add_float(entry, "logprob", token->probs[i].logprob);
        cJSON_AddItemToArray(list, entry);
        if (!is_good) {
            cJSON_Delete(list);
            return false;
        }
    }
    return list && cJSON_AddItemToArray(run->probs, list);
}

static bool keep_token(struct run *run, const struct glinfer_token *token)
{
    bool is_kept = cli_bytes_append(&run->answer, token->text, token->text_size);
    if (token->id >= 0) { // text that was held back may come after the last token
        is_kept =
            is_kept && cli_bytes_append(&run->ids, (const char *)&token->id, sizeof(token->id));
        is_kept = is_kept && (!run->probs || add_probs(run, token));
    }
    run->is_out_of_memory = !is_kept;
    return is_kept;
}

static bool receive_token(void *user, const struct glinfer_token *token)
{
    struct run *run = user;
    cli_bar_clear(&run->session.bar);
    if (run->settings->is_json) {
        return keep_token(run, token);
    }
    if (token->text_size == 0) {
        return true;
    }
    run->is_line_open = token->text[token->text_size - 1] != '\n';
    return cli_write(token->text, token->text_size);
}

// What the session is compiled for, too.
static void fill_params(const struct run *run, struct glinfer_generate_params *params)
{
    const struct cli_run_settings *settings = run->settings;
    glinfer_generate_params_init(params);
    params->prompt = run->prompt;
    params->n_prompt = run->n_prompt;
    params->n_predict = (int32_t)settings->n_predict;
    params->ignore_eos = settings->ignores_eos;
    params->n_probs = settings->is_json ? (uint32_t)settings->n_probs : 0;
    cli_sampling_fill(&settings->sampling, run->seed, params);
}

static bool generate(struct run *run, struct glinfer_error *err)
{
    struct glinfer_generate_params params;
    fill_params(run, &params);
    params.stop = run->stop;
    params.n_stop = run->settings->stop.count;
    params.on_token = receive_token;
    params.token_user = run;
    params.progress = cli_progress;
    params.progress_user = &run->session.bar;
    run->stats.struct_size = sizeof(run->stats);
    cli_bar_wait(&run->session.bar, "reading the prompt", true);
    bool is_done = glinfer_generate(run->session.session, &params, &run->stats, err);
    cli_bar_clear(&run->session.bar);
    return is_done;
}

//-- results ---------------------------------------------------------------------------------------

static void add_rate(cJSON *timings, const char *what, uint32_t n, uint32_t n_timed, double ms)
{
    char name[64];
    snprintf(name, sizeof(name), "%s_n", what);
    cJSON_AddNumberToObject(timings, name, n);
    snprintf(name, sizeof(name), "%s_ms", what);
    cJSON_AddNumberToObject(timings, name, ms);
    snprintf(name, sizeof(name), "%s_per_token_ms", what);
    cJSON_AddNumberToObject(timings, name, n_timed > 0 ? ms / n_timed : 0);
    snprintf(name, sizeof(name), "%s_per_second", what);
    cJSON_AddNumberToObject(timings, name, cli_per_second(n_timed, ms));
}

static void add_timings(cJSON *object, const struct run *run)
{
    const struct glinfer_stats *stats = &run->stats;
    cJSON *timings = cJSON_AddObjectToObject(object, "timings");
    cJSON_AddNumberToObject(timings, "compile_ms", run->session.compile_ms);
    cJSON_AddNumberToObject(timings, "cache_n", 0);
    add_rate(timings, "prompt", stats->prompt_n, stats->prompt_n, stats->prompt_ms);
    add_rate(timings, "predicted", stats->predicted_n, cli_timed_tokens(stats),
             stats->predicted_ms);
    cJSON_AddNumberToObject(timings, "ttft_ms", stats->ttft_ms);
    cJSON_AddNumberToObject(timings, "chain_length", stats->chain_length);
    cJSON_AddNumberToObject(timings, "gpu_waits", stats->gpu_waits);
    cJSON_AddNumberToObject(timings, "dispatches_per_token", stats->dispatches_per_token);
    cJSON_AddStringToObject(timings, "dispatch", glinfer_dispatch_name(stats->dispatch));
    cli_json_add_u64(timings, "peak_memory_bytes", stats->peak_memory);
}

static int print_json(struct run *run)
{
    static const char *const stops[] = {
        [GLINFER_STOP_LIMIT] = "limit",
        [GLINFER_STOP_EOS] = "eos",
        [GLINFER_STOP_WORD] = "word",
        [GLINFER_STOP_CALLBACK] = "callback",
    };
    cJSON *object = cJSON_CreateObject();
    const size_t n = run->ids.size / sizeof(int32_t);
    cJSON_AddStringToObject(object, "device", run->session.device_info.renderer);
    cJSON_AddItemToObject(object, "prompt_tokens", cli_json_ids(run->prompt, run->n_prompt));
    cJSON_AddItemToObject(object, "tokens",
                          cli_json_ids((const int32_t *)(void *)run->ids.data, n));
    cJSON_AddItemToObject(object, "text", cli_json_text(run->answer.data, run->answer.size));
    cJSON_AddStringToObject(object, "stop", stops[run->stats.stop]);
    cJSON_AddNumberToObject(object, "seed", (double)run->seed);
    if (run->probs) {
        cJSON_AddItemToObject(object, "probs", run->probs);
        run->probs = NULL;
    }
    add_timings(object, run);
    return cli_json_print(object);
}

static void print_timings(const struct run *run)
{
    const struct cli_run_settings *settings = run->settings;
    const struct glinfer_stats *stats = &run->stats;
    char memory[24];
    if (settings->is_untimed ||
        !(settings->is_timed || settings->session.device.is_verbose || isatty(STDERR_FILENO))) {
        return;
    }
    fprintf(stderr, "\ncompile %26.1f ms\n", run->session.compile_ms);
    cli_print_speeds(stats);
    fprintf(stderr, "first token after %.1f ms, %u waits, %s chains of up to %u, peak memory %s\n",
            stats->ttft_ms, stats->gpu_waits, glinfer_dispatch_name(stats->dispatch),
            stats->chain_length, cli_format_size(memory, stats->peak_memory));
}

static void note_full_context(const struct run *run)
{
    const struct glinfer_model_info *info = &run->session.info;
    if (run->stats.stop == GLINFER_STOP_LIMIT && run->stats.n_past >= info->n_ctx) {
        fprintf(stderr, "glinfer: note: the context of %u tokens is full%s\n", info->n_ctx,
                info->n_ctx < info->n_ctx_train ? "; -c gives more" : "");
    }
}

static int finish_answer(struct run *run, bool is_done, const struct glinfer_error *err)
{
    if (run->is_line_open) {
        cli_write("\n", 1);
    }
    if (!is_done && err->status == GLINFER_STATUS_CONTEXT_FULL) {
        return cli_fail(CLI_EXIT_FAILED, "%s with -c", err->message);
    }
    if (!is_done) {
        return cli_fail_error(err);
    }
    if (run->is_out_of_memory) {
        return cli_fail(CLI_EXIT_FAILED, "no memory for the answer");
    }
    if (run->stats.stop == GLINFER_STOP_CALLBACK) {
        return cli_close_output(CLI_EXIT_FAILED);
    }
    note_full_context(run);
    if (run->settings->is_json) {
        return print_json(run);
    }
    print_timings(run);
    return cli_close_output(CLI_EXIT_DONE);
}

//-- the command -----------------------------------------------------------------------------------

// Opens the device and loads the model and a session; prints what failed.
static int load(struct run *run)
{
    struct glinfer_generate_params expected;
    const int status = cli_session_load(&run->session);
    if (status != CLI_EXIT_DONE) {
        return status;
    }
    if (!tokenize(run)) {
        return CLI_EXIT_FAILED;
    }
    fill_params(run, &expected);
    return cli_session_start(&run->session, &expected);
}

static void note_plain_text(const struct run *run)
{
    if (!run->is_chat && !run->settings->is_raw) {
        fprintf(stderr, "glinfer: note: the model has no chat template: the prompt is continued as "
                        "plain text; --raw asks for that without a note\n");
    }
}

static int answer(struct run *run)
{
    struct glinfer_error err;
    int status = cli_session_check(&run->session);
    if (status != CLI_EXIT_DONE) {
        return status;
    }
    if (!choose_template(run) || !read_texts(run) || !check_zero_bytes(run)) {
        return cli_is_interrupted() ? CLI_EXIT_INTERRUPTED : CLI_EXIT_FAILED;
    }
    if (run->text.size == 0) {
        return cli_fail(CLI_EXIT_USAGE, "the prompt is empty");
    }
    note_plain_text(run);
    status = load(run);
    if (status != CLI_EXIT_DONE) {
        return status;
    }
    run->seed =
        cli_sampling_seed(&run->settings->sampling, run->settings->session.device.is_verbose);
    if (run->settings->is_json && run->settings->n_probs > 0) {
        run->probs = cJSON_CreateArray();
    }
    bool is_done = generate(run, &err);
    return finish_answer(run, is_done, &err);
}

static void finish_run(struct run *run)
{
    cli_session_finish(&run->session);
    cli_bytes_finish(&run->text);
    cli_bytes_finish(&run->system);
    cli_bytes_finish(&run->answer);
    cli_bytes_finish(&run->ids);
    for (size_t i = 0; i < CLI_MAX_TEXTS; i++) {
        cli_bytes_finish(&run->stop_texts[i]);
    }
    cJSON_Delete(run->probs);
    free(run->prompt);
}

static int check_settings(const struct cli_run_settings *settings)
{
    if (!settings->session.model) {
        return cli_fail(CLI_EXIT_USAGE, "run needs a model: -m FILE.gguf");
    }
    if (settings->n_predict == 0) {
        return cli_fail(CLI_EXIT_USAGE,
                        "-n 0 asks for no token; -1 goes on to the end of the context");
    }
    if (settings->prompt && settings->file) {
        return cli_fail(CLI_EXIT_USAGE, "-p and -f exclude each other");
    }
    if (settings->is_raw && settings->system) {
        return cli_fail(CLI_EXIT_USAGE, "--raw and -sys exclude each other");
    }
    if (settings->prompt && !settings->prompt[0]) {
        return cli_fail(CLI_EXIT_USAGE, "the prompt is empty");
    }
    for (size_t i = 0; i < settings->stop.count; i++) {
        if (!settings->stop.items[i][0]) {
            return cli_fail(CLI_EXIT_USAGE, "-r needs a text that is not empty");
        }
    }
    if (settings->n_probs > 0 && !settings->is_json) {
        return cli_fail(CLI_EXIT_USAGE, "--n-probs needs --json");
    }
    return CLI_EXIT_DONE;
}

int cli_run(int argc, const char *const *argv)
{
    struct cli_run_settings settings;
    cli_run_defaults(&settings);
    int status;
    if (!cli_start(&cli_run_command, &settings, argc, argv, &status)) {
        return status;
    }
    if (settings.session.device.is_list) {
        return cli_device_list(&settings.session.device);
    }
    status = check_settings(&settings);
    if (status != CLI_EXIT_DONE) {
        return status;
    }
    struct run run = {.settings = &settings};
    cli_session_init(&run.session, &settings.session);
    status = answer(&run);
    finish_run(&run);
    return status;
}
