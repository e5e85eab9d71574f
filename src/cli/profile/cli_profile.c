// `glinfer profile`: where the time of a token goes.
#include "cli/cli_commands.h"
#include "cli/common/cli_json.h"
#include "cli/common/cli_session.h"
#include "cli/profile/cli_profile_data.h"
#include "cli/profile/cli_roofline.h"

#include <string.h>

struct settings {
    struct cli_session_flags session;
    int64_t n_prompt, n_steps, depth;
    bool is_json, is_plan;
    const char *trace, *svg; // files
};

static struct settings defaults = {.n_prompt = -1, .n_steps = 16};

#define CLI_SETTINGS settings
static const struct cli_flag flags[] = {
    CLI_HEADING("Model and device"),
    CLI_MODEL_FLAGS,
    CLI_HEADING("What is measured"),
    CLI_INT(n_steps, 0, 65536, "-n, --n-gen", "N", "decode steps, default %v; 0: none"),
    CLI_INT(n_prompt, 0, 1 << 24, "-p, --n-prompt", "N",
            "a prompt of N tokens, none by default; for a speech model a sound of N positions of "
            "20 ms, all by default"),
    CLI_INT(depth, 0, 1 << 24, "-d, --n-depth", "N", "tokens already in the cache, default %v"),
    CLI_UBATCH_FLAG,
    CLI_SWITCH(
        is_plan, "--plan",
        "run nothing: print the submissions of a prompt and of a step, and the estimated time "
        "of each dispatch"),
    CLI_INT(session.max_batch_ms, 0, 60000, "--max-batch-ms", "MS",
            "target GPU time of a planned submission"),
    CLI_HEADING("Output"),
    CLI_SWITCH(is_json, "--json", "one JSON object instead of the tables"),
    CLI_TEXT(
        trace, "--trace", "FILE",
        "the dispatches of one step as a trace that Perfetto (ui.perfetto.dev) and Chrome open"),
    CLI_TEXT(svg, "--svg", "FILE",
             "a roofline picture: the kernels below the limits of the device"),
};

struct profile {
    struct settings *settings;
    struct cli_session session;
    FILE *trace, *svg; // owned; NULL: not asked for
    struct cli_profile_data data;
};

//-- measuring -------------------------------------------------------------------------------------

// Returns the kind of a stage.
static const char *kind_of(const struct profile *profile, uint32_t n_prompt)
{
    return n_prompt == 0 ? "decode" : profile->session.info.is_speech ? "sound" : "prompt";
}

// Writes the name of a stage, such as "prompt of 128 tokens at depth 0".
static void name_stage(const struct profile *profile, uint32_t n_prompt, char *text, size_t size)
{
    const uint32_t depth = (uint32_t)profile->settings->depth;
    if (n_prompt == 0) {
        snprintf(text, size, "decode step at depth %u", depth);
    } else if (profile->session.info.is_speech) {
        snprintf(text, size, "encoder of %.1f s of sound", n_prompt / 50.0);
    } else {
        snprintf(text, size, "prompt of %u tokens at depth %u", n_prompt, depth);
    }
}

static bool measure_stage(struct profile *profile, uint32_t n_runs, uint32_t n_prompt)
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
    stage->kind = kind_of(profile, n_prompt);
    stage->depth = n_prompt > 0 && profile->session.info.is_speech ? 0 : params.depth;
    stage->stats.struct_size = sizeof(stage->stats);
    name_stage(profile, n_prompt, stage->name, sizeof(stage->name));
    cli_bar_wait(&profile->session.bar, stage->name, true);
    const bool ok = cli_check_interrupt(&err) &&
                    glinfer_profile(profile->session.session, &params, &stage->stats, &err);
    return cli_bar_end(&profile->session.bar, ok, &err);
}

static bool measure(struct profile *profile)
{
    const struct settings *settings = profile->settings;
    struct glinfer_error err;
    profile->data.model = profile->session.info.description;
    profile->data.device = profile->session.device_info.renderer;
    profile->data.rates.struct_size = sizeof(profile->data.rates);
    cli_bar_wait(&profile->session.bar, "measuring the device", false);
    const bool ok = glinfer_device_measure(profile->session.device, &profile->data.rates, &err);
    return cli_bar_end(&profile->session.bar, ok, &err) &&
           (settings->n_prompt == 0 || measure_stage(profile, 1, (uint32_t)settings->n_prompt)) &&
           (settings->n_steps == 0 || measure_stage(profile, (uint32_t)settings->n_steps, 0));
}

//-- tables ----------------------------------------------------------------------------------------

static double rate(uint64_t amount, double ns)
{
    return ns > 0 ? (double)amount / ns : 0;
}

static void print_figure(bool is_known, int width, int n_digit, double value, const char *unit)
{
    if (is_known) {
        printf("  %*.*f%s", width - (int)strlen(unit), n_digit, value, unit);
    } else {
        printf("  %*s", width, "");
    }
}

static void print_kernel(const struct cli_profile_data *data, const struct cli_profile_stage *stage,
                         const struct cli_profile_kernel *kernel)
{
    const struct glinfer_profile_kernel *figures = &kernel->figures;
    const double gb_per_s = rate(figures->bytes, figures->ns);
    const double memory = cli_profile_memory_rate(data);
    const double share = memory > 0 ? gb_per_s / memory : 0;
    const double roof_share = cli_profile_roof_share(data, figures);
    printf("%-14s %5.1f %%  %5u  %10.1f  %9.2f", kernel->label,
           100 * figures->ns / stage->stats.kernel_ns, figures->n_dispatches, figures->ns / 1e3,
           figures->ns / 1e3 / figures->n_dispatches);
    print_figure(figures->bytes > 0, 8, 2, gb_per_s, "");
    print_figure(share > 0, 6, 0, 100 * share, " %");
    print_figure(roof_share > 0, 6, 0, 100 * roof_share, " %");
    printf("  %s\n", kernel->program);
}

static void print_totals(const struct cli_profile_stage *stage)
{
    const struct glinfer_profile_stats *stats = &stage->stats;
    const double wall_ms = stats->wall_ns / 1e6;
    const double n_tokens = stage->n_prompt > 0 ? stage->n_prompt : 1;
    const bool is_sound = strcmp(stage->kind, "sound") == 0;
    printf("%-14s %5.1f %%  %5u  %10.1f\n", "all", 100.0, stats->n_dispatches,
           stats->kernel_ns / 1e3);
    printf("untimed: %.3f ms, %.1f %s/s; CPU submission %.3g ms (%.3f ms a dispatch)\n", wall_ms,
           wall_ms > 0 ? n_tokens * 1e3 / wall_ms : 0, is_sound ? "positions" : "tokens",
           stats->host_ns / 1e6, stats->host_ns / 1e6 / stats->n_dispatches);
    for (int i = 0; stage->n_prompt == 0 && i < GLINFER_DISPATCH_WAYS; i++) {
        if (stats->step_ns[i] > 0) {
            printf("%s dispatch: %.1f us a token when it was tried%s\n",
                   glinfer_dispatch_name((enum glinfer_dispatch)i), stats->step_ns[i] / 1e3,
                   i == (int)stats->dispatch ? "; answers use it" : "");
        }
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
    for (size_t i = 0; i < stage->kernels.count; i++) {
        print_kernel(data, stage, &stage->kernels.items[i]);
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

#define KERNEL(name, field) CLI_JSON_AS(name, glinfer_profile_kernel, field)
#define STATS(name, field)  CLI_JSON_AS(name, glinfer_profile_stats, field)

static void add_kernel(cJSON *object, const struct cli_profile_data *data,
                       const struct cli_profile_stage *stage,
                       const struct cli_profile_kernel *kernel)
{
    const struct glinfer_profile_kernel *figures = &kernel->figures;
    const double memory = cli_profile_memory_rate(data);
    const double gb_per_s = rate(figures->bytes, figures->ns);
    cJSON_AddStringToObject(object, "kernel", kernel->label);
    cJSON_AddStringToObject(object, "program", kernel->program);
    CLI_JSON_ADD(object, figures, KERNEL("dispatches", n_dispatches), KERNEL("ns", ns),
                 KERNEL("weight_bytes", weight_bytes), KERNEL("bytes", bytes),
                 KERNEL("flops", flops));
    cJSON_AddNumberToObject(object, "share", figures->ns / stage->stats.kernel_ns);
    cJSON_AddNumberToObject(object, "gb_per_s", gb_per_s);
    cJSON_AddNumberToObject(object, "gflop_per_s", rate(figures->flops, figures->ns));
    cJSON_AddNumberToObject(object, "memory_share", memory > 0 ? gb_per_s / memory : 0);
    cJSON_AddNumberToObject(object, "roof_share", cli_profile_roof_share(data, figures));
}

static void add_stage(cJSON *object, const struct cli_profile_data *data,
                      const struct cli_profile_stage *stage)
{
    const struct glinfer_profile_stats *stats = &stage->stats;
    cJSON_AddStringToObject(object, "stage", stage->kind);
    cJSON_AddNumberToObject(object, "n_prompt", stage->n_prompt);
    cJSON_AddNumberToObject(object, "n_depth", stage->depth);
    cJSON_AddStringToObject(object, "clock",
                            stats->clock == GLINFER_PROFILE_QUERY ? "query" : "wait");
    CLI_JSON_ADD(object, stats, STATS("runs", n_runs), STATS("repeated", n_repeated),
                 STATS("dispatches", n_dispatches), STATS("kernel_ns", kernel_ns),
                 STATS("wall_ns", wall_ns), STATS("weight_bytes", weight_bytes),
                 STATS("host_ns", host_ns));
    if (stage->n_prompt == 0) {
        cJSON_AddStringToObject(object, "dispatch", glinfer_dispatch_name(stats->dispatch));
        cli_json_add_steps(object, stats->step_ns);
    }
    cJSON *kernels = cJSON_AddArrayToObject(object, "kernels");
    for (size_t i = 0; i < stage->kernels.count; i++) {
        add_kernel(cli_json_append(kernels), data, stage, &stage->kernels.items[i]);
    }
}

static bool print_json(const struct cli_profile_data *data)
{
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "model", data->model);
    cJSON_AddStringToObject(object, "device", data->device);
    CLI_JSON_ADD(object, &data->rates, CLI_JSON(glinfer_device_rates, copy_gb_per_s),
                 CLI_JSON(glinfer_device_rates, read_gb_per_s),
                 CLI_JSON(glinfer_device_rates, gflop_per_s));
    cJSON *stages = cJSON_AddArrayToObject(object, "stages");
    for (size_t i = 0; i < data->n_stage; i++) {
        add_stage(cli_json_append(stages), data, &data->stages[i]);
    }
    return cli_json_print(object);
}

//-- the plan --------------------------------------------------------------------------------------

struct plan {
    cJSON *dispatches, *submissions; // NULL: a table
    uint32_t n_submission;
    double longest_ns, sum_ns; // of submissions
};

static void print_planned(const struct plan *plan, const struct glinfer_planned *planned)
{
    if (planned->label) {
        printf("%10u  %6u  %-14s %10.3f  %6u  %s\n", plan->n_submission + 1, planned->n_tokens,
               planned->label, planned->ns / 1e6, planned->n_pieces, planned->program);
    } else {
        printf("%10u  %6s  %-14s %10.3f\n", plan->n_submission + 1, "", "together",
               planned->ns / 1e6);
    }
}

static void add_planned(const struct plan *plan, const struct glinfer_planned *planned)
{
    if (!planned->label) {
        cJSON_AddItemToArray(plan->submissions, cJSON_CreateNumber(planned->ns));
        return;
    }
    cJSON *object = cli_json_append(plan->dispatches);
    cJSON_AddStringToObject(object, "kernel", planned->label);
    cJSON_AddStringToObject(object, "program", planned->program);
    cJSON_AddNumberToObject(object, "tokens", planned->n_tokens);
    cJSON_AddNumberToObject(object, "pieces", planned->n_pieces);
    cJSON_AddNumberToObject(object, "submission", plan->n_submission);
    cJSON_AddNumberToObject(object, "ns", planned->ns);
}

static void take_planned(void *user, const struct glinfer_planned *planned)
{
    struct plan *plan = user;
    if (plan->dispatches) {
        add_planned(plan, planned);
    } else {
        print_planned(plan, planned);
    }
    if (!planned->label) {
        plan->n_submission++;
        plan->sum_ns += planned->ns;
        plan->longest_ns = planned->ns > plan->longest_ns ? planned->ns : plan->longest_ns;
    }
}

static void begin_plan(const struct profile *profile, struct plan *plan, uint32_t n_prompt,
                       cJSON *stages)
{
    char name[64];
    if (stages) {
        cJSON *object = cli_json_append(stages);
        cJSON_AddStringToObject(object, "stage", kind_of(profile, n_prompt));
        cJSON_AddNumberToObject(object, "n_prompt", n_prompt);
        cJSON_AddNumberToObject(object, "n_depth", (double)profile->settings->depth);
        plan->submissions = cJSON_AddArrayToObject(object, "submission_ns");
        plan->dispatches = cJSON_AddArrayToObject(object, "dispatches");
        return;
    }
    name_stage(profile, n_prompt, name, sizeof(name));
    printf("\n%s, planned before anything is measured\n%10s  %6s  %-14s %10s  %6s  %s\n", name,
           "submission", "tokens", "kernel", "ms", "pieces", "program");
}

// Plans a prompt, or a decode step with n_prompt 0, and prints it or adds it to stages.
static bool plan_stage(const struct profile *profile, uint32_t n_prompt, cJSON *stages)
{
    struct plan plan = {.longest_ns = 0};
    struct glinfer_profile_params params;
    struct glinfer_error err;
    glinfer_profile_params_init(&params);
    params.n_runs = 1;
    params.n_prompt = n_prompt;
    params.depth = (uint32_t)profile->settings->depth;
    params.on_planned = take_planned;
    params.user = &plan;
    begin_plan(profile, &plan, n_prompt, stages);
    if (!glinfer_profile(profile->session.session, &params, NULL, &err)) {
        return cli_fail(CLI_EXIT_FAILED, "%s", err.message);
    }
    if (!stages) {
        printf("%u submissions, the longest of %.1f ms, %.1f ms together\n", plan.n_submission,
               plan.longest_ns / 1e6, plan.sum_ns / 1e6);
    }
    return true;
}

static bool print_plan(const struct profile *profile)
{
    const struct settings *settings = profile->settings;
    cJSON *object = settings->is_json ? cJSON_CreateObject() : NULL;
    cJSON *array = object ? cJSON_AddArrayToObject(object, "stages") : NULL;
    const uint32_t n_prompt = (uint32_t)settings->n_prompt;
    const bool is_done = (n_prompt == 0 || plan_stage(profile, n_prompt, array)) &&
                         (settings->n_steps == 0 || plan_stage(profile, 0, array));
    if (!is_done) {
        cJSON_Delete(object);
        return false;
    }
    return object ? cli_json_print(object) : cli_close_output();
}

//-- the command -----------------------------------------------------------------------------------

static bool show(const struct profile *profile)
{
    const struct settings *settings = profile->settings;
    bool is_written = true;
    if (profile->trace) {
        cli_trace_print(profile->trace, &profile->data);
        is_written = cli_check_written(profile->trace, settings->trace);
    }
    if (profile->svg) {
        cli_roofline_print(profile->svg, &profile->data);
        is_written = cli_check_written(profile->svg, settings->svg) && is_written;
    }
    if (settings->is_json) {
        return print_json(&profile->data) && is_written;
    }
    print_tables(&profile->data);
    return cli_close_output() && is_written;
}

static void finish(struct profile *profile)
{
    if (profile->trace) {
        fclose(profile->trace);
    }
    if (profile->svg) {
        fclose(profile->svg);
    }
    cli_profile_finish(&profile->data);
    cli_session_finish(&profile->session);
}

// Chooses the prompt, unless it was given, and the context.
static bool choose_length(const struct profile *profile)
{
    struct settings *settings = profile->settings;
    if (settings->n_prompt < 0) {
        settings->n_prompt = profile->session.info.n_encoder_ctx;
    }
    if (settings->n_prompt == 0 && settings->n_steps == 0) {
        return cli_fail(CLI_EXIT_USAGE, "nothing to measure: -p 0 and -n 0");
    }
    const int64_t longest =
        settings->n_prompt > settings->n_steps ? settings->n_prompt : settings->n_steps;
    settings->session.n_ctx = settings->depth + longest + 1;
    return true;
}

static bool run_command(void *user)
{
    struct settings *settings = user;
    struct profile profile = {.settings = settings};
    struct cli_session *session = &profile.session;
    cli_session_init(session, &settings->session);
    session->allows_speech = true;
    // The files are created before the measurement, which a wrong path would waste.
    const bool is_done =
        cli_session_check_decoder(session) && choose_length(&profile) &&
        cli_create(settings->trace, &profile.trace) && cli_create(settings->svg, &profile.svg) &&
        cli_session_load(session) && cli_session_start(session, NULL) &&
        (settings->is_plan ? print_plan(&profile) : measure(&profile) && show(&profile));
    finish(&profile);
    return is_done;
}

const struct cli_command cli_profile_command = {
    .name = "profile",
    .usage = "-m MODEL [flags]",
    .summary = "Shows where the time of a token goes, kernel by kernel.",
    .text =
        "Times come from timer queries around each dispatch; without usable "
        "queries, from\nwaiting for each dispatch, which adds the way to the GPU and back. The "
        "device's rates are\nmeasured first. memory: the kernel's GB/s as a share of the device's "
        "maximum; roof: its rate as\na share of the limit that memory and arithmetic set. Both "
        "count only weights and cache.\n\n"
        "    glinfer profile -m model.gguf -p 128 --svg roofline.svg --trace trace.json",
    .common = "-m, -hf, -dev, -v, -n, -p, -d, --plan, --json, --trace, --svg",
    .needs_model = true,
    CLI_SESSION_COMMAND(flags, defaults, run_command),
};
