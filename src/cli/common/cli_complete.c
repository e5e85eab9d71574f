#include "cli/common/cli_complete.h"

#include "cli/cli_commands.h"
#include "cli/models/models_cache.h"
#include "glinfer.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

// Prints a word that begins like the one to complete, and the first line of its description.
static void offer(const char *beginning, const char *word, const char *text)
{
    if (strncmp(word, beginning, strlen(beginning)) == 0) {
        printf("%s\t%.*s\n", word, (int)strcspn(text, "\t\n"), text);
    }
}

static void offer_commands(const char *beginning)
{
    for (size_t i = 0; cli_commands[i]; i++) {
        offer(beginning, cli_commands[i]->name, cli_commands[i]->summary);
    }
    offer(beginning, "help", "Explains a command and its flags.");
    offer(beginning, "version", "Prints the version.");
}

static void offer_flags(const struct cli_command *command, const char *beginning)
{
    char name[64], help[CLI_HELP_SIZE];
    for (size_t i = 0; i < command->n_flag; i++) {
        const struct cli_flag *flag = &command->flags[i];
        const char *names = flag->names;
        while (flag->kind != CLI_KIND_SECTION && flag->kind != CLI_KIND_IGNORED &&
               cli_next_name(&names, name, sizeof(name))) {
            offer(beginning, name, cli_flag_help(command, flag, help));
        }
    }
    offer(beginning, "--help", "explain the command and its flags");
}

static void offer_models(const char *beginning)
{
    char name[1100];
    struct models_list list;
    if (!models_cache_list(&list)) {
        return;
    }
    for (size_t i = 0; i < list.count; i++) {
        models_entry_name(&list.items[i], name, sizeof(name));
        offer(beginning, name, "a model on this machine");
    }
    models_list_finish(&list);
}

// Offers names of devices without opening any, which takes seconds.
static void offer_devices(const char *beginning)
{
    char name[300];
    DIR *folder = opendir("/dev/dri");
    offer(beginning, "auto", "the best device");
    offer(beginning, "egl:0", "the first device of EGL");
    offer(beginning, "surfaceless", "Mesa without a display");
    for (struct dirent *item; folder && (item = readdir(folder)) != NULL;) {
        if (strncmp(item->d_name, "renderD", 7) == 0) {
            snprintf(name, sizeof(name), "gbm:/dev/dri/%s", item->d_name);
            offer(beginning, name, "a GPU");
        }
    }
    if (folder) {
        closedir(folder);
    }
}

// Offers the next name of a list of samplers.
static void offer_samplers(const char *beginning)
{
#define NAME(kind, name, letter) name,
    static const char *const names[] = {GLINFER_SAMPLER_ORDER(NAME) "adaptive_p"};
#undef NAME
    char word[300];
    const char *last = strrchr(beginning, ';');
    const int size = last ? (int)(last + 1 - beginning) : 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && size < 200; i++) {
        snprintf(word, sizeof(word), "%.*s%s", size, beginning, names[i]);
        offer(beginning, word, "a sampler");
    }
}

static void offer_values(const struct cli_command *command, const struct cli_flag *flag,
                         const char *beginning)
{
    const char *name;
    char help[CLI_HELP_SIZE];
    for (size_t i = 0; flag->kind == CLI_KIND_CHOICE && flag->choices[i]; i++) {
        offer(beginning, flag->choices[i], cli_flag_help(command, flag, help));
    }
    const bool is_model = flag == cli_find_flag(command, "-m");
    if (is_model || flag == cli_find_flag(command, "--remove")) {
        offer_models(beginning);
    }
    if (flag == cli_find_flag(command, "--device")) {
        offer_devices(beginning);
    } else if (flag == cli_find_flag(command, "--chat-template")) {
        for (size_t i = 0; (name = glinfer_chat_template_at(i)) != NULL; i++) {
            offer(beginning, name, "a chat template");
        }
    } else if (flag == cli_find_flag(command, "--samplers")) {
        offer_samplers(beginning);
    }
    if (is_model) {
        puts(":file\t.gguf");
    } else if (strstr(flag->value, "FILE") || strstr(flag->value, "PATH") ||
               strstr(flag->value, "DIR")) {
        puts(":file");
    }
}

void cli_complete(int argc, const char *const *argv)
{
    const char *last = argc > 0 ? argv[argc - 1] : "";
    const struct models_known *known;
    if (argc < 2 || (strcmp(argv[0], "help") == 0 && argc == 2)) {
        offer_commands(last);
        return;
    }
    const struct cli_command *command = cli_find_command(argv[0]);
    const struct cli_flag *flag =
        command && argc > 2 ? cli_find_flag(command, argv[argc - 2]) : NULL;
    if (flag && flag->value) {
        offer_values(command, flag, last);
    } else if (command && last[0] == '-') {
        offer_flags(command, last);
    } else if (command && command->takes_words) {
        for (size_t i = 0; (known = models_known_at(i)) != NULL; i++) {
            offer(last, known->name, known->text);
        }
    }
}
