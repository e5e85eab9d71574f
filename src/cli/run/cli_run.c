// `glinfer run`: one prompt, one answer.
#include "cli/cli_commands.h"
#include "cli/common/cli_json.h"
#include "cli/common/cli_reasoning.h"
#include "cli/common/cli_session.h"
#include "cli/flags/cli_template.h"
#include "cli/run/cli_prompt.h"
#include "cli/sampling/cli_sampling.h"

#include <stdlib.h>
#include <unistd.h>

struct settings {
    struct cli_session_flags session;
    struct cli_prompt_flags prompt;
    bool is_raw;
    int64_t n_predict;
    struct cli_texts stop;
    bool ignores_eos;
    bool shifts, stops_when_full;
    int64_t n_keep;
    struct cli_prompt_cache cache;
    struct cli_sampling sampling;
    bool is_json, is_timed, is_untimed;
    int64_t n_probs;
};

static struct settings defaults = {.n_predict = -1, .sampling = CLI_SAMPLING_DEFAULTS};

#define CLI_SETTINGS settings
static const struct cli_flag flags[] = {
    CLI_HEADING("Model and device"),
    CLI_MODEL_FLAGS,
    CLI_CONTEXT_FLAG("tokens that prompt and answer may have together; 0 (default): the smaller of "
                     "the model's and 4096"),
    CLI_HEADING("Prompt (standard input when neither -p nor -f is given)"),
    CLI_TEXT(prompt.text, "-p, --prompt", "TEXT",
             "the prompt; text that is piped to standard input is appended to it"),
    CLI_TEXT(prompt.file, "-f, --file", "FILE",
             "a file with the prompt, or - for standard input; the end of its last line is not "
             "part of it"),
    CLI_SWITCH(prompt.has_escapes, "-e, --escape",
               "read \\n, \\t, \\r, \\\\, \\\", \\' and \\xHH as the characters they stand for in "
               "files and standard input too, not only in -p, -sys and -r"),
    CLI_SWITCH(prompt.has_no_escapes, "--no-escape", "read them nowhere"),
    CLI_TEXT(prompt.system, "-sys, --system-prompt", "TEXT",
             "a system message for the chat template"),
    CLI_FILE(prompt.system_file, cli_parse_line_file, "-sysf, --system-prompt-file", "FILE",
             "a file with the system message; the end of its last line is not part of it"),
    CLI_TEMPLATE_FLAG,
    CLI_SWITCH(is_raw, "--raw, -no-cnv, --no-conversation",
               "continue the prompt as it stands: no chat template"),
    CLI_TEXT(cache.path, "--prompt-cache", "FILE",
             "keep the processed prompt in this file; later runs process only the tokens after "
             "the common beginning"),
    CLI_SWITCH(cache.has_answers, "--prompt-cache-all", "keep the answer there too"),
    CLI_SWITCH(cache.is_read_only, "--prompt-cache-ro", "never write it"),
    CLI_HEADING("Answer"),
    CLI_CUSTOM(n_predict, cli_parse_predict, "-n, --predict, --n-predict", "N",
               "maximum number of tokens; -1 (default): to the end of the context"),
    CLI_TEXTS(stop, "-r, --reverse-prompt, --stop", "TEXT",
              "end the answer before this text; may be given many times"),
    CLI_SWITCH(ignores_eos, "--ignore-eos", "go on past end-of-text tokens, to -n"),
    CLI_SWITCH(shifts, "--context-shift",
               "when the context is full, drop half of the tokens after those of --keep and "
               "continue"),
    CLI_SWITCH(stops_when_full, "--no-context-shift",
               "end the answer when the context is full, as without either flag"),
    CLI_INT(n_keep, -1, 1 << 24, "--keep", "N",
            "tokens of the prompt that --context-shift keeps, beside the one that begins a text; "
            "-1: all; 0 (default): none"),
    CLI_SAMPLING_FLAGS,
    CLI_HEADING("Output"),
    CLI_SWITCH(is_json, "--json",
               "one JSON object on standard output in place of the text: device, prompt_tokens, "
               "tokens, text, stop (eos, limit, word, context, interrupted), probs, timings, whose "
               "predicted_per_second counts the tokens after the first"),
    CLI_INT(n_probs, 0, 64, "--n-probs", "K",
            "with --json: the K likeliest tokens of every step with their log-probabilities over "
            "the whole vocabulary before any filter, at most 64"),
    CLI_SWITCH(is_timed, "--perf, --show-timings",
               "timings on stderr at the end even if that is not a terminal"),
    CLI_SWITCH(is_untimed, "--no-perf, --no-show-timings", "no timings"),
    CLI_HEADING("Speed"),
    CLI_SPEED_FLAGS,
    CLI_IGNORED_VALUE("-np, --parallel", "there is one sequence"),
    CLI_IGNORED("-st, --single-turn", "there is one turn"),
    CLI_IGNORED("-cnv, --conversation", "there is one turn; `glinfer chat` has more"),
};

static const struct cli_rule rules[] = {
    CLI_EXCLUDES("-p", "-f"),
    CLI_EXCLUDES("-sys", "-sysf"),
    CLI_EXCLUDES("-e", "--no-escape"),
    CLI_EXCLUDES("--raw", "-sys"),
    CLI_EXCLUDES("--raw", "-sysf"),
    CLI_EXCLUDES("--raw", "--chat-template"),
    CLI_EXCLUDES("--raw", "--chat-template-file"),
    CLI_EXCLUDES("--raw", "--chat-template-kwargs"),
    CLI_NEEDS("--prompt-cache-all", "--prompt-cache"),
    CLI_NEEDS("--prompt-cache-ro", "--prompt-cache"),
    CLI_EXCLUDES("--prompt-cache-all", "--prompt-cache-ro"),
    CLI_NEEDS("--n-probs", "--json"),
    {NULL, NULL, false},
};

struct run {
    struct settings *settings;
    struct cli_prompt prompt;
    const char **stop; // settings->stop with its escapes resolved; owned, with the texts
    bool is_chat;
    struct cli_session session;
    struct cli_ids prompt_ids;
    struct cli_reasoning reasoning; // of the prompt's kind: which control tokens are marks
    struct cli_prompt_cache cache;
    uint64_t seed;
    bool is_line_open; // text was printed and its last character ends no line
    // For JSON:
    struct cli_bytes answer;
    struct cli_ids answer_ids;
    cJSON *probs;
    struct glinfer_stats stats;
};

//-- the prompt ------------------------------------------------------------------------------------

static bool has_system(const struct settings *settings)
{
    return settings->prompt.system || settings->prompt.system_file;
}

// Chooses between chat and plain completion. Returns false, with the reason printed, if neither is
// possible.
static bool choose_template(struct run *run)
{
    const struct settings *settings = run->settings;
    const bool is_missing = cli_template_is_missing(&run->session);
    run->is_chat = !settings->is_raw && !is_missing;
    return settings->is_raw || (is_missing && !has_system(settings)) ||
           cli_template_check(&run->session);
}

static bool check_prompt(const struct run *run)
{
    const struct cli_bytes *text = &run->prompt.text;
    const size_t size = text->data ? strlen(text->data) : 0;
    if (run->is_chat && size < text->size) { // messages end at a zero byte
        return cli_fail(CLI_EXIT_FAILED,
                        "invalid prompt: zero byte at offset %zu; --raw accepts it", size);
    }
    if (text->size == 0) {
        return cli_fail(CLI_EXIT_USAGE, "the prompt is empty");
    }
    if (!run->is_chat && !run->settings->is_raw) {
        cli_note("the model has no chat template, as base models have none: the prompt is "
                 "continued as plain text; --raw asks for that without a note");
    }
    return true;
}

static bool check_fit(const struct run *run)
{
    const size_t n = run->prompt_ids.count, n_ctx = run->session.info.n_ctx;
    return n <= n_ctx || cli_fail(CLI_EXIT_FAILED,
                                  "the prompt has %zu tokens, the context %zu: shorten it or ask "
                                  "for a larger context with -c",
                                  n, n_ctx);
}

// Refuses a prompt that is too long for the context before the template is applied.
static bool check_long(struct run *run, const struct glinfer_tokenizer *tokenizer)
{
    enum { LONG = 1 << 16 };
    const unsigned as_text = GLINFER_TOKENIZE_NO_BOS | GLINFER_TOKENIZE_NO_SPECIAL;
    return run->prompt.text.size < LONG ||
           (cli_tokenize(tokenizer, &run->prompt.text, as_text, &run->prompt_ids) &&
            check_fit(run));
}

static bool tokenize(struct run *run)
{
    const struct glinfer_tokenizer *tokenizer = glinfer_model_tokenizer(run->session.model);
    const struct glinfer_message messages[2] = {
        {"system", run->prompt.system.data},
        {"user", run->prompt.text.data},
    };
    const size_t first = has_system(run->settings) ? 0 : 1;
    struct glinfer_error err;
    const bool is_done = run->is_chat
                             ? check_long(run, tokenizer) &&
                                   (cli_session_encode(&run->session, messages + first, 2 - first,
                                                       &run->prompt_ids, &err) ||
                                    cli_fail_error(&err))
                             : cli_tokenize(tokenizer, &run->prompt.text, 0, &run->prompt_ids);
    if (run->is_chat) {
        cli_template_warn(&run->session);
        cli_reasoning_begin(&run->reasoning, cli_reasoning_find_open(tokenizer, &run->prompt_ids));
    }
    return is_done && check_fit(run) &&
           (run->prompt_ids.count > 0 || cli_fail(CLI_EXIT_FAILED, "the prompt is empty"));
}

//-- the answer ------------------------------------------------------------------------------------

static bool receive_token(void *user, const struct glinfer_token *token)
{
    struct run *run = user;
    size_t size = token->text_size;
    const char *text = token->text;
    cli_bar_clear(&run->session.bar);
    if (run->is_chat) {
        text = cli_reasoning_text(&run->reasoning, glinfer_model_tokenizer(run->session.model),
                                  token->id, text, size, &size);
    }
    if (run->settings->is_json) {
        cli_bytes_append(&run->answer, text, size);
        if (token->id >= 0) { // text that was held back may come after the last token
            cli_ids_append(&run->answer_ids, &token->id, 1);
        }
        if (token->id >= 0 && run->probs) {
            cJSON *list = cJSON_CreateArray();
            for (uint32_t i = 0; i < token->n_probs; i++) {
                cJSON *entry = cli_json_append(list);
                cJSON_AddNumberToObject(entry, "id", token->probs[i].id);
                cli_json_add_float(entry, "logprob", token->probs[i].logprob);
            }
            cJSON_AddItemToArray(run->probs, list);
        }
        return true;
    }
    if (size == 0) {
        return true;
    }
    run->is_line_open = text[size - 1] != '\n';
    return cli_write(text, size);
}

// Returns the number of tokens that a shift keeps: those of --keep, and the one that the vocabulary
// adds before a text.
static int32_t count_kept(const struct run *run)
{
    const struct glinfer_tokenizer *tokenizer = glinfer_model_tokenizer(run->session.model);
    const int64_t n_keep = run->settings->n_keep;
    int32_t first;
    size_t n = 0;
    const bool has_first = glinfer_tokenize(tokenizer, "", 0, 0, &first, 1, &n, NULL) && n > 0 &&
                           first == run->prompt_ids.items[0];
    return (int32_t)(n_keep < 0 ? n_keep : n_keep + has_first);
}

static void fill_params(struct run *run, struct glinfer_generate_params *params)
{
    const struct settings *settings = run->settings;
    glinfer_generate_params_init(params);
    params->prompt = run->prompt_ids.items;
    params->n_prompt = run->prompt_ids.count;
    params->n_predict = (int32_t)settings->n_predict;
    params->ignore_eos = settings->ignores_eos;
    params->n_probs = settings->is_json ? (uint32_t)settings->n_probs : 0;
    params->stop = run->stop;
    params->n_stop = settings->stop.count;
    params->context_full = settings->shifts && !settings->stops_when_full
                               ? GLINFER_CONTEXT_FULL_SHIFT
                               : GLINFER_CONTEXT_FULL_STOP;
    params->n_keep = count_kept(run);
    params->on_token = receive_token;
    params->token_user = run;
    cli_sampling_fill(&settings->sampling, run->seed, params);
}

//-- results ---------------------------------------------------------------------------------------

static void add_timings(cJSON *object, const struct run *run)
{
    const struct glinfer_stats *stats = &run->stats;
    cJSON *timings = cJSON_AddObjectToObject(object, "timings");
    cJSON_AddNumberToObject(timings, "compile_ms", run->session.compile_ms);
    cJSON_AddNumberToObject(timings, "cache_n", (double)run->cache.n_reused);
    cli_add_rate(timings, "prompt", stats->prompt_n, stats->prompt_n, stats->prompt_ms);
    cli_add_rate(timings, "predicted", stats->predicted_n, cli_timed_tokens(stats),
                 stats->predicted_ms);
    cJSON_AddNumberToObject(timings, "predicted_cpu_per_token_ms", cli_cpu_per_token(stats));
    CLI_JSON_ADD(timings, stats, CLI_JSON(glinfer_stats, prompt_cpu_ms),
                 CLI_JSON(glinfer_stats, predicted_cpu_ms), CLI_JSON(glinfer_stats, ttft_ms),
                 CLI_JSON(glinfer_stats, chain_length), CLI_JSON(glinfer_stats, gpu_waits),
                 CLI_JSON(glinfer_stats, dispatches_per_token), CLI_JSON(glinfer_stats, draft_n),
                 CLI_JSON(glinfer_stats, draft_n_accepted));
    cJSON_AddStringToObject(timings, "dispatch", glinfer_dispatch_name(stats->dispatch));
    cli_json_add_u64(timings, "peak_memory_bytes", stats->peak_memory);
}

static bool print_json(struct run *run, bool is_interrupted)
{
    static const char *const stops[] = {
        [GLINFER_STOP_LIMIT] = "limit",     [GLINFER_STOP_EOS] = "eos",
        [GLINFER_STOP_WORD] = "word",       [GLINFER_STOP_CALLBACK] = "callback",
        [GLINFER_STOP_CONTEXT] = "context",
    };
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "device", run->session.device_info.renderer);
    cJSON_AddItemToObject(object, "prompt_tokens",
                          cli_json_ids(run->prompt_ids.items, run->prompt_ids.count));
    cJSON_AddItemToObject(object, "tokens",
                          cli_json_ids(run->answer_ids.items, run->answer_ids.count));
    cJSON_AddItemToObject(object, "text", cli_json_text(run->answer.data, run->answer.size));
    cJSON_AddStringToObject(object, "stop",
                            is_interrupted ? "interrupted" : stops[run->stats.stop]);
    cli_json_add_u64(object, "seed", run->seed);
    if (run->probs) {
        cJSON_AddItemToObject(object, "probs", run->probs);
        run->probs = NULL;
    }
    add_timings(object, run);
    return cli_json_print(object);
}

static void print_timings(const struct run *run)
{
    const struct settings *settings = run->settings;
    const struct glinfer_stats *stats = &run->stats;
    char memory[24];
    const bool is_shown =
        settings->session.device.verbosity > 0 || (isatty(STDERR_FILENO) && !cli_is_quiet());
    if (settings->is_untimed || !(settings->is_timed || is_shown)) {
        return;
    }
    fprintf(stderr, "\ncompile %26.1f ms\n", run->session.compile_ms);
    cli_print_speeds(stats);
    fprintf(stderr, "first token after %.1f ms, peak memory %s\n", stats->ttft_ms,
            cli_format_size(memory, stats->peak_memory));
    if (settings->session.device.verbosity > 1) {
        fprintf(stderr, "%u waits for the GPU, %s chains of up to %u steps\n", stats->gpu_waits,
                glinfer_dispatch_name(stats->dispatch), stats->chain_length);
    }
}

static bool finish_answer(struct run *run, bool is_done, const struct glinfer_error *err)
{
    const struct glinfer_model_info *info = &run->session.info;
    if (run->is_line_open) {
        cli_write("\n", 1);
    }
    if (!is_done && err->status == GLINFER_STATUS_CONTEXT_FULL) {
        return cli_fail(CLI_EXIT_FAILED, "%s with -c", err->message);
    }
    if (!is_done) {
        return cli_fail_error(err);
    }
    if (run->stats.stop == GLINFER_STOP_CALLBACK) {
        cli_close_output();
        return false;
    }
    if (run->stats.stop == GLINFER_STOP_LIMIT && !run->settings->is_json && isatty(STDERR_FILENO)) {
        cli_note("the answer is cut after the %u token%s that -n allows", run->stats.predicted_n,
                 cli_plural(run->stats.predicted_n));
    }
    if (run->stats.stop == GLINFER_STOP_CONTEXT) {
        cli_note("the context of %u tokens is full%s", info->n_ctx,
                 info->n_ctx < info->n_ctx_train ? "; -c gives more" : "");
    }
    if (run->settings->is_json) {
        return print_json(run, false);
    }
    print_timings(run);
    return cli_close_output();
}

//-- the command -----------------------------------------------------------------------------------

static bool answer(struct run *run)
{
    struct settings *settings = run->settings;
    struct glinfer_generate_params params;
    struct glinfer_error err;
    run->stop = cli_alloc(settings->stop.count, sizeof(*run->stop));
    for (size_t i = 0; i < settings->stop.count; i++) {
        struct cli_bytes text = {0};
        cli_prompt_copy(&settings->prompt, settings->stop.items[i], &text);
        run->stop[i] = text.data;
    }
    if (!cli_session_check_generator(&run->session) || !choose_template(run) ||
        !cli_prompt_read(&settings->prompt, &run->prompt) || !check_prompt(run) ||
        !cli_session_load(&run->session) || !tokenize(run)) {
        return false;
    }
    cli_sampling_take(&settings->sampling, &run->session.info);
    fill_params(run, &params);
    if (!cli_session_start(&run->session, &params)) {
        return false;
    }
    run->seed = cli_sampling_seed(&settings->sampling, settings->session.device.verbosity > 0);
    params.seed = run->seed;
    run->probs = settings->is_json && settings->n_probs > 0 ? cJSON_CreateArray() : NULL;
    run->cache = settings->cache;
    if (!cli_prompt_cache_load(&run->cache, run->session.session, &run->prompt_ids)) {
        return false;
    }
    params.prompt += run->cache.n_reused;
    params.n_prompt -= run->cache.n_reused;
    const bool is_done = cli_generate(&run->session, &params, &run->stats, &err);
    return finish_answer(run, is_done, &err) &&
           cli_prompt_cache_save(&run->cache, run->session.session, &run->prompt_ids);
}

static void finish_run(struct run *run)
{
    cli_session_finish(&run->session);
    cli_prompt_finish(&run->prompt);
    cli_bytes_finish(&run->answer);
    for (size_t i = 0; run->stop && i < run->settings->stop.count; i++) {
        free((void *)run->stop[i]);
    }
    free(run->stop);
    cJSON_Delete(run->probs);
    free(run->prompt_ids.items);
    free(run->answer_ids.items);
}

// Returns the mistake in the flags; NULL: none.
static const char *check_settings(const struct settings *settings)
{
    const struct cli_prompt_flags *prompt = &settings->prompt;
    for (size_t i = 0; i < settings->stop.count; i++) {
        if (!settings->stop.items[i][0]) {
            return "-r needs a text that is not empty";
        }
    }
    return prompt->text && !prompt->text[0] ? "the prompt is empty"
           : settings->is_raw && settings->session.reasoning
               ? "--raw and --reasoning exclude each other"
               : NULL;
}

static bool run_command(void *user)
{
    struct settings *settings = user;
    const char *mistake = check_settings(settings);
    if (mistake) {
        return cli_fail(CLI_EXIT_USAGE, "%s", mistake);
    }
    if (!cli_prompt_cache_check(&settings->cache) || !cli_sampling_check(&settings->sampling)) {
        return false;
    }
    struct run run = {.settings = settings};
    cli_session_init(&run.session, &settings->session);
    const bool is_done = answer(&run);
    if (!is_done && settings->is_json && cli_is_interrupted()) {
        print_json(&run, true);
    }
    finish_run(&run);
    return is_done;
}

const struct cli_command cli_run_command = {
    .name = "run",
    .usage = "-m MODEL [-p TEXT | -f FILE] [flags]",
    .summary = "Answers one prompt, printing the text as it comes.",
    .word = "the prompt is given with -p",
    .text =
        "The model's chat template is used if it has one (--raw: plain completion). Notes, the\n"
        "progress bar (on a terminal) and timings (on a terminal, or with --perf) go to stderr.\n"
        "Exit status: 0 done, 1 failed, 2 wrong usage, 130 interrupted by Ctrl-C.\n\n"
        "    glinfer run -m model.gguf -p \"Why is the sky blue?\"\n"
        "    git diff | glinfer run -m model.gguf -sys \"Summarise the change.\" --temp 0\n"
        "    glinfer run -m model.gguf --raw -p \"Once upon a time\" -n 64 --json --n-probs 5",
    .common = "-m, -hf, -c, -dev, -v, -p, -f, -sys, --raw, -n, -s, --temp, -j, --json, --perf",
    .rules = rules,
    .needs_model = true,
    CLI_SESSION_COMMAND(flags, defaults, run_command),
};
