// The command `glinfer`: picks the subcommand.
#include "cli/bench/cli_bench.h"
#include "cli/chat/cli_chat.h"
#include "cli/common/cli_delegate.h"
#include "cli/common/cli_environment.h"
#include "cli/common/cli_io.h"
#include "cli/profile/cli_profile.h"
#include "cli/run/cli_run.h"
#include "cli/tools/cli_info.h"
#include "cli/tools/cli_perplexity.h"
#include "cli/tools/cli_tokenize.h"
#include "cli/tools/cli_tune.h"

#include <unistd.h>

struct entry {
    const struct cli_command *command;
    int (*run)(int argc, const char *const *argv);
};

static const struct entry entries[] = {
    {&cli_run_command,        cli_run       },
    {&cli_chat_command,       cli_chat      },
    {&cli_bench_command,      cli_bench     },
    {&cli_info_command,       cli_info      },
    {&cli_perplexity_command, cli_perplexity},
    {&cli_profile_command,    cli_profile   },
    {&cli_tokenize_command,   cli_tokenize  },
    {&cli_tune_command,       cli_tune      },
};
#define N_ENTRY (sizeof(entries) / sizeof(entries[0]))

static void print_overview(FILE *file)
{
    fprintf(file, "usage: glinfer COMMAND [flags]\n\n"
                  "Runs GGUF language models on any Linux GPU with OpenGL ES 3.1.\n\n");
    for (size_t i = 0; i < N_ENTRY; i++) {
        fprintf(file, "    %-10s %s\n", entries[i].command->name, entries[i].command->summary);
    }
    fprintf(file,
            "    %-10s Prints the version.\n\n"
            "`glinfer COMMAND --help` explains a command and its flags.\n",
            "version");
}

static void print_help(void)
{
    print_overview(stdout);
    putchar('\n');
    for (size_t i = 0; i < N_ENTRY; i++) {
        printf("flags of %s:\n", entries[i].command->name);
        cli_print_flags(stdout, entries[i].command);
    }
    printf("\n%s", cli_environment);
}

static const struct entry *find_entry(const char *name)
{
    for (size_t i = 0; i < N_ENTRY; i++) {
        if (strcmp(entries[i].command->name, name) == 0) {
            return &entries[i];
        }
    }
    return NULL;
}

static int refuse_command(const char *word)
{
    const char *names[N_ENTRY];
    for (size_t i = 0; i < N_ENTRY; i++) {
        names[i] = entries[i].command->name;
    }
    if (word[0] == '-' && word[1]) {
        return cli_fail(CLI_EXIT_USAGE,
                        "%.100s stands before a command; is it glinfer run %.100s ...?", word,
                        word);
    }
    const char *nearest = cli_nearest(word, names, N_ENTRY);
    if (nearest) {
        return cli_fail(CLI_EXIT_USAGE, "unknown command \"%.100s\"; is it %s?", word, nearest);
    }
    return cli_fail(CLI_EXIT_USAGE, "unknown command \"%.100s\"; `glinfer --help` lists them",
                    word);
}

// Of one command, or of all without a word.
static int show_help(const char *word)
{
    const struct entry *entry = word ? find_entry(word) : NULL;
    if (word && !entry) {
        return refuse_command(word);
    }
    if (entry) {
        cli_print_help(stdout, entry->command);
    } else {
        print_help();
    }
    return cli_close_help();
}

static bool is_any(const char *word, const char *a, const char *b, const char *c)
{
    return strcmp(word, a) == 0 || strcmp(word, b) == 0 || strcmp(word, c) == 0;
}

// All is closed by now, and what was to be written is. Where programs were compiled NVIDIA's driver (580) takes
// another quarter of a second to put its compiler away; sanitizers look for leaks then.
static int leave(int status)
{
#ifdef HAS_SANITIZERS
    return status;
#else
    fflush(NULL);
    _exit(status);
#endif
}

int main(int argc, char **argv)
{
    cli_catch_signals();
    if (argc < 2) {
        print_overview(stderr);
        return CLI_EXIT_USAGE;
    }
    const struct entry *entry = find_entry(argv[1]);
    if (entry) {
        cli_check_environment();
        return leave(entry->run(argc - 2, (const char *const *)argv + 2));
    }
    if (is_any(argv[1], "-h", "--help", "help")) {
        return show_help(argc > 2 ? argv[2] : NULL);
    }
    if (is_any(argv[1], "--version", "-V", "version")) {
        printf("glinfer %s\n", glinfer_version());
        return cli_close_output(CLI_EXIT_DONE);
    }
    if (strcmp(argv[1], CLI_COMPILE_JOB) == 0) {
        return cli_compile_job(argc - 2, (const char *const *)argv + 2);
    }
    return refuse_command(argv[1]);
}
