#include "cli/bench/cli_bench_compare.h"
#include "cli/bench/cli_bench_flags.h"
#include "cli/bench/cli_memory_rate.h"
#include "cli/bench/cli_parallel.h"
#include "cli/bench/cli_sweep.h"

#include <stdlib.h>
#include <time.h>

struct test {
    uint32_t n_prompt, n_gen, n_depth;
    uint32_t n_parallel; // sequences; above 1 where nothing but tokens is generated
};

struct bench {
    struct cli_bench_settings *settings;
    struct cli_bench_printer printers[2];
    struct cli_session session;
    struct cli_parallel parallel;                // of -np
    struct glinfer_transcription *transcription; // of a speech model
    int32_t *tokens;                             // random, as many as the longest prompt
    struct {
        struct test *items;
        size_t count, capacity;
    } tests;
    struct cli_bench_result result;
    bool is_default; // no test was asked for
    bool has_speech; // one of the models at least
    cJSON *baseline; // rows to compare with; NULL: none
    struct {
        struct cli_sweep_point *items;
        size_t count, capacity;
    } points;         // of tests that are prompts alone
    FILE *plot;       // NULL: none
    char *comparison; // sentences, printed after the table
    size_t comparison_size;
    FILE *comparison_file; // writes it; NULL without a baseline
};

//-- one test --------------------------------------------------------------------------------------

static struct glinfer_generate_params make_params(struct bench *bench, uint32_t n_prompt,
                                                  uint32_t n_predict)
{
    struct glinfer_generate_params params;
    glinfer_generate_params_init(&params);
    params.prompt = bench->tokens;
    params.n_prompt = n_prompt;
    params.n_predict = (int32_t)n_predict;
    params.ignore_eos = true;
    cli_sampling_fill(&bench->settings->sampling, 0, &params);
    return params;
}

static bool generate(struct bench *bench, uint32_t n_prompt, uint32_t n_predict,
                     struct glinfer_stats *stats)
{
    const struct glinfer_generate_params params = make_params(bench, n_prompt, n_predict);
    struct glinfer_error err;
    *stats = (struct glinfer_stats){.struct_size = sizeof(*stats)};
    return (cli_check_interrupt(&err) &&
            glinfer_generate(bench->session.session, &params, stats, &err)) ||
           cli_fail_error(&err);
}

// Encodes sound and writes tokens, as a transcription does.
static bool transcribe(struct bench *bench, const struct test *test, struct glinfer_stats *stats)
{
    struct glinfer_speech_times times = {.struct_size = sizeof(times)};
    struct glinfer_error err;
    const bool ok = cli_check_interrupt(&err) &&
                    glinfer_transcription_measure(bench->transcription, test->n_prompt, test->n_gen,
                                                  &times, &err);
    *stats = (struct glinfer_stats){.struct_size = sizeof(*stats),
                                    .prompt_ms = times.encode_ms,
                                    .predicted_ms = times.decode_ms};
    stats->ttft_ms =
        times.encode_ms + (test->n_gen > 0 ? times.decode_ms / (double)test->n_gen : 0);
    return ok || cli_fail_error(&err);
}

// Runs a test: n generated tokens are n decode steps after the token that comes with the prompt.
static bool run_test(struct bench *bench, const struct test *test, struct glinfer_stats *stats)
{
    if (bench->transcription) {
        return transcribe(bench, test, stats);
    }
    if (test->n_parallel > 1) {
        const struct glinfer_generate_params params = make_params(bench, 1, test->n_gen + 1);
        *stats = (struct glinfer_stats){.struct_size = sizeof(*stats)};
        return cli_parallel_run(&bench->parallel, bench->session.device, &params, test->n_depth,
                                stats);
    }
    cli_set_session(bench->session.session); // in the place of parallel ones
    glinfer_session_reset(bench->session.session);
    return (test->n_depth == 0 || generate(bench, test->n_depth, 0, stats)) &&
           generate(bench, test->n_prompt > 0 ? test->n_prompt : 1,
                    test->n_gen > 0 ? test->n_gen + 1 : 0, stats);
}

// Compiles before the first run what answers would compile, so that all are submitted alike.
static bool prepare(struct bench *bench, const struct test *test)
{
    const uint32_t n_prompt = test->n_depth > 0 ? 0 : test->n_prompt > 0 ? test->n_prompt : 1;
    struct glinfer_generate_params params = make_params(bench, n_prompt, test->n_gen + 1);
    struct glinfer_session **sessions = &bench->session.session;
    struct glinfer_error err;
    if (test->n_parallel > 1) {
        if (bench->parallel.n != test->n_parallel) {
            cli_parallel_close(&bench->parallel);
        }
        if (bench->parallel.n == 0 &&
            !cli_parallel_open(&bench->parallel, &bench->session, test->n_parallel)) {
            return false;
        }
        sessions = bench->parallel.sessions;
    }
    if (test->n_gen == 0 || bench->transcription) {
        return true;
    }
    params.progress = cli_progress;
    params.progress_user = &bench->session.bar;
    bool ok = true;
    for (uint32_t i = 0; ok && i < test->n_parallel; i++) {
        glinfer_session_reset(sessions[i]);
        ok = glinfer_session_prepare(sessions[i], &params, NULL, &err);
    }
    return cli_bar_end(&bench->session.bar, ok, &err);
}

static void add_run(struct bench *bench, const struct test *test, const struct glinfer_stats *stats)
{
    struct cli_bench_result *result = &bench->result;
    const double ttft = test->n_gen > 0 ? stats->ttft_ms : stats->prompt_ms;
    const double ms =
        (test->n_prompt > 0 ? stats->prompt_ms : 0) + (test->n_gen > 0 ? stats->predicted_ms : 0);
    result->ns[result->n_run++] = (uint64_t)(ms * 1e6);
    result->ttft_ms += (ttft - result->ttft_ms) / (double)result->n_run;
    result->weight_bytes = stats->weight_bytes_per_token;
    result->dispatch = stats->dispatch;
    result->peak_memory = stats->peak_memory;
}

// Prints a line for each run if asked for, else shows on a terminal what goes on.
static void note_progress(struct bench *bench, const struct test *test, int64_t run)
{
    char label[64], what[80];
    cli_bench_label(&bench->result, label, sizeof(label));
    if (bench->settings->has_progress) {
        fprintf(stderr, "glinfer bench: test %zu/%zu %s: %s %d/%d\n",
                (size_t)(test - bench->tests.items) + 1, bench->tests.count, label,
                run > 0 ? "run" : "warm-up", run > 0 ? (int)run : 1,
                run > 0 ? (int)bench->settings->n_run : 1);
    } else if (run < 2) {
        snprintf(what, sizeof(what), "%s %s", run > 0 ? "measuring" : "warming up for", label);
        cli_bar_wait(&bench->session.bar, what, run == 0);
    }
}

static void begin_result(struct bench *bench, const struct test *test)
{
    struct cli_bench_result *result = &bench->result;
    const time_t now = time(NULL);
    struct tm utc;
    result->n_prompt = test->n_prompt;
    result->n_gen = test->n_gen;
    result->n_depth = test->n_depth;
    result->n_parallel = test->n_parallel;
    result->n_run = 0;
    result->ttft_ms = 0;
    gmtime_r(&now, &utc);
    strftime(result->test_time, sizeof(result->test_time), "%Y-%m-%dT%H:%M:%SZ", &utc);
}

static void add_point(struct bench *bench)
{
    const struct cli_bench_settings *s = bench->settings;
    const struct cli_bench_result *result = &bench->result;
    char depth[24] = "", ubatch[24] = "", types[24] = "";
    const struct cli_bench_figures figures = cli_bench_figures(result);
    struct cli_sweep_point *point = CLI_APPEND(&bench->points);
    point->n_prompt = result->n_prompt;
    point->rate = figures.avg_ts;
    point->stddev = figures.stddev_ts;
    if (result->n_depth > 0) {
        snprintf(depth, sizeof(depth), " @ d%u", result->n_depth);
    }
    if (s->n_ubatch.count > 1) {
        snprintf(ubatch, sizeof(ubatch), ", -ub %u", result->n_ubatch);
    }
    if (s->types_k.count + s->types_v.count > 2) {
        snprintf(types, sizeof(types), ", %s/%s", result->type_k, result->type_v);
    }
    snprintf(point->series, sizeof(point->series), "%s%s%s%s", result->model->description, depth,
             ubatch, types);
}

static bool measure(struct bench *bench, const struct test *test)
{
    struct glinfer_stats stats;
    const struct timespec delay = {.tv_sec = (time_t)bench->settings->delay};
    begin_result(bench, test);
    if (!prepare(bench, test)) {
        return false;
    }
    if (delay.tv_sec > 0 && !cli_is_interrupted()) {
        nanosleep(&delay, NULL);
    }
    if (!bench->settings->has_no_warmup) {
        const struct test warmup = {.n_prompt = test->n_prompt,
                                    .n_gen = test->n_gen > 16 ? 16 : test->n_gen,
                                    .n_parallel = test->n_parallel};
        note_progress(bench, test, 0);
        if (!run_test(bench, &warmup, &stats)) {
            return false;
        }
    }
    for (int64_t i = 1; i <= bench->settings->n_run; i++) {
        note_progress(bench, test, i);
        if (!run_test(bench, test, &stats)) {
            return false;
        }
        add_run(bench, test, &stats);
    }
    cli_bar_clear(&bench->session.bar);
    cli_bench_row(&bench->printers[0], &bench->result);
    cli_bench_row(&bench->printers[1], &bench->result);
    if (bench->baseline) {
        cli_baseline_print(bench->comparison_file, bench->settings->compare, bench->baseline,
                           &bench->result);
    }
    if (bench->plot && test->n_prompt > 0 && test->n_gen == 0) {
        add_point(bench);
    }
    return true;
}

//-- all tests of a model --------------------------------------------------------------------------

static bool start_speech(struct bench *bench)
{
    struct glinfer_error err;
    bench->transcription = glinfer_transcription_create(bench->session.model, NULL, &err);
    return bench->transcription || cli_fail_error(&err);
}

static bool run_session(struct bench *bench, int64_t n_ubatch, int64_t type_k, int64_t type_v)
{
    struct cli_session_flags *flags = &bench->settings->session;
    struct cli_bench_result *result = &bench->result;
    const int64_t most = bench->session.device_info.max_batch;
    flags->n_batch = n_ubatch == 0 || n_ubatch > most ? most : n_ubatch;
    flags->type_k = (int)type_k;
    flags->type_v = (int)type_v;
    result->n_ubatch = (uint32_t)flags->n_batch;
    result->type_k = cli_cache_types[type_k];
    result->type_v = cli_cache_types[type_v];
    bool is_done = bench->session.info.is_speech ? start_speech(bench)
                                                 : cli_session_start(&bench->session, NULL);
    for (size_t i = 0; is_done && i < bench->tests.count; i++) {
        is_done = measure(bench, &bench->tests.items[i]);
    }
    cli_parallel_close(&bench->parallel);
    glinfer_transcription_destroy(&bench->transcription);
    cli_session_stop(&bench->session);
    return is_done;
}

static bool run_sessions(struct bench *bench)
{
    const struct cli_bench_settings *s = bench->settings;
    bool is_done = true;
    const uint32_t n_vocab = bench->session.info.n_vocab ? bench->session.info.n_vocab : 1;
    uint32_t random = 1;
    for (int64_t i = 0; i < s->session.n_ctx; i++) {
        random = random * 1664525u + 1013904223u;
        bench->tokens[i] = (int32_t)((random >> 8) % n_vocab);
    }
    for (size_t u = 0; u < s->n_ubatch.count; u++) {
        for (size_t k = 0; k < s->types_k.count; k++) {
            for (size_t v = 0; is_done && v < s->types_v.count; v++) {
                is_done = run_session(bench, s->n_ubatch.items[u], s->types_k.items[k],
                                      s->types_v.items[v]);
            }
        }
    }
    return is_done;
}

//-- the plan --------------------------------------------------------------------------------------

static void add_test(struct bench *bench, int64_t n_prompt, int64_t n_gen, int64_t n_depth,
                     int64_t n_parallel)
{
    int64_t *n_ctx = &bench->settings->session.n_ctx;
    const int64_t least = 16; // for glinfer_session_prepare
    const int64_t needed = n_depth + n_prompt + n_gen + 2;
    if (n_prompt > 0 || n_gen > 0) {
        *CLI_APPEND(&bench->tests) = (struct test){(uint32_t)n_prompt, (uint32_t)n_gen,
                                                   (uint32_t)n_depth, (uint32_t)n_parallel};
        *n_ctx = *n_ctx < least ? least : *n_ctx;
        *n_ctx = *n_ctx < needed ? needed : *n_ctx;
    }
}

// Plans the tests of a speech model that is not told what to measure: the encoder, a command of 3 s
// with its text, and the decoder.
static void plan_speech(struct bench *bench)
{
    enum { COMMAND_POSITIONS = 384, COMMAND_TOKENS = 16, N_GEN = 128 };
    const int64_t n_ctx = bench->session.info.n_encoder_ctx;
    const int64_t n_command = n_ctx < COMMAND_POSITIONS ? n_ctx : COMMAND_POSITIONS;
    add_test(bench, n_ctx, 0, 0, 1);
    add_test(bench, n_command, COMMAND_TOKENS, 0, 1);
    add_test(bench, 0, N_GEN, 0, 1);
}

// Plans the tests of a model in llama-bench's order, and the context that they need.
static void plan_tests(struct bench *bench)
{
    const struct cli_bench_settings *s = bench->settings;
    const bool is_speech = bench->session.info.is_speech && bench->is_default;
    bench->tests.count = 0;
    bench->settings->session.n_ctx = 0;
    if (is_speech) {
        plan_speech(bench);
    }
    for (size_t d = 0; !is_speech && d < s->n_depth.count; d++) {
        for (size_t i = 0; i < s->n_prompt.count; i++) {
            add_test(bench, s->n_prompt.items[i], 0, s->n_depth.items[d], 1);
        }
        for (size_t i = 0; i < s->n_gen.count; i++) {
            for (size_t p = 0; p < s->n_parallel.count; p++) {
                add_test(bench, 0, s->n_gen.items[i], s->n_depth.items[d], s->n_parallel.items[p]);
            }
        }
        for (size_t i = 0; i < s->pairs.count; i++) {
            add_test(bench, s->pairs.items[i].prompt, s->pairs.items[i].gen, s->n_depth.items[d],
                     1);
        }
    }
    free(bench->tokens);
    bench->tokens = cli_alloc((size_t)s->session.n_ctx + 1, sizeof(*bench->tokens));
}

static void begin_printers(struct bench *bench)
{
    const struct cli_bench_settings *s = bench->settings;
    const struct cli_bench_printer columns = {
        .has_ubatch = s->n_ubatch.count > 1 || s->n_ubatch.items[0] != 0,
        .has_type_k = s->types_k.count > 1 || s->types_k.items[0] != GLINFER_CACHE_F16,
        .has_type_v = s->types_v.count > 1 || s->types_v.items[0] != GLINFER_CACHE_F16,
        .has_ms = bench->has_speech,
        .is_wide = s->session.device.verbosity > 0,
    };
    bench->printers[0] = bench->printers[1] = columns;
    bench->printers[0].format = (enum cli_bench_format)s->output;
    bench->printers[0].file = stdout;
    bench->printers[1].format = (enum cli_bench_format)s->output_err;
    bench->printers[1].file = stderr;
    for (size_t i = 0; i < 2; i++) {
        cli_bench_begin(&bench->printers[i]);
    }
}

static bool open_files(struct bench *bench)
{
    const struct cli_bench_settings *s = bench->settings;
    if (s->compare) {
        bench->baseline = cli_baseline_load(s->compare);
        bench->comparison_file =
            bench->baseline ? open_memstream(&bench->comparison, &bench->comparison_size) : NULL;
    }
    if (s->compare && !bench->comparison_file) {
        return false;
    }
    return cli_create(s->svg, &bench->plot);
}

// Refuses what cannot be measured before a device is opened.
static bool check_models(struct bench *bench)
{
    const struct cli_texts *models = &bench->settings->models;
    for (size_t i = 0; i < models->count; i++) {
        bench->settings->session.model = models->items[i];
        if (!cli_session_check_decoder(&bench->session)) {
            return false;
        }
        const struct cli_bench_settings *s = bench->settings;
        bench->has_speech = bench->has_speech || bench->session.info.is_speech;
        if (bench->session.info.is_speech &&
            (s->n_depth.items[0] > 0 || s->n_depth.count > 1 || s->n_parallel.items[0] > 1 ||
             s->n_parallel.count > 1)) {
            return cli_fail(CLI_EXIT_USAGE, "cannot use -d or -np with a speech model");
        }
    }
    return true;
}

static bool run_models(struct bench *bench)
{
    const struct cli_texts *models = &bench->settings->models;
    // Sentences go to standard output only where no program reads it.
    const bool is_text =
        bench->settings->output == CLI_BENCH_MD || bench->settings->output == CLI_BENCH_NONE;
    bool is_done = true;
    begin_printers(bench);
    for (size_t i = 0; is_done && i < models->count; i++) {
        bench->settings->session.model = bench->result.model_path = models->items[i];
        is_done = cli_session_check_decoder(&bench->session);
        if (is_done) {
            plan_tests(bench);
            is_done = cli_session_load(&bench->session) && run_sessions(bench);
        }
        cli_session_unload(&bench->session);
    }
    for (size_t i = 0; i < 2; i++) {
        cli_bench_end(&bench->printers[i]);
    }
    if (bench->comparison_file && fflush(bench->comparison_file) == 0) {
        fprintf(is_text ? stdout : stderr, "%s%s", is_text ? "\n" : "", bench->comparison);
    }
    if (is_done && bench->plot) {
        cli_sweep_print(bench->plot, bench->session.device_info.renderer, bench->points.items,
                        bench->points.count);
        is_done = cli_check_written(bench->plot, bench->settings->svg);
    }
    return cli_close_output() && is_done;
}

static bool run_bench(struct bench *bench)
{
    struct cli_session *session = &bench->session;
    plan_tests(bench);
    if (bench->tests.count == 0) {
        return cli_fail(CLI_EXIT_USAGE, "nothing to measure: -p 0 and -n 0 without -pg");
    }
    for (size_t i = 0; i < bench->settings->n_parallel.count; i++) {
        const int64_t n = bench->settings->n_parallel.items[i];
        if (n < 1 || n > CLI_MAX_PARALLEL) {
            return cli_fail(CLI_EXIT_USAGE, "invalid -np \"%lld\": expected 1 to %d sequences",
                            (long long)n, CLI_MAX_PARALLEL);
        }
        if (n > 1 && bench->settings->pairs.count > 0) {
            return cli_fail(CLI_EXIT_USAGE,
                            "cannot use -np with -pg: it applies to tests of -n only");
        }
    }
    if (!check_models(bench) || !open_files(bench)) {
        return false;
    }
    bool decodes = false; // a test of decoding alone is compared with the device's rate
    for (size_t i = 0; i < bench->tests.count; i++) {
        decodes = decodes || bench->tests.items[i].n_prompt == 0;
    }
    bench->result.memory_rate = decodes ? cli_memory_rate(&session->flags->device) : 0;
    session->device = cli_device_open(&session->flags->device, &session->device_info);
    return session->device && run_models(bench);
}

static void release(struct bench *bench)
{
    cli_session_finish(&bench->session);
    cJSON_Delete(bench->baseline);
    if (bench->comparison_file) {
        fclose(bench->comparison_file);
    }
    if (bench->plot) {
        fclose(bench->plot);
    }
    free(bench->comparison);
    free(bench->points.items);
    free(bench->tests.items);
    free(bench->tokens);
}

bool cli_bench(void *user)
{
    struct cli_bench_settings *settings = user;
    struct bench bench = {
        .settings = settings,
        .is_default =
            settings->n_prompt.count + settings->n_gen.count + settings->pairs.count == 0};
    cli_bench_fill(settings);
    if (settings->svg && settings->n_prompt.count < 2) {
        return cli_fail(CLI_EXIT_USAGE, "--svg needs two prompt lengths, such as -p 64,128,256");
    }
    cli_session_init(&bench.session, &settings->session);
    bench.result.device = &bench.session.device_info;
    bench.result.model = &bench.session.info;
    bench.result.temperature = settings->sampling.temperature;
    const bool is_done = run_bench(&bench);
    release(&bench);
    return is_done;
}
