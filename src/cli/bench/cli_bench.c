#include "cli/bench/cli_bench.h"

#include "cli/bench/cli_bench_compare.h"
#include "cli/bench/cli_bench_flags.h"
#include "cli/bench/cli_sweep.h"
#include "cli/common/cli_session.h"
#include "cli/common/cli_start.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

//-- one test --------------------------------------------------------------------------------------

struct test {
    uint32_t n_prompt, n_gen, n_depth;
};

struct bench {
    const struct cli_bench_settings *settings;
    struct cli_bench_printer printers[2];
    struct glinfer_device_info device_info;
    struct glinfer_device *device;
    struct glinfer_model_info model_info;
    struct glinfer_model *model;
    struct glinfer_session *session;
    struct cli_bar bar;
    int32_t *tokens; // random, as many as the longest prompt
    uint32_t n_ctx;  // that all tests need
    struct test *tests;
    size_t n_test;
    struct cli_bench_result result;
    struct cli_baseline *baseline;  // NULL: none
    struct cli_sweep_point *points; // of tests that are prompts alone
    size_t n_point, point_capacity;
    FILE *plot;       // NULL: none
    char *comparison; // sentences, printed behind the table
    size_t comparison_size;
    FILE *comparison_file; // writes it; NULL without a baseline
};

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
                     struct glinfer_stats *stats, struct glinfer_error *err)
{
    const struct glinfer_generate_params params = make_params(bench, n_prompt, n_predict);
    *stats = (struct glinfer_stats){.struct_size = sizeof(*stats)};
    return glinfer_generate(bench->session, &params, stats, err);
}

// n generated tokens are n decode steps behind the one that the prompt gives.
static bool run_test(struct bench *bench, const struct test *test, struct glinfer_stats *stats,
                     struct glinfer_error *err)
{
    glinfer_session_reset(bench->session);
    return (test->n_depth == 0 || generate(bench, test->n_depth, 0, stats, err)) &&
           generate(bench, test->n_prompt > 0 ? test->n_prompt : 1,
                    test->n_gen > 0 ? test->n_gen + 1 : 0, stats, err);
}

// What would be compiled behind the answers is compiled before, so that all of them are submitted alike. What lies in
// front of an answer is a prompt too.
static bool prepare(struct bench *bench, const struct test *test, struct glinfer_prepared *prepared,
                    struct glinfer_error *err)
{
    const uint32_t n_prompt = test->n_depth > 0 ? 0 : test->n_prompt > 0 ? test->n_prompt : 1;
    struct glinfer_generate_params params = make_params(bench, n_prompt, test->n_gen + 1);
    params.progress = cli_progress;
    params.progress_user = &bench->bar;
    glinfer_session_reset(bench->session);
    const bool ok = glinfer_session_prepare(bench->session, &params, prepared, err);
    cli_bar_clear(&bench->bar);
    return ok;
}

static double measured_ms(const struct test *test, const struct glinfer_stats *stats)
{
    return (test->n_prompt > 0 ? stats->prompt_ms : 0) +
           (test->n_gen > 0 ? stats->predicted_ms : 0);
}

static void add_run(struct bench *bench, const struct test *test, const struct glinfer_stats *stats)
{
    struct cli_bench_result *result = &bench->result;
    const double ttft = test->n_gen > 0 ? stats->ttft_ms : stats->prompt_ms;
    result->ns[result->n_run++] = (uint64_t)(measured_ms(test, stats) * 1e6);
    result->ttft_ms += (ttft - result->ttft_ms) / (double)result->n_run;
    result->weight_bytes = stats->weight_bytes_per_token;
    result->dispatch = stats->dispatch;
    result->peak_memory = stats->peak_memory;
}

// A line for each run if asked for, else what a terminal shows until the row is there.
static void note_progress(struct bench *bench, const struct test *test, int64_t run)
{
    char label[64], what[80];
    cli_bench_label(&bench->result, label, sizeof(label));
    if (bench->settings->has_progress) {
        fprintf(stderr, "glinfer bench: test %zu/%zu %s: %s %d/%d\n",
                (size_t)(test - bench->tests) + 1, bench->n_test, label,
                run > 0 ? "run" : "warm-up", run > 0 ? (int)run : 1,
                run > 0 ? (int)bench->settings->n_run : 1);
    } else if (run < 2) {
        snprintf(what, sizeof(what), "%s %s", run > 0 ? "measuring" : "warming up for", label);
        cli_bar_wait(&bench->bar, what, run == 0);
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
    result->n_run = 0;
    result->ttft_ms = 0;
    gmtime_r(&now, &utc);
    strftime(result->test_time, sizeof(result->test_time), "%Y-%m-%dT%H:%M:%SZ", &utc);
}

static void wait_seconds(int64_t seconds)
{
    const struct timespec span = {.tv_sec = (time_t)seconds};
    if (seconds > 0 && !cli_is_interrupted()) {
        nanosleep(&span, NULL);
    }
}

static void name_series(const struct bench *bench, char *name, size_t size)
{
    const struct cli_bench_settings *s = bench->settings;
    const struct cli_bench_result *result = &bench->result;
    int used = snprintf(name, size, "%s", result->model->description);
    if (used > 0 && result->n_depth > 0) {
        used += snprintf(name + used, size - (size_t)used, " @ d%u", result->n_depth);
    }
    if (used > 0 && s->n_ubatch.count > 1) {
        used += snprintf(name + used, size - (size_t)used, ", -ub %u", result->n_ubatch);
    }
    if (used > 0 && s->types_k.count + s->types_v.count > 2) {
        snprintf(name + used, size - (size_t)used, ", %s/%s", result->type_k, result->type_v);
    }
}

static bool add_point(struct bench *bench, struct glinfer_error *err)
{
    if (bench->n_point == bench->point_capacity) {
        const size_t capacity = bench->point_capacity ? bench->point_capacity * 2 : 32;
        struct cli_sweep_point *points =
            realloc(bench->points, capacity * sizeof(bench->points[0]));
        if (!points) {
            *err = (struct glinfer_error){GLINFER_STATUS_NO_MEMORY, "no memory for the plot"};
            return false;
        }
        bench->points = points;
        bench->point_capacity = capacity;
    }
    struct cli_sweep_point *point = &bench->points[bench->n_point++];
    point->n_prompt = bench->result.n_prompt;
    cli_bench_rate(&bench->result, &point->rate, &point->stddev);
    name_series(bench, point->series, sizeof(point->series));
    return true;
}

// Steps in one dispatch run where on the GPU they are fastest at the depth that the session has.
static bool prepare_at_depth(struct bench *bench, const struct test *test,
                             struct glinfer_error *err)
{
    const struct glinfer_generate_params params = make_params(bench, 1, test->n_gen + 1);
    struct glinfer_stats stats;
    glinfer_session_reset(bench->session);
    return generate(bench, test->n_depth, 0, &stats, err) &&
           glinfer_session_prepare(bench->session, &params, NULL, err);
}

static bool prepare_all(struct bench *bench, const struct test *test, struct glinfer_error *err)
{
    struct glinfer_prepared prepared = {.struct_size = sizeof(prepared)};
    if (test->n_gen == 0) {
        return true;
    }
    return prepare(bench, test, &prepared, err) &&
           (test->n_depth == 0 || prepared.dispatch != GLINFER_DISPATCH_PERSISTENT ||
            prepare_at_depth(bench, test, err));
}

static bool measure(struct bench *bench, const struct test *test, struct glinfer_error *err)
{
    struct glinfer_stats stats;
    begin_result(bench, test);
    if (!prepare_all(bench, test, err)) {
        return false;
    }
    wait_seconds(bench->settings->delay);
    if (!bench->settings->has_no_warmup) {
        const struct test warmup = {.n_prompt = test->n_prompt,
                                    .n_gen = test->n_gen > 16 ? 16 : test->n_gen};
        note_progress(bench, test, 0);
        if (!run_test(bench, &warmup, &stats, err)) {
            return false;
        }
    }
    for (int64_t i = 1; i <= bench->settings->n_run; i++) {
        note_progress(bench, test, i);
        if (!run_test(bench, test, &stats, err)) {
            return false;
        }
        add_run(bench, test, &stats);
    }
    cli_bar_clear(&bench->bar);
    cli_bench_row(&bench->printers[0], &bench->result);
    cli_bench_row(&bench->printers[1], &bench->result);
    if (bench->baseline) {
        cli_baseline_print(bench->comparison_file, bench->baseline, &bench->result);
    }
    return !bench->settings->svg || test->n_prompt == 0 || test->n_gen > 0 || add_point(bench, err);
}

//-- all tests of a model --------------------------------------------------------------------------

static bool create_session(struct bench *bench, uint32_t n_ubatch, int64_t type_k, int64_t type_v,
                           struct glinfer_error *err)
{
    struct glinfer_session_params params;
    glinfer_session_params_init(&params);
    params.n_ctx = cli_context(&bench->device_info, &bench->model_info, bench->n_ctx);
    params.type_k = (enum glinfer_cache_type)type_k;
    params.type_v = (enum glinfer_cache_type)type_v;
    params.precision = (enum glinfer_precision)bench->settings->precision;
    params.n_batch = n_ubatch == 0 || n_ubatch > 512 ? 512 : n_ubatch;
    params.chain_length = (uint32_t)bench->settings->chain;
    params.max_batch_ms = (uint32_t)bench->settings->max_batch_ms;
    params.progress = cli_progress;
    params.progress_user = &bench->bar;
    bench->result.n_ubatch = params.n_batch;
    bench->result.type_k = cli_cache_types[type_k];
    bench->result.type_v = cli_cache_types[type_v];
    bench->result.temperature = bench->settings->sampling.temperature;
    bench->session = glinfer_session_create(bench->model, &params, err);
    cli_bar_clear(&bench->bar);
    cli_set_session(bench->session);
    return bench->session != NULL;
}

static void destroy_session(struct bench *bench)
{
    cli_set_session(NULL);
    glinfer_session_destroy(&bench->session);
}

static bool run_session(struct bench *bench, uint32_t n_ubatch, int64_t type_k, int64_t type_v,
                        struct glinfer_error *err)
{
    bool is_good = create_session(bench, n_ubatch, type_k, type_v, err);
    for (size_t i = 0; is_good && i < bench->n_test; i++) {
        is_good = measure(bench, &bench->tests[i], err);
    }
    destroy_session(bench);
    return is_good;
}

static bool run_sessions(struct bench *bench, struct glinfer_error *err)
{
    const struct cli_bench_settings *s = bench->settings;
    for (size_t u = 0; u < s->n_ubatch.count; u++) {
        for (size_t k = 0; k < s->types_k.count; k++) {
            for (size_t v = 0; v < s->types_v.count; v++) {
                if (!run_session(bench, (uint32_t)s->n_ubatch.items[u], s->types_k.items[k],
                                 s->types_v.items[v], err)) {
                    return false;
                }
            }
        }
    }
    return true;
}

static void fill_tokens(struct bench *bench, uint32_t n_vocab)
{
    uint32_t random = 1;
    for (uint32_t i = 0; i < bench->n_ctx; i++) {
        random = random * 1664525u + 1013904223u;
        bench->tokens[i] = (int32_t)((random >> 8) % (n_vocab ? n_vocab : 1));
    }
}

static int run_model(struct bench *bench, const char *path)
{
    struct glinfer_error err;
    struct glinfer_model_params params;
    int status = CLI_EXIT_DONE;
    glinfer_model_params_init(&params);
    params.path = path;
    params.n_ctx = bench->n_ctx;
    params.progress = cli_progress;
    params.progress_user = &bench->bar;
    if (!cli_model_check(&params, &bench->model_info, &status)) {
        return status;
    }
    bench->result.model_path = path;
    bench->model = glinfer_model_load(bench->device, &params, &err);
    cli_bar_clear(&bench->bar);
    fill_tokens(bench, bench->model_info.n_vocab);
    if (!bench->model || !run_sessions(bench, &err)) {
        status = cli_fail_error(&err);
    }
    glinfer_model_destroy(&bench->model);
    return status;
}

//-- the plan --------------------------------------------------------------------------------------

static void add_test(struct bench *bench, int64_t n_prompt, int64_t n_gen, int64_t n_depth)
{
    const uint32_t least = 16; // what preparing needs
    const uint32_t n_ctx = (uint32_t)(n_depth + n_prompt + n_gen + 2);
    if (n_prompt > 0 || n_gen > 0) {
        bench->tests[bench->n_test++] =
            (struct test){(uint32_t)n_prompt, (uint32_t)n_gen, (uint32_t)n_depth};
        bench->n_ctx = bench->n_ctx < least ? least : bench->n_ctx;
        bench->n_ctx = n_ctx > bench->n_ctx ? n_ctx : bench->n_ctx;
    }
}

// Tests in llama-bench's order; false without memory.
static bool plan_tests(struct bench *bench)
{
    const struct cli_bench_settings *s = bench->settings;
    const size_t n = (s->n_prompt.count + s->n_gen.count + s->pairs.count) * s->n_depth.count;
    bench->tests = calloc(n + 1, sizeof(*bench->tests));
    if (!bench->tests) {
        return false;
    }
    for (size_t d = 0; d < s->n_depth.count; d++) {
        for (size_t i = 0; i < s->n_prompt.count; i++) {
            add_test(bench, s->n_prompt.items[i], 0, s->n_depth.items[d]);
        }
        for (size_t i = 0; i < s->n_gen.count; i++) {
            add_test(bench, 0, s->n_gen.items[i], s->n_depth.items[d]);
        }
        for (size_t i = 0; i < s->pairs.count; i++) {
            add_test(bench, s->pairs.items[i].prompt, s->pairs.items[i].gen, s->n_depth.items[d]);
        }
    }
    bench->tokens = calloc(bench->n_ctx + (size_t)1, sizeof(*bench->tokens));
    return bench->tokens != NULL;
}

static void begin_printers(struct bench *bench)
{
    const struct cli_bench_settings *s = bench->settings;
    const struct cli_bench_printer columns = {
        .has_ubatch = s->n_ubatch.count > 1 || s->n_ubatch.items[0] != 512,
        .has_type_k = s->types_k.count > 1 || s->types_k.items[0] != GLINFER_CACHE_F16,
        .has_type_v = s->types_v.count > 1 || s->types_v.items[0] != GLINFER_CACHE_F16,
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

// GB/s that the device moves at most; 0 where that cannot be measured.
static double memory_rate(const struct cli_bench_settings *settings)
{
    struct glinfer_device_params params;
    struct glinfer_device_rates rates = {.struct_size = sizeof(rates)};
    cli_device_params(&settings->device, &params);
    params.log = NULL;
    struct glinfer_device *device = glinfer_device_create(&params, NULL);
    const bool is_measured = device && glinfer_device_measure(device, &rates, NULL);
    const double largest = fmax(rates.copy_gb_per_s, rates.read_gb_per_s);
    glinfer_device_destroy(&device);
    return is_measured ? largest : 0;
}

// In a process of its own, before there is a device in this one: what measuring takes is nothing that
// a model needs, and would show in the peak of the memory.
static double memory_rate_apart(const struct cli_bench_settings *settings)
{
    int ends[2];
    double rate = 0;
    if (pipe(ends) != 0) {
        return 0;
    }
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        rate = memory_rate(settings);
        _exit(write(ends[1], &rate, sizeof(rate)) == sizeof(rate) ? 0 : 1);
    }
    close(ends[1]);
    if (child > 0 && read(ends[0], &rate, sizeof(rate)) != sizeof(rate)) {
        rate = 0;
    }
    close(ends[0]);
    if (child > 0) {
        waitpid(child, NULL, 0);
    }
    return rate;
}

// What decoding is compared with; a bench without decoding does not need it.
static void measure_device(struct bench *bench)
{
    for (size_t i = 0; i < bench->n_test; i++) {
        if (bench->tests[i].n_prompt == 0) {
            bench->result.memory_rate = memory_rate_apart(bench->settings);
            return;
        }
    }
}

static int refuse_plot(const struct bench *bench)
{
    return cli_fail(CLI_EXIT_FAILED, "%s cannot be written: %s", bench->settings->svg,
                    strerror(errno));
}

static int write_plot(const struct bench *bench)
{
    cli_sweep_print(bench->plot, bench->device_info.renderer, bench->points, bench->n_point);
    const bool is_good = fflush(bench->plot) == 0 && !ferror(bench->plot);
    return is_good ? CLI_EXIT_DONE : refuse_plot(bench);
}

// Sentences go to standard output only where no program reads it.
static void print_comparison(struct bench *bench)
{
    const bool is_text =
        bench->settings->output == CLI_BENCH_MD || bench->settings->output == CLI_BENCH_NONE;
    if (bench->comparison_file && fflush(bench->comparison_file) == 0) {
        fprintf(is_text ? stdout : stderr, "%s%s", is_text ? "\n" : "", bench->comparison);
    }
}

static bool open_comparison(struct bench *bench)
{
    if (!bench->settings->compare) {
        return true;
    }
    bench->baseline = cli_baseline_load(bench->settings->compare);
    bench->comparison_file =
        bench->baseline ? open_memstream(&bench->comparison, &bench->comparison_size) : NULL;
    if (bench->baseline && !bench->comparison_file) {
        cli_fail(0, "no memory for the comparison");
    }
    return bench->comparison_file != NULL;
}

static int run_models(struct bench *bench)
{
    int status = CLI_EXIT_DONE;
    begin_printers(bench);
    for (size_t i = 0; status == CLI_EXIT_DONE && i < bench->settings->models.count; i++) {
        status = run_model(bench, bench->settings->models.items[i]);
    }
    for (size_t i = 0; i < 2; i++) {
        cli_bench_end(&bench->printers[i]);
    }
    print_comparison(bench);
    if (status == CLI_EXIT_DONE && bench->plot) {
        status = write_plot(bench);
    }
    return cli_close_output(status);
}

static int run_bench(struct bench *bench)
{
    if (!plan_tests(bench)) {
        return cli_fail(CLI_EXIT_FAILED, "no memory for the tests");
    }
    if (bench->n_test == 0) {
        return cli_fail(CLI_EXIT_USAGE, "there is nothing to measure: -p 0 and -n 0 without -pg");
    }
    if (!open_comparison(bench)) {
        return CLI_EXIT_FAILED;
    }
    bench->plot = bench->settings->svg ? fopen(bench->settings->svg, "w") : NULL;
    if (bench->settings->svg && !bench->plot) {
        return refuse_plot(bench);
    }
    measure_device(bench);
    int status = CLI_EXIT_DONE;
    bench->device = cli_device_open(&bench->settings->device, &bench->device_info, &status);
    if (!bench->device) {
        return status;
    }
    bench->result.device = &bench->device_info;
    bench->result.model = &bench->model_info;
    status = run_models(bench);
    glinfer_device_destroy(&bench->device);
    return status;
}

static void release(struct bench *bench)
{
    cli_baseline_destroy(bench->baseline);
    if (bench->comparison_file) {
        fclose(bench->comparison_file);
    }
    if (bench->plot) {
        fclose(bench->plot);
    }
    free(bench->comparison);
    free(bench->points);
    free(bench->tests);
    free(bench->tokens);
}

int cli_bench(int argc, const char *const *argv)
{
    struct cli_bench_settings settings;
    cli_bench_defaults(&settings);
    int status;
    if (!cli_start(&cli_bench_command, &settings, argc, argv, &status)) {
        return status;
    }
    if (settings.device.is_list) {
        return cli_device_list(&settings.device);
    }
    if (settings.models.count == 0) {
        return cli_fail(CLI_EXIT_USAGE, "bench needs a model: -m FILE.gguf");
    }
    cli_bench_fill(&settings);
    if (settings.svg && settings.n_prompt.count < 2) {
        return cli_fail(CLI_EXIT_USAGE, "--svg plots lengths of prompts: -p 64-512*2");
    }
    struct bench bench = {.settings = &settings};
    cli_bar_init(&bench.bar);
    status = run_bench(&bench);
    release(&bench);
    return status;
}
