// `glinfer tune`: measures which shapes of kernels are fastest on the device.
#include "cli/cli_commands.h"
#include "cli/common/cli_json.h"
#include "cli/common/cli_session.h"

#include <stdlib.h>

struct settings {
    struct cli_session_flags session;
    float max_seconds;
    bool is_reset, is_json;
};

static struct settings defaults;

#define CLI_SETTINGS settings
static const struct cli_flag flags[] = {
    CLI_HEADING("Model and device"),
    CLI_MODEL_FLAGS,
    CLI_UBATCH_FLAG,
    CLI_HEADING("Measuring"),
    CLI_FLOAT(max_seconds, 0.1, 3600, "--max-seconds", "S",
              "approximate time limit; default 10, on boards and without a GPU 60"),
    CLI_SWITCH(is_reset, "--reset", "delete the measurements of the device; needs no model"),
    CLI_HEADING("Output"),
    CLI_SWITCH(is_json, "--json", "one JSON object instead of the result"),
};

enum { GREEDY, SAMPLED, N_WAY };
static const char *const way_names[N_WAY] = {"greedy", "sampled"};

// A glinfer_tuned that lasts.
struct row {
    struct glinfer_tuned figures; // its texts are NULL: they are copied below
    char kernel[32], type[16], table_shape[32], shape[32];
};

struct tune {
    const struct settings *settings;
    struct glinfer_prepared prepared[N_WAY]; // how tokens are submitted with the new shapes
    bool is_prepared;
    struct cli_session session;
    struct glinfer_tune_stats stats;
    struct {
        struct row *items;
        size_t count, capacity;
    } rows;
};

static void add_row(void *user, const struct glinfer_tuned *tuned)
{
    struct tune *tune = user;
    struct row *row = CLI_APPEND(&tune->rows);
    row->figures = *tuned;
    snprintf(row->kernel, sizeof(row->kernel), "%s", tuned->kernel);
    snprintf(row->type, sizeof(row->type), "%s", tuned->type);
    snprintf(row->table_shape, sizeof(row->table_shape), "%s", tuned->table_shape);
    snprintf(row->shape, sizeof(row->shape), "%s", tuned->shape);
    row->figures.kernel = row->figures.type = row->figures.shape = row->figures.table_shape = NULL;
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
    const struct glinfer_tuned *figures = &row->figures;
    char matrix[40];
    cli_format_matrix(matrix, figures->n_rows, figures->n_cols, figures->extent);
    printf("%-20s %-8s %-20s %5u  %-16s %10.1f  %5u", row->kernel, row->type, matrix,
           figures->n_dispatches, row->table_shape, figures->table_ns / 1e3, figures->n_candidates);
    if (strcmp(row->shape, row->table_shape) == 0) {
        printf("  unchanged\n");
    } else {
        printf("  %-16s %10.1f  %+5.1f %%\n", row->shape, figures->ns / 1e3,
               gain_of(figures->table_ns, figures->ns));
    }
}

static void print_table(const struct tune *tune)
{
    printf("\n%-20s %-8s %-20s %5s  %-16s %10s  %5s  %-16s %10s  %7s\n", "kernel", "type", "matrix",
           "calls", "built-in", "us", "tried", "tuned", "us", "faster");
    for (size_t i = 0; i < tune->rows.count; i++) {
        print_row(&tune->rows.items[i]);
    }
    printf("times by %s, kept in %s\n",
           tune->stats.clock == GLINFER_PROFILE_QUERY ? "timer queries" : "waiting",
           tune->stats.path);
}

static void print_prepared(const struct tune *tune)
{
    for (int way = 0; tune->is_prepared && way < N_WAY; way++) {
        const struct glinfer_prepared *prepared = &tune->prepared[way];
        printf("%s tokens: %s dispatches", way_names[way],
               glinfer_dispatch_name(prepared->dispatch));
        for (int i = 0; i < GLINFER_DISPATCH_WAYS; i++) {
            if (prepared->step_ns[i] > 0) {
                printf(", %.1f us a token %s", prepared->step_ns[i] / 1e3,
                       glinfer_dispatch_name((enum glinfer_dispatch)i));
            }
        }
        printf("\n");
    }
}

// Prints the result in sentences, with -v also the kernels.
static bool print_result(const struct tune *tune)
{
    const struct glinfer_tune_stats *stats = &tune->stats;
    printf("%s on %s: %u of %u kernels measured", tune->session.info.description,
           tune->session.device_info.renderer, stats->n_measured, stats->n_sites);
    printf(stats->n_measured < stats->n_sites ? "; a longer --max-seconds measures more\n" : "\n");
    if (stats->n_changed == 0) {
        printf("Nothing faster was found; the built-in shapes are used.\n");
    } else {
        printf("Faster shapes were found for %u kernel%s: a token takes %.2f ms, %.2f ms before, "
               "%+.1f %%.\nLater runs use them; `glinfer tune --reset` removes them.\n",
               stats->n_changed, cli_plural(stats->n_changed), stats->step_ns / 1e6,
               stats->table_step_ns / 1e6, gain_of(stats->table_step_ns, stats->step_ns));
    }
    if (tune->settings->session.device.verbosity > 0 && stats->n_sites > 0) {
        print_table(tune);
        print_prepared(tune);
    }
    return cli_close_output();
}

#define STATS(field)        CLI_JSON(glinfer_tune_stats, field)
#define ROW(field)          CLI_JSON(row, field)
#define FIGURE(name, field) CLI_JSON_AS(name, row, figures.field)

static bool print_json(const struct tune *tune)
{
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "model", tune->session.info.description);
    cJSON_AddStringToObject(object, "device", tune->session.device_info.renderer);
    cJSON_AddStringToObject(object, "clock",
                            tune->stats.clock == GLINFER_PROFILE_QUERY ? "query" : "wait");
    CLI_JSON_ADD(object, &tune->stats, STATS(table_step_ns), STATS(step_ns), STATS(n_sites),
                 STATS(n_measured), STATS(n_changed),
                 CLI_JSON_AS("file", glinfer_tune_stats, path));
    for (int way = 0; tune->is_prepared && way < N_WAY; way++) {
        const struct glinfer_prepared *prepared = &tune->prepared[way];
        cJSON *item = cJSON_AddObjectToObject(object, way_names[way]);
        cJSON_AddStringToObject(item, "dispatch", glinfer_dispatch_name(prepared->dispatch));
        cli_json_add_steps(item, prepared->step_ns);
    }
    cJSON *shapes = cJSON_AddArrayToObject(object, "shapes");
    for (size_t i = 0; i < tune->rows.count; i++) {
        CLI_JSON_ADD(cli_json_append(shapes), &tune->rows.items[i], ROW(kernel), ROW(type),
                     FIGURE("n_rows", n_rows), FIGURE("n_cols", n_cols), FIGURE("extent", extent),
                     FIGURE("dispatches", n_dispatches), FIGURE("candidates", n_candidates),
                     ROW(table_shape), FIGURE("table_ns", table_ns), ROW(shape), FIGURE("ns", ns));
    }
    return cli_json_print(object);
}

//-- the command -----------------------------------------------------------------------------------

static bool measure(struct tune *tune)
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
    const bool is_done = cli_check_interrupt(&err) &&
                         glinfer_tune(tune->session.session, &params, &tune->stats, &err);
    return cli_bar_end(&tune->session.bar, is_done, &err);
}

// Starts a new session, which has the new shapes, and prepares it for greedy and for sampled
// tokens.
static bool prepare(struct tune *tune)
{
    struct glinfer_error err;
    cli_session_stop(&tune->session);
    bool is_done = cli_session_start(&tune->session, NULL);
    for (int way = 0; is_done && way < N_WAY; way++) {
        struct glinfer_generate_params params;
        glinfer_generate_params_init(&params);
        params.temperature = way == SAMPLED ? 0.8F : 0;
        params.top_k = 40;
        params.lookup = 3;
        params.progress = cli_progress;
        params.progress_user = &tune->session.bar;
        tune->prepared[way].struct_size = sizeof(tune->prepared[way]);
        cli_bar_wait(&tune->session.bar, "trying chains of tokens", true);
        is_done =
            glinfer_session_prepare(tune->session.session, &params, &tune->prepared[way], &err);
        is_done = cli_bar_end(&tune->session.bar, is_done, &err);
    }
    return is_done;
}

static bool run(const struct settings *settings)
{
    struct tune tune = {.settings = settings};
    bool is_done = false;
    cli_session_init(&tune.session, &settings->session);
    tune.session.allows_speech = true;
    if (cli_session_check_decoder(&tune.session) && cli_session_load(&tune.session) &&
        cli_session_start(&tune.session, NULL) && measure(&tune)) { // the shapes are kept by now
        const bool is_speech = tune.session.info.is_speech;
        tune.is_prepared = !is_speech && prepare(&tune);
        is_done = (settings->is_json ? print_json(&tune) : print_result(&tune)) &&
                  (is_speech || tune.is_prepared);
    }
    free(tune.rows.items);
    cli_session_finish(&tune.session);
    return is_done;
}

static bool reset(const struct settings *settings)
{
    struct glinfer_error err;
    struct glinfer_device_info info;
    struct glinfer_device *device = cli_device_open(&settings->session.device, &info);
    if (!device) {
        return false;
    }
    const size_t n = glinfer_device_tuning(device, NULL, NULL);
    const bool is_done = glinfer_device_reset_tuning(device, &err);
    glinfer_device_destroy(&device);
    if (!is_done) {
        return cli_fail_error(&err);
    }
    if (settings->is_json) {
        cJSON *object = cJSON_CreateObject();
        cJSON_AddStringToObject(object, "device", info.renderer);
        cJSON_AddNumberToObject(object, "forgotten", (double)n);
        return cli_json_print(object);
    }
    printf("removed the measurements of %zu kernel%s on %s\n", n, cli_plural(n), info.renderer);
    return cli_close_output();
}

static bool run_command(void *user)
{
    const struct settings *settings = user;
    if (settings->is_reset) {
        return reset(settings);
    }
    return settings->session.model
               ? run(settings)
               : cli_fail(CLI_EXIT_USAGE, "tune needs a model: -m FILE.gguf, or a name such as "
                                          "smollm2-135m that `glinfer models --known` lists");
}

const struct cli_command cli_tune_command = {
    .name = "tune",
    .usage = "-m MODEL [flags]",
    .summary = "Finds the fastest kernel shapes for the device, for later runs.",
    .text =
        "Tries the ways in which each kernel of the model can be spread over the device, and keeps "
        "the\nfastest in the cache folder, for this driver and this version of glinfer. Every "
        "command uses them\nfrom then on, until --reset; GLINFER_TUNING=off ignores them. -v lists "
        "the kernels with their times,\nwhich are those of a whole token or prompt batch. A chain "
        "of tokens in one dispatch is tried too if\nit may be faster; compiling it can take a "
        "minute. Run it while nothing else uses the device.\n\n"
        "    glinfer tune -m model.gguf",
    .common = "-m, -hf, -dev, -v, --max-seconds, --reset, --json",
    CLI_SESSION_COMMAND(flags, defaults, run_command),
};
