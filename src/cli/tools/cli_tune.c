#include "cli/tools/cli_tune.h"

#include "cli/common/cli_json.h"
#include "cli/common/cli_session.h"
#include "cli/common/cli_start.h"

#include <stdlib.h>

struct settings {
    struct cli_session_flags session;
    float max_seconds;
    bool is_reset, is_json;
};

static const struct cli_flag flags[] = {
    CLI_FLAG_HEADING("Model and device"),
    CLI_MODEL_FLAGS(settings),
    CLI_UBATCH_FLAG(settings),
    CLI_FLAG_HEADING("Measuring"),
    CLI_FLAG_FLOAT(settings, max_seconds, 0.1, 3600, "--max-seconds", "S",
                   "about so long; default 10, on boards and without a GPU 60"),
    CLI_FLAG_SWITCH(settings, is_reset, "--reset",
                    "forget what was measured on the device; no model is needed"),
    CLI_FLAG_HEADING("Output"),
    CLI_FLAG_SWITCH(settings, is_json, "--json", "one JSON object in place of the table"),
};

const struct cli_command cli_tune_command = {
    .name = "tune",
    .usage = "-m MODEL [flags]",
    .summary = "Measures which shapes of kernels are fastest on the device, and keeps them.",
    .word = "a model is given with -m",
    .text =
        "Tries the ways in which each kernel of the model can be spread over the device, and keeps "
        "the\nfastest in the cache folder, for this driver and this version of glinfer. Every "
        "command uses them\nfrom then on, until --reset; GLINFER_TUNING=off leaves them unused. "
        "Times are of a whole token,\nor prompt batch. Where a chain of tokens may be faster in "
        "one "
        "dispatch that is compiled, which may\ntake a minute, tried out and kept too. Run it while "
        "nothing else uses the device.\n\n"
        "    glinfer tune -m model.gguf",
    .flags = flags,
    .n_flag = sizeof(flags) / sizeof(flags[0]),
};

enum { GREEDY, DRAWN, N_WAY };
static const char *const way_names[N_WAY] = {"greedy", "drawn"};

struct tune {
    const struct settings *settings;
    struct glinfer_prepared prepared[N_WAY]; // how tokens are submitted with the new shapes
    bool is_prepared;
    struct cli_session session;
    struct glinfer_tune_stats stats;
    struct row *rows;
    size_t n_row;
    bool has_failed; // no memory for a row
};

// A glinfer_tuned that lasts.
struct row {
    char kernel[32], type[16], table_shape[32], shape[32];
    uint32_t n_rows, n_cols, extent, n_dispatches, n_candidates;
    double table_ns, ns;
};

static void add_row(void *user, const struct glinfer_tuned *tuned)
{
    struct tune *tune = user;
    struct row *rows = realloc(tune->rows, (tune->n_row + 1) * sizeof(*rows));
    if (!rows) {
        tune->has_failed = true;
        return;
    }
    struct row *row = &rows[tune->n_row++];
    tune->rows = rows;
    *row = (struct row){.n_rows = tuned->n_rows,
                        .n_cols = tuned->n_cols,
                        .extent = tuned->extent,
                        .n_dispatches = tuned->n_dispatches,
                        .n_candidates = tuned->n_candidates,
                        .table_ns = tuned->table_ns,
                        .ns = tuned->ns};
    snprintf(row->kernel, sizeof(row->kernel), "%s", tuned->kernel);
    snprintf(row->type, sizeof(row->type), "%s", tuned->type);
    snprintf(row->table_shape, sizeof(row->table_shape), "%s", tuned->table_shape);
    snprintf(row->shape, sizeof(row->shape), "%s", tuned->shape);
}

static bool on_progress(void *user, enum glinfer_phase phase, uint64_t done, uint64_t total)
{
    struct tune *tune = user;
    return cli_progress(&tune->session.bar, phase, done, total);
}

//-- output ----------------------------------------------------------------------------------------

static double gain_of(double table_ns, double ns)
{
    return ns > 0 ? 100 * (table_ns / ns - 1) : 0;
}

static void print_row(const struct row *row)
{
    char matrix[40];
    cli_format_matrix(matrix, row->n_rows, row->n_cols, row->extent);
    printf("%-20s %-8s %-20s %5u  %-16s %10.1f  %5u", row->kernel, row->type, matrix,
           row->n_dispatches, row->table_shape, row->table_ns / 1e3, row->n_candidates);
    if (strcmp(row->shape, row->table_shape) == 0) {
        printf("  as it is\n");
    } else {
        printf("  %-16s %10.1f  %+5.1f %%\n", row->shape, row->ns / 1e3,
               gain_of(row->table_ns, row->ns));
    }
}

static void print_table(const struct tune *tune)
{
    const struct glinfer_tune_stats *stats = &tune->stats;
    if (stats->n_sites == 0) {
        printf("%s on %s: there is nothing to choose from\n", tune->session.info.description,
               tune->session.device_info.renderer);
        return;
    }
    printf("%s on %s, by %s\n", tune->session.info.description, tune->session.device_info.renderer,
           stats->clock == GLINFER_PROFILE_QUERY ? "timer queries" : "waiting");
    printf("%-20s %-8s %-20s %5s  %-16s %10s  %5s  %-16s %10s  %7s\n", "kernel", "type", "matrix",
           "calls", "table", "us", "tried", "best", "us", "faster");
    for (size_t i = 0; i < tune->n_row; i++) {
        print_row(&tune->rows[i]);
    }
    printf("a token: %.1f us with the table's shapes, %.1f us with the best, %+.1f %%\n",
           stats->table_step_ns / 1e3, stats->step_ns / 1e3,
           gain_of(stats->table_step_ns, stats->step_ns));
    if (stats->n_measured < stats->n_sites) {
        printf("%u of %u were measured; more with --max-seconds\n", stats->n_measured,
               stats->n_sites);
    }
    printf("kept in %s\n", stats->path);
}

static void print_prepared(const struct tune *tune)
{
    for (int way = 0; tune->is_prepared && way < N_WAY; way++) {
        const struct glinfer_prepared *prepared = &tune->prepared[way];
        printf("%s tokens: %s dispatches", way_names[way],
               glinfer_dispatch_name(prepared->dispatch));
        if (prepared->persistent_ns > 0) {
            printf(", %.1f us a token in one dispatch, %.1f us in many",
                   prepared->persistent_ns / 1e3, prepared->ordinary_ns / 1e3);
        }
        printf("\n");
    }
}

static int print_json(const struct tune *tune)
{
    const struct glinfer_tune_stats *stats = &tune->stats;
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "model", tune->session.info.description);
    cJSON_AddStringToObject(object, "device", tune->session.device_info.renderer);
    cJSON_AddStringToObject(object, "clock",
                            stats->clock == GLINFER_PROFILE_QUERY ? "query" : "wait");
    cJSON_AddNumberToObject(object, "table_step_ns", stats->table_step_ns);
    cJSON_AddNumberToObject(object, "step_ns", stats->step_ns);
    cJSON_AddNumberToObject(object, "n_sites", stats->n_sites);
    cJSON_AddNumberToObject(object, "n_measured", stats->n_measured);
    cJSON_AddNumberToObject(object, "n_changed", stats->n_changed);
    cJSON_AddStringToObject(object, "file", stats->path);
    for (int way = 0; tune->is_prepared && way < N_WAY; way++) {
        const struct glinfer_prepared *prepared = &tune->prepared[way];
        cJSON *item = cJSON_AddObjectToObject(object, way_names[way]);
        cJSON_AddStringToObject(item, "dispatch", glinfer_dispatch_name(prepared->dispatch));
        cJSON_AddNumberToObject(item, "ordinary_ns", prepared->ordinary_ns);
        cJSON_AddNumberToObject(item, "persistent_ns", prepared->persistent_ns);
    }
    cJSON *rows = cJSON_AddArrayToObject(object, "shapes");
    for (size_t i = 0; i < tune->n_row; i++) {
        const struct row *row = &tune->rows[i];
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "kernel", row->kernel);
        cJSON_AddStringToObject(item, "type", row->type);
        cJSON_AddNumberToObject(item, "n_rows", row->n_rows);
        cJSON_AddNumberToObject(item, "n_cols", row->n_cols);
        cJSON_AddNumberToObject(item, "extent", row->extent);
        cJSON_AddNumberToObject(item, "dispatches", row->n_dispatches);
        cJSON_AddNumberToObject(item, "candidates", row->n_candidates);
        cJSON_AddStringToObject(item, "table_shape", row->table_shape);
        cJSON_AddNumberToObject(item, "table_ns", row->table_ns);
        cJSON_AddStringToObject(item, "shape", row->shape);
        cJSON_AddNumberToObject(item, "ns", row->ns);
        cJSON_AddItemToArray(rows, item);
    }
    return cli_json_print(object);
}

//-- the command -----------------------------------------------------------------------------------

static int measure(struct tune *tune)
{
    struct glinfer_error err;
    struct glinfer_tune_params params;
    glinfer_tune_params_init(&params);
    params.max_ms = (uint32_t)(tune->settings->max_seconds * 1000);
    params.on_tuned = add_row;
    params.progress = on_progress;
    params.user = tune;
    tune->stats.struct_size = sizeof(tune->stats);
    cli_bar_wait(&tune->session.bar, "measuring", true);
    const bool ok = glinfer_tune(tune->session.session, &params, &tune->stats, &err);
    cli_bar_clear(&tune->session.bar);
    if (!ok) {
        return cli_fail_error(&err);
    }
    return tune->has_failed ? cli_fail(CLI_EXIT_FAILED, "no memory for the table") : CLI_EXIT_DONE;
}

// The new shapes are those of a new session.
static int prepare(struct tune *tune)
{
    struct glinfer_error err;
    cli_session_stop(&tune->session);
    int status = cli_session_start(&tune->session, NULL);
    for (int way = 0; status == CLI_EXIT_DONE && way < N_WAY; way++) {
        struct glinfer_generate_params params;
        glinfer_generate_params_init(&params);
        params.temperature = way == DRAWN ? 0.8F : 0;
        params.top_k = 40;
        params.progress = on_progress;
        params.progress_user = tune;
        tune->prepared[way].struct_size = sizeof(tune->prepared[way]);
        cli_bar_wait(&tune->session.bar, "trying chains of tokens", true);
        const bool ok =
            glinfer_session_prepare(tune->session.session, &params, &tune->prepared[way], &err);
        cli_bar_clear(&tune->session.bar);
        status = ok ? CLI_EXIT_DONE : cli_fail_error(&err);
    }
    return status;
}

static int show(const struct tune *tune)
{
    if (tune->settings->is_json) {
        return print_json(tune);
    }
    print_table(tune);
    print_prepared(tune);
    return cli_close_output(CLI_EXIT_DONE);
}

static int run(struct tune *tune)
{
    int status = cli_session_check(&tune->session);
    if (status == CLI_EXIT_DONE) {
        status = cli_session_load(&tune->session);
    }
    if (status == CLI_EXIT_DONE) {
        status = cli_session_start(&tune->session, NULL);
    }
    if (status == CLI_EXIT_DONE) {
        status = measure(tune);
    }
    if (status == CLI_EXIT_DONE) { // and kept, whatever happens from here on
        status = prepare(tune);
        tune->is_prepared = status == CLI_EXIT_DONE;
        const int shown = show(tune);
        status = tune->is_prepared ? shown : status;
    }
    free(tune->rows);
    cli_session_finish(&tune->session);
    return status;
}

static int show_reset(const struct settings *settings, size_t n, const char *renderer)
{
    if (settings->is_json) {
        cJSON *object = cJSON_CreateObject();
        cJSON_AddStringToObject(object, "device", renderer);
        cJSON_AddNumberToObject(object, "forgotten", (double)n);
        return cli_json_print(object);
    }
    printf("%zu shapes of %s are forgotten\n", n, renderer);
    return cli_close_output(CLI_EXIT_DONE);
}

static int reset(const struct settings *settings)
{
    int status = CLI_EXIT_DONE;
    struct glinfer_error err;
    struct glinfer_device_info info;
    struct glinfer_device *device = cli_device_open(&settings->session.device, &info, &status);
    if (!device) {
        return status;
    }
    const size_t n = glinfer_device_tuning(device, NULL, NULL);
    if (!glinfer_device_reset_tuning(device, &err)) {
        status = cli_fail_error(&err);
    } else {
        status = show_reset(settings, n, info.renderer);
    }
    glinfer_device_destroy(&device);
    return status;
}

int cli_tune(int argc, const char *const *argv)
{
    struct settings settings = {0};
    int status;
    if (!cli_start(&cli_tune_command, &settings, argc, argv, &status)) {
        return status;
    }
    if (settings.session.device.is_list) {
        return cli_device_list(&settings.session.device);
    }
    if (settings.is_reset) {
        return reset(&settings);
    }
    if (!settings.session.model) {
        return cli_fail(CLI_EXIT_USAGE, "tune needs a model: -m FILE.gguf");
    }
    struct tune tune = {.settings = &settings};
    cli_session_init(&tune.session, &settings.session);
    return run(&tune);
}
