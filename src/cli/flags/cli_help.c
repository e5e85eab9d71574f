// The help of commands, printed from their tables of flags.
#include "cli/common/cli_args.h"
#include "cli/common/cli_io.h"

#include <string.h>

#define HELP_COLUMN 34
#define HELP_WIDTH  100
#define HELP_LEAST  68

// Returns the columns of help: of the terminal, within reason.
static size_t help_width(FILE *file)
{
    const size_t n = cli_columns(file);
    return n == 0 || n > HELP_WIDTH ? HELP_WIDTH : n < HELP_LEAST ? HELP_LEAST : n;
}

// Prints words from column `at`, wrapped so that each line starts at `column`.
static void print_wrapped(FILE *file, size_t at, size_t column, const char *text)
{
    const size_t width = help_width(file);
    bool is_first = true;
    while (*text) {
        size_t size = strcspn(text, " ");
        if (at > column && at + 1 + size > width) {
            fputc('\n', file);
            at = 0;
            is_first = true;
        }
        if (at < column) {
            fprintf(file, "%*s", (int)(column - at), "");
            at = column;
        }
        at += (size_t)fprintf(file, "%s%.*s", is_first ? "" : " ", (int)size, text);
        is_first = false;
        text += size + (text[size] == ' ');
    }
    fputc('\n', file);
}

// Prints the words of a line from column `at`, wrapped; returns the column after them.
static size_t print_words(FILE *file, size_t at, const char *line, size_t size)
{
    const size_t width = help_width(file);
    for (size_t i = 0, n; i < size; i += n + 1) {
        n = strcspn(line + i, " \n");
        const bool is_full = at > 0 && at + 1 + n > width;
        fprintf(file, "%s%.*s", is_full ? "\n" : at > 0 ? " " : "", (int)n, line + i);
        at = is_full ? n : at + (at > 0) + n;
    }
    return at;
}

// Prints a text: lines that are empty or begin with a space as they are, others as paragraphs.
static void print_text(FILE *file, const char *text)
{
    size_t at = 0;
    for (const char *line = text; *line;) {
        const size_t size = strcspn(line, "\n");
        if (size == 0 || line[0] == ' ') {
            fprintf(file, "%s%.*s\n", at > 0 ? "\n" : "", (int)size, line);
            at = 0;
        } else {
            at = print_words(file, at, line, size);
        }
        line += size + (line[size] == '\n');
    }
    fputs(at > 0 ? "\n" : "", file);
}

static void print_flag(FILE *file, const struct cli_command *command, const struct cli_flag *flag)
{
    char text[CLI_HELP_SIZE];
    const char *help = cli_flag_help(command, flag, text);
    if (strlen(flag->names) > HELP_LEAST - 4) {
        print_wrapped(file, 0, 2, flag->names);
        print_wrapped(file, 0, HELP_COLUMN, help);
        return;
    }
    int n = fprintf(file, "  %s%s%s", flag->names, flag->value ? " " : "",
                    flag->value ? flag->value : "");
    size_t at = n > 0 ? (size_t)n : 0;
    if (at + 2 > HELP_COLUMN) {
        fputc('\n', file);
        at = 0;
    }
    print_wrapped(file, at, HELP_COLUMN, help);
}

// Returns true if the command's list of common flags has a flag.
static bool is_common(const struct cli_command *command, const struct cli_flag *flag)
{
    char name[CLI_MAX_NAME];
    const char *names = command->common;
    while (names && cli_next_name(&names, name, sizeof(name))) {
        if (cli_find_flag(command, name) == flag) {
            return true;
        }
    }
    return !command->common;
}

// Prints the flags without effect: the command's, and those that every command accepts.
static void print_ignored(FILE *file, const struct cli_command *command)
{
    fputs("\nAccepted as llama.cpp's, without effect:\n", file);
    for (size_t i = 0; i < command->n_flag; i++) {
        if (command->flags[i].kind == CLI_KIND_IGNORED) {
            print_flag(file, command, &command->flags[i]);
        }
    }
    for (const struct cli_flag *flag = cli_foreign_flags; flag->names[0]; flag++) {
        if (flag->kind == CLI_KIND_IGNORED) {
            print_flag(file, command, flag);
        }
    }
}

void cli_print_help(FILE *file, const struct cli_command *command, bool is_all)
{
    fprintf(file, "usage: glinfer %s %s\n\n%s\n", command->name, command->usage, command->summary);
    if (command->text) {
        fputc('\n', file);
        print_text(file, command->text);
    }
    const bool has_headings = is_all || !command->common;
    fputs(has_headings ? "" : "\nCommon flags:\n", file);
    for (size_t i = 0; i < command->n_flag; i++) {
        const struct cli_flag *flag = &command->flags[i];
        if (flag->kind == CLI_KIND_SECTION && has_headings) {
            fprintf(file, "\n%s:\n", flag->names);
        } else if (flag->kind != CLI_KIND_SECTION && flag->kind != CLI_KIND_IGNORED &&
                   (is_all || is_common(command, flag))) {
            print_flag(file, command, flag);
        }
    }
    if (is_all) {
        print_ignored(file, command);
    } else {
        fprintf(file, "\n`glinfer %s --help all` explains every flag.\n", command->name);
    }
}
