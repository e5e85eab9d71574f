// `glinfer selftest`: checks the kernels of a model, or of synthetic models, against the CPU, for a
// bug report.
#include "cli/cli_commands.h"
#include "cli/common/cli_json.h"
#include "cli/common/cli_session.h"
#include "cli/tools/cli_synthetic.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#ifndef CLI_BUILD // " (1234567)": the commit of the build, if there is one
#define CLI_BUILD ""
#endif

enum { MAX_SLOTS = 16 };

struct settings {
    struct cli_session_flags session;
    int64_t n_slots;
    bool is_json;
};

static struct settings defaults = {.session.n_ctx = 1280, .n_slots = 1};

#define CLI_SETTINGS settings
static const struct cli_flag flags[] = {
    CLI_HEADING("Flags"),
    CLI_ANY_MODEL_FLAGS("a GGUF file; without it, synthetic models"),
    CLI_UBATCH_FLAG,
    CLI_INT(n_slots, 1, MAX_SLOTS, "-np, --parallel", "N",
            "also the kernels of N answers at once, as glinfer serve -np N uses them; default %v: "
            "none"),
    CLI_SWITCH(
        is_json, "--json",
        "one JSON object on standard output: glinfer, device, renderer, vendor, version, "
        "model, right, programs with program, result, text, ms, half_refusal, error, seconds"),
};

static const char *const results[] = {
    [GLINFER_TEST_RIGHT] = "ok",
    [GLINFER_TEST_WRONG] = "WRONG",
    [GLINFER_TEST_NOT_COMPILED] = "not compiled",
    [GLINFER_TEST_NONE] = "no test",
};

struct row {
    enum glinfer_test_result result;
    char program[200], text[400];
    double ms;
};

struct selftest {
    struct settings settings;
    struct cli_session session;
    struct glinfer_session *sessions[MAX_SLOTS];
    struct {
        struct row *items;
        size_t count, capacity;
    } rows;
    bool is_right;
    bool is_synthetic;
    char half_refusal[200];   // why models compute in f32; "": they do not have to
    struct glinfer_error err; // of the test
    double seconds;
};

static bool is_wrong(const struct row *row)
{
    return row->result != GLINFER_TEST_RIGHT && row->result != GLINFER_TEST_NONE;
}

// Programs without a test occur in several lists.
static void add_row(void *user, const struct glinfer_tested *tested)
{
    struct selftest *self = user;
    for (size_t i = 0; i < self->rows.count; i++) {
        if (strcmp(self->rows.items[i].program, tested->program) == 0 &&
            self->rows.items[i].result == tested->result) {
            return;
        }
    }
    struct row *row = CLI_APPEND(&self->rows);
    *row = (struct row){.result = tested->result, .ms = tested->ns / 1e6};
    snprintf(row->program, sizeof(row->program), "%s", tested->program);
    snprintf(row->text, sizeof(row->text), "%s", tested->text);
    self->is_right = self->is_right && !is_wrong(row);
}

static const char *describe(const struct selftest *self)
{
    return self->is_synthetic ? "synthetic models" : self->session.info.description;
}

static void print_device(const struct selftest *self, bool is_verbose)
{
    const struct glinfer_device_info *info = &self->session.device_info;
    struct utsname machine;
    char block[24];
    printf("glinfer %s%s, self-test with %s\n", glinfer_version(), CLI_BUILD, describe(self));
    if (uname(&machine) == 0) {
        printf("%s %s, %s\n", machine.sysname, machine.release, machine.machine);
    }
    printf("%s: %s\n    %s, %s\n", info->device, info->renderer, info->version, info->vendor);
    if (is_verbose) {
        printf("    %u storage blocks of %s, groups of %u, %u bytes shared, uniform blocks of %u, "
               "alignment %u, %s%s\n",
               info->max_storage_blocks, cli_format_size(block, info->max_storage_block_size),
               info->max_invocations, info->max_shared_size, info->max_uniform_block_size,
               info->storage_alignment, info->has_subgroups ? "subgroups" : "no subgroups",
               info->has_fast_half ? ", fast halves" : "");
    }
    if (*self->half_refusal) {
        printf("computing in f32 instead of f16: %s\n", self->half_refusal);
    }
}

// Prints the result first, then the programs that are wrong, with -v all of them.
static bool print_report(const struct selftest *self)
{
    const bool is_verbose = self->settings.session.device.verbosity > 0;
    size_t n_wrong = 0;
    for (size_t i = 0; i < self->rows.count; i++) {
        n_wrong += is_wrong(&self->rows.items[i]);
    }
    print_device(self, is_verbose);
    if (self->is_right) {
        printf("\nall right: %zu programs, %.1f seconds\n", self->rows.count, self->seconds);
    } else {
        printf("\nNOT ALL RIGHT: %zu of %zu programs are wrong, %.1f seconds\n", n_wrong,
               self->rows.count, self->seconds);
    }
    for (size_t i = 0; i < self->rows.count; i++) {
        const struct row *row = &self->rows.items[i];
        if (is_verbose || is_wrong(row)) {
            printf("%-12s %7.1f ms  %s%s%s\n", results[row->result], row->ms, row->program,
                   *row->text ? ": " : "", row->text);
        }
    }
    if (!is_verbose) {
        printf("-v lists every program, for a bug report\n");
    }
    return cli_close_output();
}

static bool print_json(const struct selftest *self)
{
    const struct glinfer_device_info *info = &self->session.device_info;
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "glinfer", glinfer_version());
    cJSON_AddStringToObject(object, "device", info->device);
    cJSON_AddStringToObject(object, "renderer", info->renderer);
    cJSON_AddStringToObject(object, "vendor", info->vendor);
    cJSON_AddStringToObject(object, "version", info->version);
    cJSON_AddStringToObject(object, "model", describe(self));
    cJSON_AddBoolToObject(object, "right", self->is_right);
    cJSON *programs = cJSON_AddArrayToObject(object, "programs");
    for (size_t i = 0; i < self->rows.count; i++) {
        const struct row *row = &self->rows.items[i];
        cJSON *program = cli_json_append(programs);
        cJSON_AddStringToObject(program, "program", row->program);
        cJSON_AddStringToObject(program, "result", results[row->result]);
        cJSON_AddStringToObject(program, "text", row->text);
        cJSON_AddNumberToObject(program, "ms", row->ms);
    }
    if (*self->half_refusal) {
        cJSON_AddStringToObject(object, "half_refusal", self->half_refusal);
    }
    if (*self->err.message) {
        cJSON_AddStringToObject(object, "error", self->err.message);
    }
    cJSON_AddNumberToObject(object, "seconds", self->seconds);
    return cli_json_print(object);
}

static bool test(struct selftest *self)
{
    struct glinfer_device_info info = {.struct_size = sizeof(info)};
    const double start = cli_now();
    cli_bar_wait(&self->session.bar, "testing kernels", true);
    const bool is_done = cli_check_interrupt(&self->err) &&
                         glinfer_selftest(self->sessions[0], add_row, self, &self->err);
    cli_bar_clear(&self->session.bar);
    self->is_right = self->is_right && is_done;
    self->seconds += cli_now() - start;
    glinfer_device_describe(self->session.device, &info);
    if (!*self->half_refusal) {
        snprintf(self->half_refusal, sizeof(self->half_refusal), "%s", info.half_refusal);
    }
    return is_done || cli_fail_error(&self->err);
}

// Creates the sessions that answer together. An encoder and a speech model need one.
static bool start(struct selftest *self)
{
    struct glinfer_session_params params;
    struct glinfer_error err;
    const struct glinfer_model_info *info = &self->session.info;
    const bool is_alone = info->is_encoder || info->is_speech;
    const uint32_t n = is_alone ? 1 : (uint32_t)self->settings.n_slots;
    cli_session_fill(&self->session, &params);
    const bool ok = glinfer_sessions_create(self->session.model, &params, n, self->sessions, &err);
    return cli_bar_end(&self->session.bar, ok, &err);
}

static bool test_model(struct selftest *self)
{
    const bool is_done = cli_session_check(&self->session) && cli_session_load(&self->session) &&
                         start(self) && test(self);
    for (uint32_t i = 0; i < MAX_SLOTS; i++) {
        glinfer_session_destroy(&self->sessions[i]);
    }
    return is_done;
}

// Tests a synthetic model, whose file is removed after loading.
static bool test_shape(struct selftest *self, size_t i)
{
    char path[256];
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof(path), "%.200s/glinfer-selftest-XXXXXX", folder ? folder : "/tmp");
    const int fd = mkstemp(path);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "wb");
    const bool is_written = file && cli_synthetic_write(i, file);
    self->settings.session.model = path;
    const bool is_done =
        is_written ? test_model(self) : cli_fail(CLI_EXIT_FAILED, "cannot write %s", path);
    if (file) {
        fclose(file);
        unlink(path);
    }
    cli_session_unload(&self->session);
    self->settings.session.model = NULL;
    return is_done;
}

static bool run_command(void *user)
{
    struct selftest self = {.settings = *(const struct settings *)user, .is_right = true};
    cli_session_init(&self.session, &self.settings.session);
    self.session.allows_speech = true;
    self.is_synthetic = !self.settings.session.model;
    bool is_done = self.is_synthetic || test_model(&self);
    for (size_t i = 0; self.is_synthetic && is_done && cli_synthetic_name(i); i++) {
        is_done = test_shape(&self, i);
    }
    if (is_done || *self.err.message) {
        is_done =
            (self.settings.is_json ? print_json(&self) : print_report(&self)) && is_done &&
            (self.is_right || cli_fail(CLI_EXIT_FAILED, "some kernels are wrong on this device; "
                                                        "glinfer uses others instead"));
    }
    cli_session_finish(&self.session);
    free(self.rows.items);
    return is_done;
}

const struct cli_command cli_selftest_command = {
    .name = "selftest",
    .usage = "[-m MODEL] [flags]",
    .summary = "Checks kernels against the CPU; attach it to a bug report.",
    .text = "Runs each program that answers of the model need, even if it was tested before, and "
            "prints a\nreport; -v lists every program. Without a model, it uses small synthetic "
            "ones: a Llama, a\nQwen 3 and a mixture of experts, with weights of the usual types. "
            "Status 0 if all are right, else 1.\n\n"
            "    glinfer selftest\n"
            "    glinfer selftest -m MODEL -np 4",
    .common = "-m, -hf, -dev, -v, -np, --json",
    CLI_SESSION_COMMAND(flags, defaults, run_command),
};
