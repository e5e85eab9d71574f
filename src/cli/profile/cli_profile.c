#include "cli/profile/cli_profile.h"

#include "cli/common/cli_json.h"
#include "cli/common/cli_session.h"
#include "cli/common/cli_start.h"
#include "cli/profile/cli_profile_data.h"

#include <errno.h>

struct settings {
    struct cli_session_flags session;
    int64_t n_prompt, n_steps, depth;
    bool is_json;
    const char *trace, *svg; // files
};

static const struct cli_flag flags[] = {
    CLI_FLAG_HEADING("Model and device"),
    CLI_MODEL_FLAGS(settings),
    CLI_FLAG_HEADING("What is measured"),
    CLI_FLAG_INT(settings, n_steps, 0, 65536, "-n, --n-gen", "N",
                 "decode steps, default 16; 0: none"),
    CLI_FLAG_INT(settings, n_prompt, 0, 1 << 24, "-p, --n-prompt", "N",
                 "a prompt of N tokens, default 0: none"),
    CLI_FLAG_INT(settings, depth, 0, 1 << 24, "-d, --n-depth", "N",
                 "tokens already in the cache, default 0"),
    CLI_UBATCH_FLAG(settings),
    CLI_FLAG_HEADING("Output"),
    CLI_FLAG_SWITCH(settings, is_json, "--json", "one JSON object in place of the tables"),
    CLI_FLAG_TEXT(settings, trace, "--trace", "FILE",
                  "the dispatches of one step as a trace that Perfetto (ui.perfetto.dev) and "
                  "Chrome open"),
    CLI_FLAG_TEXT(settings, svg, "--svg", "FILE",
                  "a roofline picture: the kernels beneath what the device can do"),
    CLI_FLAG_IGNORED_VALUE("-ngl, --gpu-layers, --n-gpu-layers", "every layer runs on the device"),
    CLI_FLAG_IGNORED_VALUE("-t, --threads", "threads are the GL driver's business"),
    CLI_FLAG_IGNORED_VALUE("-fa, --flash-attn", "attention is always fused"),
};

const struct cli_command cli_profile_command = {
    .name = "profile",
    .usage = "-m MODEL [flags]",
    .summary = "Shows where the time of a token goes, kernel by kernel.",
    .word = "a model is given with -m",
    .text = "Times come from timer queries around each dispatch; where the driver has none that "
            "tell\nanything, from waiting for each dispatch, which adds the way to the GPU and "
            "back. The device's\nrates are measured first. memory: the kernel's GB/s as a share "
            "of what the device moves at\nmost; roof: its rate as a share of what memory and "
            "arithmetic allow it. Both count weights\nand cache alone.\n\n"
            "    glinfer profile -m model.gguf -p 128 --svg roofline.svg --trace trace.json",
    .flags = flags,
    .n_flag = sizeof(flags) / sizeof(flags[0]),
};

struct profile {
    const struct settings *settings;
    struct cli_session session;
    FILE *trace, *svg; // owned; NULL: not asked for
    struct cli_profile_data data;
};

//-- measuring -------------------------------------------------------------------------------------

static int measure_stage(struct profile *profile, uint32_t n_runs, uint32_t n_prompt)
{
    struct cli_profile_stage *stage = &profile->data.stages[profile->data.n_stage++];
    struct glinfer_profile_params params;
    struct glinfer_error err;
    glinfer_profile_params_init(&params);
    params.n_runs = n_runs;
    params.n_prompt = n_prompt;
    params.depth = (uint32_t)profile->settings->depth;
    params.on_kernel = cli_profile_add_kernel;
    params.on_dispatch = cli_profile_add_dispatch;
    params.user = stage;
    stage->n_prompt = n_prompt;
    stage->depth = params.depth;
    stage->stats.struct_size = sizeof(stage->stats);
    if (n_prompt > 0) {
        snprintf(stage->name, sizeof(stage->name), "prompt of %u tokens at depth %u", n_prompt,
                 params.depth);
    } else {
        snprintf(stage->name, sizeof(stage->name), "decode step at depth %u", params.depth);
    }
    cli_bar_wait(&profile->session.bar, stage->name, true);
    const bool ok = glinfer_profile(profile->session.session, &params, &stage->stats, &err);
    cli_bar_clear(&profile->session.bar);
    if (!ok) {
        return cli_fail_error(&err);
    }
    return stage->has_failed ? cli_fail(CLI_EXIT_FAILED, "no memory for the profile")
                             : CLI_EXIT_DONE;
}

static int measure(struct profile *profile)
{
    const struct settings *settings = profile->settings;
    struct glinfer_error err;
    int status = CLI_EXIT_DONE;
    profile->data.rates.struct_size = sizeof(profile->data.rates);
    cli_bar_wait(&profile->session.bar, "measuring the device", false);
    const bool ok = glinfer_device_measure(profile->session.device, &profile->data.rates, &err);
    cli_bar_clear(&profile->session.bar);
    if (!ok) {
        return cli_fail_error(&err);
    }
    if (settings->n_prompt > 0) {
        status = measure_stage(profile, 1, (uint32_t)settings->n_prompt);
    }
    if (status == CLI_EXIT_DONE && settings->n_steps > 0) {
        status = measure_stage(profile, (uint32_t)settings->n_steps, 0);
    }
    return status;
}

//-- tables ----------------------------------------------------------------------------------------

static double rate(uint64_t amount, double ns)
{
    return ns > 0 ? (double)amount / ns : 0;
}

static void print_share(double share)
{
    if (share > 0) {
        printf("  %4.0f %%", 100 * share);
    } else {
        printf("  %6s", "");
    }
}

static void print_kernel(const struct cli_profile_data *data, const struct cli_profile_stage *stage,
                         const struct cli_profile_kernel *kernel)
{
    const struct glinfer_profile_kernel *figures = &kernel->figures;
    const double gb_per_s = rate(figures->bytes, figures->ns);
    const double memory = cli_profile_memory_rate(data);
    printf("%-14s %5.1f %%  %5u  %10.1f  %9.2f", kernel->label,
           100 * figures->ns / stage->stats.kernel_ns, figures->n_dispatches, figures->ns / 1e3,
           figures->ns / 1e3 / figures->n_dispatches);
    if (figures->bytes > 0) {
        printf("  %8.2f", gb_per_s);
    } else {
        printf("  %8s", "");
    }
    print_share(memory > 0 ? gb_per_s / memory : 0);
    print_share(cli_profile_roof_share(data, figures));
    printf("  %s\n", kernel->program);
}

static void print_totals(const struct cli_profile_stage *stage)
{
    const struct glinfer_profile_stats *stats = &stage->stats;
    const double wall_ms = stats->wall_ns / 1e6;
    const double n_tokens = stage->n_prompt > 0 ? stage->n_prompt : 1;
    printf("%-14s %5.1f %%  %5u  %10.1f\n", "all", 100.0, stats->n_dispatches,
           stats->kernel_ns / 1e3);
    printf("untimed: %.3f ms, %.1f tokens/s; the host submits in %.1f us, %.2f us a dispatch\n",
           wall_ms, wall_ms > 0 ? n_tokens * 1e3 / wall_ms : 0, stats->host_ns / 1e3,
           stats->host_ns / 1e3 / stats->n_dispatches);
    if (stage->n_prompt == 0 && stats->persistent_ns > 0) {
        printf("in one dispatch: %.1f us a token when it was tried out; answers are given by %s "
               "dispatches\n",
               stats->persistent_ns / 1e3, glinfer_dispatch_name(stats->dispatch));
    }
}

static void print_stage(const struct cli_profile_data *data, const struct cli_profile_stage *stage)
{
    const bool has_queries = stage->stats.clock == GLINFER_PROFILE_QUERY;
    printf("\n%s, %s", stage->name,
           has_queries ? "by timer queries" : "by waiting for each dispatch");
    if (stage->stats.n_runs > 1) {
        printf(", mean of %u", stage->stats.n_runs);
    }
    if (stage->stats.n_repeated > 0) {
        printf(", %u repeated as the clock jumped", stage->stats.n_repeated);
    }
    printf("\n%-14s %7s  %5s  %10s  %9s  %8s  %6s  %6s  %s\n", "kernel", "time", "calls", "us",
           "us/call", "GB/s", "memory", "roof", "program");
    for (size_t i = 0; i < stage->n_kernel; i++) {
        print_kernel(data, stage, &stage->kernels[i]);
    }
    print_totals(stage);
}

static void print_tables(const struct cli_profile_data *data)
{
    const struct glinfer_device_rates *rates = &data->rates;
    printf("%s on %s\n", data->model, data->device);
    printf("the device reads %.2f GB/s, copies %.2f GB/s, computes %.1f Gflop/s (f32)\n",
           rates->read_gb_per_s, rates->copy_gb_per_s, rates->gflop_per_s);
    for (size_t i = 0; i < data->n_stage; i++) {
        print_stage(data, &data->stages[i]);
    }
}

//-- JSON ------------------------------------------------------------------------------------------

static cJSON *make_kernel(const struct cli_profile_data *data,
                          const struct cli_profile_stage *stage,
                          const struct cli_profile_kernel *kernel)
{
    const struct glinfer_profile_kernel *figures = &kernel->figures;
    const double memory = cli_profile_memory_rate(data);
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "kernel", kernel->label);
    cJSON_AddStringToObject(object, "program", kernel->program);
    cJSON_AddNumberToObject(object, "dispatches", figures->n_dispatches);
    cJSON_AddNumberToObject(object, "ns", figures->ns);
    cJSON_AddNumberToObject(object, "share", figures->ns / stage->stats.kernel_ns);
    cli_json_add_u64(object, "weight_bytes", figures->weight_bytes);
    cli_json_add_u64(object, "bytes", figures->bytes);
    cli_json_add_u64(object, "flops", figures->flops);
    cJSON_AddNumberToObject(object, "gb_per_s", rate(figures->bytes, figures->ns));
    cJSON_AddNumberToObject(object, "gflop_per_s", rate(figures->flops, figures->ns));
    cJSON_AddNumberToObject(object, "memory_share",
                            memory > 0 ? rate(figures->bytes, figures->ns) / memory : 0);
    cJSON_AddNumberToObject(object, "roof_share", cli_profile_roof_share(data, figures));
    return object;
}

static cJSON *make_stage(const struct cli_profile_data *data, const struct cli_profile_stage *stage)
{
    const struct glinfer_profile_stats *stats = &stage->stats;
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "stage", stage->n_prompt > 0 ? "prompt" : "decode");
    cJSON_AddNumberToObject(object, "n_prompt", stage->n_prompt);
    cJSON_AddNumberToObject(object, "n_depth", stage->depth);
    cJSON_AddStringToObject(object, "clock",
                            stats->clock == GLINFER_PROFILE_QUERY ? "query" : "wait");
    cJSON_AddNumberToObject(object, "runs", stats->n_runs);
    cJSON_AddNumberToObject(object, "repeated", stats->n_repeated);
    cJSON_AddNumberToObject(object, "dispatches", stats->n_dispatches);
    cJSON_AddNumberToObject(object, "kernel_ns", stats->kernel_ns);
    cJSON_AddNumberToObject(object, "wall_ns", stats->wall_ns);
    cJSON_AddNumberToObject(object, "host_ns", stats->host_ns);
    if (stage->n_prompt == 0) {
        cJSON_AddStringToObject(object, "dispatch", glinfer_dispatch_name(stats->dispatch));
        cJSON_AddNumberToObject(object, "persistent_ns", stats->persistent_ns);
    }
    cli_json_add_u64(object, "weight_bytes", stats->weight_bytes);
    cJSON *kernels = cJSON_AddArrayToObject(object, "kernels");
    for (size_t i = 0; i < stage->n_kernel; i++) {
        cJSON_AddItemToArray(kernels, make_kernel(data, stage, &stage->kernels[i]));
    }
    return object;
}

static int print_json(const struct cli_profile_data *data)
{
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "model", data->model);
    cJSON_AddStringToObject(object, "device", data->device);
    cJSON_AddNumberToObject(object, "copy_gb_per_s", data->rates.copy_gb_per_s);
    cJSON_AddNumberToObject(object, "read_gb_per_s", data->rates.read_gb_per_s);
    cJSON_AddNumberToObject(object, "gflop_per_s", data->rates.gflop_per_s);
    cJSON *stages = cJSON_AddArrayToObject(object, "stages");
    for (size_t i = 0; i < data->n_stage; i++) {
        cJSON_AddItemToArray(stages, make_stage(data, &data->stages[i]));
    }
    return cli_json_print(object);
}

//-- the command -----------------------------------------------------------------------------------

static int refuse_file(const char *path)
{
    return cli_fail(CLI_EXIT_FAILED, "%s cannot be written: %s", path, strerror(errno));
}

// Before anything is measured, so that a wrong path does not cost the measurement.
static int open_files(struct profile *profile)
{
    const struct settings *settings = profile->settings;
    profile->trace = settings->trace ? fopen(settings->trace, "w") : NULL;
    if (settings->trace && !profile->trace) {
        return refuse_file(settings->trace);
    }
    profile->svg = settings->svg ? fopen(settings->svg, "w") : NULL;
    return settings->svg && !profile->svg ? refuse_file(settings->svg) : CLI_EXIT_DONE;
}

static void close_files(struct profile *profile)
{
    if (profile->trace) {
        fclose(profile->trace);
    }
    if (profile->svg) {
        fclose(profile->svg);
    }
}

static int write_file(FILE *file, const char *path, const struct cli_profile_data *data,
                      void (*print)(FILE *file, const struct cli_profile_data *data))
{
    if (!file) {
        return CLI_EXIT_DONE;
    }
    print(file, data);
    return fflush(file) == 0 && !ferror(file) ? CLI_EXIT_DONE : refuse_file(path);
}

static int show(const struct profile *profile)
{
    const struct settings *settings = profile->settings;
    int status = write_file(profile->trace, settings->trace, &profile->data, cli_trace_print);
    if (status == CLI_EXIT_DONE) {
        status = write_file(profile->svg, settings->svg, &profile->data, cli_roofline_print);
    }
    if (settings->is_json) {
        const int printed = print_json(&profile->data);
        return status == CLI_EXIT_DONE ? printed : status;
    }
    print_tables(&profile->data);
    return cli_close_output(status);
}

static int run(struct profile *profile)
{
    int status = cli_session_check(&profile->session);
    if (status == CLI_EXIT_DONE) {
        status = open_files(profile);
    }
    if (status == CLI_EXIT_DONE) {
        status = cli_session_load(&profile->session);
    }
    if (status == CLI_EXIT_DONE) {
        status = cli_session_start(&profile->session, NULL);
    }
    if (status == CLI_EXIT_DONE) {
        profile->data.model = profile->session.info.description;
        profile->data.device = profile->session.device_info.renderer;
        status = measure(profile);
    }
    if (status == CLI_EXIT_DONE) {
        status = show(profile);
    }
    close_files(profile);
    cli_profile_finish(&profile->data);
    cli_session_finish(&profile->session);
    return status;
}

int cli_profile(int argc, const char *const *argv)
{
    struct settings settings = {.n_steps = 16};
    int status;
    if (!cli_start(&cli_profile_command, &settings, argc, argv, &status)) {
        return status;
    }
    if (settings.session.device.is_list) {
        return cli_device_list(&settings.session.device);
    }
    if (!settings.session.model) {
        return cli_fail(CLI_EXIT_USAGE, "profile needs a model: -m FILE.gguf");
    }
    if (settings.n_prompt == 0 && settings.n_steps == 0) {
        return cli_fail(CLI_EXIT_USAGE, "there is nothing to measure: -p 0 and -n 0");
    }
    const int64_t longest =
        settings.n_prompt > settings.n_steps ? settings.n_prompt : settings.n_steps;
    settings.session.n_ctx = settings.depth + longest + 1;
    struct profile profile = {.settings = &settings};
    cli_session_init(&profile.session, &settings.session);
    profile.session.is_least_ctx = true;
    return run(&profile);
}
