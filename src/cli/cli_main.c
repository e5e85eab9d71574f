// The command `glinfer`: picks the subcommand and reads its flags.
#include "cli/cli_commands.h"
#include "cli/common/cli_complete.h"
#include "cli/common/cli_device.h"
#include "cli/common/cli_environment.h"
#include "cli/common/cli_io.h"
#include "cli/common/cli_memory.h"
#include "cli/flags/cli_nearest.h"
#include "cli/models/models_pull.h"
#include "cli/sampling/cli_sampling.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#ifndef CLI_BUILD // " (1234567)": the commit of the build, if there is one
#define CLI_BUILD ""
#endif

static void print_overview(FILE *file)
{
    fprintf(file, "usage: glinfer COMMAND [flags]\n\n"
                  "Runs GGUF language models and Whisper speech models on any Linux GPU with\n"
                  "OpenGL ES 3.1.\n\n"
                  "Start here:\n"
                  "    glinfer pull smollm2-135m      fetches a small model (94 MiB)\n"
                  "    glinfer chat -m smollm2-135m   talks with it\n");
    for (size_t i = 0; cli_commands[i]; i++) {
        fputs(i == 0              ? "\nCommon commands:\n"
              : i == CLI_N_COMMON ? "\nOther commands:\n"
                                  : "",
              file);
        fprintf(file, "    %-10s %s\n", cli_commands[i]->name, cli_commands[i]->summary);
    }
    fprintf(file,
            "    %-10s Prints the version.\n\n"
            "`glinfer COMMAND --help` explains a command and its common flags, `--help all` every\n"
            "flag; `glinfer --help all` lists the environment variables too.\n",
            "version");
}

static bool refuse_command(const char *word)
{
    enum { MAX_COMMANDS = 32 };
    const char *names[MAX_COMMANDS];
    size_t n = 0;
    for (; cli_commands[n] && n < MAX_COMMANDS; n++) {
        names[n] = cli_commands[n]->name;
    }
    if (word[0] == '-' && word[1]) {
        return cli_fail(CLI_EXIT_USAGE,
                        "%.100s needs a command before it, such as glinfer run %.100s ...", word,
                        word);
    }
    const char *nearest = cli_nearest(word, names, n);
    if (nearest) {
        return cli_fail(CLI_EXIT_USAGE, "unknown command \"%.100s\"; is it %s?", word, nearest);
    }
    return cli_fail(CLI_EXIT_USAGE, "unknown command \"%.100s\"; `glinfer --help` lists them",
                    word);
}

// Prints the help of one command, or the list of commands if word is NULL.
static bool show_help(const char *word, bool is_all)
{
    const struct cli_command *command = word ? cli_find_command(word) : NULL;
    if (word && !command) {
        return refuse_command(word);
    }
    if (command) {
        cli_print_help(stdout, command, is_all);
    } else {
        print_overview(stdout);
        printf(is_all ? "\n%s" : "", cli_environment);
    }
    return cli_close_help();
}

// Turns the shader cache of Mesa's drivers off if its disk is full.
static void spare_full_disk(void)
{
    struct glinfer_error err;
    if (!glinfer_driver_cache_check(&err)) {
        cli_warn("%s; continuing without that cache", err.message);
        setenv("MESA_SHADER_CACHE_DISABLE", "true", 1);
    }
}

// Reads the words after the command's name and runs it.
static bool run_command(const struct cli_command *command, int argc, const char *const *argv)
{
    struct cli_report report;
    void *defaults = cli_alloc(1, command->settings_size);
    memcpy(defaults, command->settings, command->settings_size);
    const enum cli_parsed parsed = cli_parse(command, command->settings, argc, argv, &report);
    const bool is_help = parsed == CLI_PARSED_HELP || parsed == CLI_PARSED_HELP_ALL;
    if (is_help) { // the help names the defaults, not the flags before it
        memcpy(command->settings, defaults, command->settings_size);
    }
    free(defaults);
    if (is_help) {
        return show_help(command->name, parsed == CLI_PARSED_HELP_ALL);
    }
    if (parsed == CLI_PARSED_WRONG) {
        return cli_fail(report.is_file ? CLI_EXIT_FAILED : CLI_EXIT_USAGE, "%s", report.error);
    }
    if (command->device && command->device->is_quiet) {
        cli_be_quiet();
    } else {
        cli_check_environment();
        cli_print_notes(stderr, command, &report);
    }
    if (command->device) {
        spare_full_disk();
    }
    const bool has_own_list =
        command == &cli_info_command && cli_is_given(command, &report, "--json");
    if (command->device && command->device->is_list && !has_own_list) {
        return cli_device_list(command->device);
    }
    cli_sampling_note(command, &report);
    if (command->report) {
        *command->report = &report;
    }
    return models_take_flags(command, &report) && command->run(command->settings);
}

static bool is_any(const char *word, const char *a, const char *b, const char *c)
{
    return strcmp(word, a) == 0 || strcmp(word, b) == 0 || strcmp(word, c) == 0;
}

// Ends the process without its exit handlers: everything is closed and written. NVIDIA's driver
// (580) takes another quarter of a second to release its compiler. Sanitizers look for leaks in a
// handler.
static int leave(int status)
{
#ifdef HAS_SANITIZERS
    return status;
#else
    fflush(NULL);
    _exit(status);
#endif
}

// Limits malloc to one arena if address space is limited: each arena takes 64 MiB of it.
static void spare_addresses(void)
{
#ifdef M_ARENA_MAX
    struct rlimit as;
    if (getrlimit(RLIMIT_AS, &as) == 0 && as.rlim_cur != RLIM_INFINITY) {
        mallopt(M_ARENA_MAX, 1);
    }
#endif
}

int main(int argc, char **argv)
{
    const char *const *words = (const char *const *)argv;
    cli_catch_signals();
    spare_addresses();
    if (argc < 2) {
        print_overview(stderr);
        return CLI_EXIT_USAGE;
    }
    const struct cli_command *command = cli_find_command(words[1]);
    if (command) {
        return leave(cli_exit_status(run_command(command, argc - 2, words + 2)));
    }
    bool is_done = false;
    if (is_any(words[1], "-h", "--help", "help")) {
        const bool is_all = strcmp(words[argc - 1], "all") == 0;
        is_done = show_help(argc > 2 + is_all ? words[2] : NULL, is_all);
    } else if (is_any(words[1], "--version", "-V", "version")) {
        printf("glinfer %s%s\n", glinfer_version(), CLI_BUILD);
        is_done = cli_close_output();
    } else if (strcmp(words[1], "--complete") == 0) {
        cli_complete(argc - 2, words + 2);
        is_done = cli_close_help();
    } else {
        is_done = refuse_command(words[1]);
    }
    return cli_exit_status(is_done);
}
