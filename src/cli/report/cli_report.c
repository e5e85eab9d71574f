// `glinfer report`: one text file that tells how glinfer does on this machine, for a bug report or
// as the first measurement of a device. Nothing in it is personal.
#include "cli/cli_commands.h"
#include "cli/common/cli_session.h"
#include "cli/report/report_private.h"
#include "cli/report/report_section.h"
#include "cli/report/report_system.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef CLI_BUILD // " (1234567)": the commit of the build, if there is one
#define CLI_BUILD ""
#endif

// One dispatch for several steps, the last way.
#define WHOLE         ((enum glinfer_dispatch)(GLINFER_DISPATCH_WAYS - 1))
#define DEFAULT_MODEL "smollm2-135m"
#define DEFAULT_FILE  "glinfer-report.txt"

struct settings {
    struct cli_session_flags session;
    const char *path; // of the report
    int64_t n_prompt, n_gen, depth, n_repeat, max_seconds;
};

static struct settings defaults = {.path = DEFAULT_FILE,
                                   .n_prompt = 128,
                                   .n_gen = 64,
                                   .depth = 512,
                                   .n_repeat = 3,
                                   .max_seconds = 900};

#define CLI_SETTINGS settings
static const struct cli_flag flags[] = {
    CLI_HEADING("Model and device"),
    CLI_TEXT(
        session.model, "-m, --model", "FILE",
        "a GGUF file, a folder of SafeTensors, or the name of a model; without it " DEFAULT_MODEL
        ", which is fetched unless it is here"),
    CLI_HUB_FLAGS,
    CLI_DEVICE_FLAGS,
    CLI_HEADING("What is measured"),
    CLI_INT(n_prompt, 1, 1 << 20, "-p, --n-prompt", "N", "a prompt of N tokens, default %v"),
    CLI_INT(n_gen, 1, 1 << 20, "-n, --n-gen", "N", "generate N tokens, default %v"),
    CLI_INT(depth, 0, 1 << 20, "-d, --n-depth", "N",
            "tokens already in the cache, default %v; 0 is measured too"),
    CLI_INT(n_repeat, 1, 1000, "-r, --repetitions", "N", "runs of each test, default %v"),
    CLI_INT(max_seconds, 1, 86400, "--max-seconds", "S",
            "end a section after S seconds, default %v"),
    CLI_HEADING("Output"),
    CLI_TEXT(path, "-o, --output", "FILE", "the report, default " DEFAULT_FILE),
};

struct report {
    const struct settings *settings;
    FILE *file;
    struct cli_bar bar;
    const char *model; // path, NULL: none
    char whole[40];    // name of the section about one dispatch for several steps
    char prompt[24], gen[24], depth[24], depths[32], repeat[24];
};

// Writes a text, which is lost neither with this process nor with a machine that stops.
static bool write_text(struct report *report, const char *text)
{
    fputs(text, report->file);
    fflush(report->file);
    fsync(fileno(report->file)); // fails for a pipe
    return !ferror(report->file);
}

static bool write_heading(struct report *report, const char *name)
{
    char line[128];
    snprintf(line, sizeof(line), "\n== %s ==\n", name);
    return write_text(report, line);
}

// Begins a line for each kernel of a profile in JSON.
static void break_lines(struct cli_bytes *text)
{
    static const char mark[] = ",{\"kernel\"";
    struct cli_bytes result = {0};
    const char *at = text->data;
    for (const char *found = strstr(at, mark); found; found = strstr(at, mark)) {
        cli_bytes_append(&result, at, (size_t)(found + 1 - at));
        cli_bytes_add(&result, "\n");
        at = found + 1;
    }
    cli_bytes_add(&result, at);
    cli_bytes_finish(text);
    *text = result;
}

static bool write_section(struct report *report, const struct report_section *section)
{
    struct cli_bytes text = {0};
    struct report_readings readings = {0};
    if (!write_heading(report, section->name)) {
        return false;
    }
    cli_bar_wait(&report->bar, section->name, true);
    const bool is_whole =
        report_run(section, (double)report->settings->max_seconds, &readings, &text);
    cli_bar_clear(&report->bar);
    cli_bytes_add(&text, text.size > 0 ? "" : "no output\n");
    report_make_private(&text, report->model, getenv("HOME"));
    break_lines(&text);
    if (readings.count > 0) {
        cli_bytes_add(&text, "-- clocks and temperatures meanwhile\n");
        report_print_readings(&readings, &text);
    }
    const bool is_written = write_text(report, text.data);
    cli_bytes_finish(&text);
    report_readings_finish(&readings);
    return is_written && (is_whole || cli_end(CLI_EXIT_INTERRUPTED));
}

static bool write_system(struct report *report)
{
    struct cli_bytes text = {0};
    struct report_readings readings = {0};
    report_system(&text);
    report_sample("/sys", &readings);
    cli_bytes_add(&text, readings.count > 0 ? "-- clocks and temperatures before\n"
                                            : "no clocks or temperatures in sysfs\n");
    report_print_readings(&readings, &text);
    const bool is_written = write_heading(report, "system") && write_text(report, text.data);
    cli_bytes_finish(&text);
    report_readings_finish(&readings);
    return is_written;
}

// Adds -m and -dev to the words of a section and runs it.
static bool write_command(struct report *report, struct report_section section)
{
    const char *device = report->settings->session.device.device;
    size_t n = 0;
    while (section.words[n]) {
        n++;
    }
    if (report->model && strcmp(section.name, "devices") != 0) {
        section.words[n++] = "-m";
        section.words[n++] = report->model;
    }
    if (device && strcmp(section.name, "model") != 0) {
        section.words[n++] = "-dev";
        section.words[n++] = device;
    }
    return write_section(report, &section);
}

static bool write_commands(struct report *report)
{
    // Without -q the section about one dispatch has the reason if the device does not use it.
    // clang-format off
    const struct report_section sections[] = {
        {"devices", NULL, {"info", "-q"}},
        {"self-test", NULL, {"selftest", "-v", "-q"}},
        {"model", NULL, {"info", "-q"}},
        {"bench multi", "multi",
         {"bench", "-q", "-p", report->prompt, "-n", report->gen, "-d", report->depths, "-r", report->repeat,
          "-o", "jsonl", "-oe", "md"}},
        {report->whole, glinfer_dispatch_name(WHOLE),
         {"bench", "-p", "0", "-n", report->gen, "-d", report->depths, "-r", report->repeat,
          "-o", "jsonl", "-oe", "md"}},
        {"profile of steps", NULL, {"profile", "-q", "-d", report->depth, "--json"}},
        {"profile of a prompt", NULL, {"profile", "-q", "-n", "0", "-p", report->prompt, "--json"}},
    };
    // clang-format on
    const size_t n = report->model ? sizeof(sections) / sizeof(sections[0]) : 2;
    for (size_t i = 0; i < n; i++) {
        if (!write_command(report, sections[i])) {
            return false;
        }
    }
    return write_heading(report, "end");
}

// Finds the model; fetches the default one. Without -m the report goes on if there is no model.
static bool find_model(struct report *report)
{
    const struct cli_session_flags *asked = &report->settings->session;
    const struct report_section pull = {
        "fetching " DEFAULT_MODEL, NULL, {"pull", "-q", DEFAULT_MODEL}};
    if (!asked->model && !asked->hub.is_offline) {
        struct cli_bytes text = {0};
        struct report_readings readings = {0};
        cli_bar_wait(&report->bar, pull.name, false);
        const bool is_whole =
            report_run(&pull, (double)report->settings->max_seconds, &readings, &text);
        cli_bar_clear(&report->bar);
        cli_bytes_finish(&text);
        report_readings_finish(&readings);
        if (!is_whole) {
            return cli_end(CLI_EXIT_INTERRUPTED);
        }
    }
    report->model = models_path(asked->model ? asked->model : DEFAULT_MODEL, &asked->hub);
    return report->model || !asked->model;
}

static bool run_command(void *user)
{
    const struct settings *settings = user;
    struct report report = {.settings = settings};
    if (settings->session.device.is_list) {
        return cli_device_list(&settings->session.device);
    }
    cli_bar_init(&report.bar);
    if (!find_model(&report) || !cli_create(settings->path, &report.file)) {
        return false;
    }
    snprintf(report.whole, sizeof(report.whole), "bench %s", glinfer_dispatch_name(WHOLE));
    snprintf(report.prompt, sizeof(report.prompt), "%lld", (long long)settings->n_prompt);
    snprintf(report.gen, sizeof(report.gen), "%lld", (long long)settings->n_gen);
    snprintf(report.depth, sizeof(report.depth), "%lld", (long long)settings->depth);
    snprintf(report.depths, sizeof(report.depths), settings->depth ? "0,%s" : "%s", report.depth);
    snprintf(report.repeat, sizeof(report.repeat), "%lld", (long long)settings->n_repeat);
    write_text(&report, "glinfer report 1\nglinfer ");
    write_text(&report, glinfer_version());
    write_text(&report, CLI_BUILD "\n");
    if (!report.model) {
        write_text(&report, "no model: " DEFAULT_MODEL " is not here and could not be fetched\n");
    }
    const bool is_done = write_system(&report) && write_commands(&report);
    if (ferror(report.file)) {
        cli_check_written(report.file, settings->path);
        fclose(report.file);
        return false;
    }
    fclose(report.file);
    if (is_done) {
        cli_tell("%s is written: please read it and attach it to an issue", settings->path);
    }
    return is_done;
}

const struct cli_command cli_report_command = {
    .name = "report",
    .usage = "[-m MODEL] [-o FILE] [flags]",
    .summary = "Writes a report on this machine to attach to an issue.",
    .word = "a model is given with -m, the file of the report with -o",
    .text = "The file has the system, the devices, the self-test, tokens a second with both\n"
            "executors, the time of each kernel, and clocks and temperatures where the kernel\n"
            "tells them. It has no host name, user name, path or\n"
            "serial number. On a board it takes minutes.",
    CLI_SESSION_COMMAND(flags, defaults, run_command),
};
