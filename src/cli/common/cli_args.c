#include "cli/common/cli_args.h"

#include "cli/common/cli_io.h"
#include "cli/flags/cli_foreign.h"
#include "cli/flags/cli_nearest.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAME  48
#define MAX_NAMES 512

//-- names -----------------------------------------------------------------------------------------

bool cli_next_name(const char **names, char *name, size_t room)
{
    *names += strspn(*names, ", ");
    size_t size = strcspn(*names, ", ");
    if (size == 0 || size >= room) {
        return false;
    }
    memcpy(name, *names, size);
    name[size] = 0;
    *names += size;
    return true;
}

static bool suggest_flag(const struct cli_command *command, const char *word, char best[MAX_NAME])
{
    char names[MAX_NAMES][MAX_NAME];
    const char *words[MAX_NAMES];
    size_t count = 0;
    for (size_t i = 0; i < command->n_flag; i++) {
        const char *rest = command->flags[i].names;
        while (command->flags[i].kind != CLI_KIND_SECTION && count < MAX_NAMES &&
               cli_next_name(&rest, names[count], MAX_NAME)) {
            words[count] = names[count];
            count++;
        }
    }
    const char *nearest = cli_nearest(word, words, count);
    if (nearest) {
        memcpy(best, nearest, strlen(nearest) + 1);
    }
    return nearest != NULL;
}

//-- values ----------------------------------------------------------------------------------------

// Appends two texts to one of used characters, if there is room for both.
static void append(char *text, size_t size, size_t *used, const char *a, const char *b)
{
    const int n = snprintf(text + *used, size - *used, "%s%s", a, b);
    *used += n > 0 && (size_t)n < size - *used ? (size_t)n : 0;
}

static bool parse_int(const char *text, double low, double high, int64_t *field, char *why,
                      size_t size)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || errno || (double)value < low || (double)value > high) {
        // llama.cpp's -2 is taken and means -1.
        snprintf(why, size, "a whole number from %.0f to %.0f", low < -1 ? -1 : low, high);
        return false;
    }
    *field = value;
    return true;
}

static bool parse_float(const char *text, double low, double high, float *field, char *why,
                        size_t size)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value) || value < low || value > high) {
        snprintf(why, size, "a number from %g to %g", low, high);
        return false;
    }
    *field = (float)value;
    return true;
}

static bool parse_number(const struct cli_number *number, const char *text, void *values, char *why,
                         size_t size)
{
    int64_t whole;
    char *field = (char *)values + number->offset;
    if (number->type == CLI_NUMBER_float) {
        return parse_float(text, number->low, number->high, (float *)(void *)field, why, size);
    }
    if (!parse_int(text, number->low, number->high, &whole, why, size)) {
        return false;
    }
    *(int32_t *)(void *)field = (int32_t)whole;
    return true;
}

double cli_number_value(const struct cli_number *number, const void *values)
{
    const void *field = (const char *)values + number->offset;
    return number->type == CLI_NUMBER_float ? (double)*(const float *)field
                                            : *(const int32_t *)field;
}

static bool parse_size(const char *text, uint64_t *field, char *why, size_t size)
{
    static const char suffixes[] = "KMGT";
    char *end;
    double value = strtod(text, &end);
    const char *suffix = *end ? strchr(suffixes, *end >= 'a' ? *end - 'a' + 'A' : *end) : NULL;
    if (suffix) {
        value *= (double)(UINT64_C(1) << 10 * (suffix - suffixes + 1));
        end++;
        end += end[0] == 'i' && end[1] == 'B' ? 2 : end[0] == 'B';
    }
    if (end == text || *end || !(value >= 1) || value > 0x1p62) {
        snprintf(why, size, "bytes such as 500000000, 300M or 1.5G");
        return false;
    }
    *field = (uint64_t)value;
    return true;
}

static bool parse_choice(const struct cli_flag *flag, const char *text, int *field, char *why,
                         size_t size)
{
    size_t used = 0;
    for (int i = 0; flag->choices[i]; i++) {
        if (strcmp(flag->choices[i], text) == 0) {
            *field = i;
            return true;
        }
        const char *between = i == 0 ? "" : flag->choices[i + 1] ? ", " : " or ";
        append(why, size, &used, between, flag->choices[i]);
    }
    return false;
}

bool cli_store_value(const struct cli_flag *flag, void *settings, const char *text, char *why,
                     size_t size)
{
    void *field = (char *)settings + flag->offset;
    struct cli_texts *texts = field;
    switch (flag->kind) {
    case CLI_KIND_SWITCH:
        *(bool *)field = true;
        return true;
    case CLI_KIND_LEVEL:
        *(int *)field += (int)flag->low;
        return true;
    case CLI_KIND_INT:
        return parse_int(text, flag->low, flag->high, field, why, size);
    case CLI_KIND_FLOAT:
        return parse_float(text, flag->low, flag->high, field, why, size);
    case CLI_KIND_NUMBER:
        return parse_number(flag->number, text, field, why, size);
    case CLI_KIND_TEXT:
        *(const char **)field = text;
        return true;
    case CLI_KIND_TEXTS:
        if (texts->count == CLI_MAX_TEXTS) {
            snprintf(why, size, "at most %d of them", CLI_MAX_TEXTS);
            return false;
        }
        texts->items[texts->count++] = text;
        return true;
    case CLI_KIND_SIZE:
        return parse_size(text, field, why, size);
    case CLI_KIND_CHOICE:
        return parse_choice(flag, text, field, why, size);
    case CLI_KIND_CUSTOM:
    case CLI_KIND_FILE:
        return flag->parse(text, field, why, size);
    case CLI_KIND_SECTION:
    case CLI_KIND_IGNORED:
    case CLI_KIND_MISSING:
        break;
    }
    return true;
}

//-- words -----------------------------------------------------------------------------------------

struct parsing {
    const struct cli_command *command;
    char *settings;
    int argc, next;
    const char *const *argv;
    struct cli_report *report;
};

const struct cli_flag *cli_find_row(const struct cli_flag *rows, size_t n, const char *word,
                                    size_t size)
{
    char name[MAX_NAME];
    for (size_t i = 0; i < n; i++) {
        const char *names = rows[i].names;
        while (rows[i].kind != CLI_KIND_SECTION && cli_next_name(&names, name, MAX_NAME)) {
            if (strlen(name) == size && memcmp(name, word, size) == 0) {
                return &rows[i];
            }
        }
    }
    return NULL;
}

static const struct cli_flag *find_flag(const struct cli_command *command, const char *word,
                                        size_t size)
{
    const struct cli_flag *own = cli_find_row(command->flags, command->n_flag, word, size);
    return own ? own : cli_foreign_find(word, size);
}

// Notes a flag that was given; false where there are too many.
static bool note_flag(struct parsing *p, const struct cli_flag *flag, const char *word)
{
    const struct cli_command *command = p->command;
    struct cli_report *report = p->report;
    if (flag >= command->flags && flag < command->flags + command->n_flag) {
        report->given[flag - command->flags] = word;
        return true;
    }
    if (report->n_foreign == CLI_MAX_FOREIGN) {
        snprintf(report->error, sizeof(report->error), "at most %d flags without effect are taken",
                 CLI_MAX_FOREIGN);
        return false;
    }
    report->foreign[report->n_foreign].flag = flag;
    report->foreign[report->n_foreign++].given = word;
    return true;
}

static bool refuse_missing(const struct parsing *p, const char *name, const char *what)
{
    snprintf(p->report->error, sizeof(p->report->error), "%.200s is not available: %s", name, what);
    return false;
}

static bool refuse_word(const struct parsing *p, const char *word)
{
    const struct cli_command *command = p->command;
    char best[MAX_NAME], hint[160];
    const bool is_flag = word[0] == '-' && word[1];
    const size_t size = strlen(word);
    const char *owner = is_flag ? cli_foreign_owner(word) : NULL;
    if (owner) {
        snprintf(hint, sizeof(hint), "`glinfer %s` has it", owner);
        return refuse_missing(p, word, hint);
    }
    if (is_flag && suggest_flag(command, word, best)) {
        snprintf(hint, sizeof(hint), "is it %s?", best);
    } else if (!is_flag && size > 5 && strcmp(word + size - 5, ".gguf") == 0) {
        snprintf(hint, sizeof(hint), "a model is given with -m");
    } else if (!is_flag && command->word) {
        snprintf(hint, sizeof(hint), "%s", command->word);
    } else {
        snprintf(hint, sizeof(hint), "`glinfer %s --help` lists the flags", command->name);
    }
    snprintf(p->report->error, sizeof(p->report->error),
             is_flag ? "unknown flag %.200s; %s" : "\"%.200s\" is not a flag; %s", word, hint);
    return false;
}

// True if the next word is a flag: llama.cpp's flags gain and lose values over time, so that one
// without effect does not take it.
static bool lacks_value(const struct parsing *p, const struct cli_flag *flag)
{
    const char *next = p->next < p->argc ? p->argv[p->next] : NULL;
    return flag->kind == CLI_KIND_IGNORED &&
           (!next || (next[0] == '-' && !(next[1] >= '0' && next[1] <= '9')));
}

static bool take_value(struct parsing *p, const struct cli_flag *flag, const char *name,
                       const char *inline_value)
{
    char why[512] = "something else";
    const char *text = inline_value;
    if (flag->value && !text && !lacks_value(p, flag)) {
        if (p->next == p->argc) {
            snprintf(p->report->error, sizeof(p->report->error), "%s needs a value: %s", name,
                     flag->value);
            return false;
        }
        text = p->argv[p->next++];
    } else if (!flag->value && text) {
        snprintf(p->report->error, sizeof(p->report->error), "%s takes no value", name);
        return false;
    }
    const bool is_read = cli_store_value(flag, p->settings, text, why, sizeof(why));
    p->report->is_file = !is_read && flag->kind == CLI_KIND_FILE;
    if (p->report->is_file) {
        snprintf(p->report->error, sizeof(p->report->error), "%s", why);
    } else if (!is_read) {
        snprintf(p->report->error, sizeof(p->report->error), "%s \"%.200s\": expected %s", name,
                 text, why);
    }
    return is_read;
}

static bool take_free_word(struct parsing *p, const char *word)
{
    struct cli_texts *texts = (struct cli_texts *)(void *)(p->settings + p->command->words);
    if (texts->count == CLI_MAX_TEXTS) {
        snprintf(p->report->error, sizeof(p->report->error), "there are more than %d words",
                 CLI_MAX_TEXTS);
        return false;
    }
    texts->items[texts->count++] = word;
    return true;
}

static bool take_word(struct parsing *p)
{
    const char *word = p->argv[p->next++];
    size_t size = strlen(word);
    const char *equals = strncmp(word, "--", 2) == 0 ? strchr(word, '=') : NULL;
    const struct cli_flag *flag = find_flag(p->command, word, size);
    if (!flag && equals) {
        size = (size_t)(equals - word);
        flag = find_flag(p->command, word, size);
    }
    if (!flag && p->command->takes_words && word[0] != '-') {
        return take_free_word(p, word);
    }
    if (!flag) {
        return refuse_word(p, word);
    }
    char name[MAX_NAME];
    snprintf(name, sizeof(name), "%.*s", (int)size, word);
    if (flag->kind == CLI_KIND_MISSING) {
        return refuse_missing(p, name, flag->help);
    }
    return note_flag(p, flag, word) &&
           take_value(p, flag, name, word[size] ? word + size + 1 : NULL);
}

enum cli_parsed cli_parse(const struct cli_command *command, void *settings, int argc,
                          const char *const *argv, struct cli_report *report)
{
    struct parsing p = {command, settings, argc, 0, argv, report};
    memset(report, 0, sizeof(*report));
    while (p.next < argc) {
        const char *word = argv[p.next];
        if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0 ||
            strcmp(word, "--usage") == 0) {
            return CLI_PARSED_HELP;
        }
        if (!take_word(&p)) {
            return CLI_PARSED_WRONG;
        }
    }
    return CLI_PARSED;
}

//-- help ------------------------------------------------------------------------------------------

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

static void print_flag(FILE *file, const struct cli_flag *flag)
{
    int n = fprintf(file, "  %s%s%s", flag->names, flag->value ? " " : "",
                    flag->value ? flag->value : "");
    size_t at = n > 0 ? (size_t)n : 0;
    if (at + 2 > HELP_COLUMN) {
        fputc('\n', file);
        at = 0;
    }
    print_wrapped(file, at, HELP_COLUMN, flag->help);
}

void cli_print_help(FILE *file, const struct cli_command *command)
{
    fprintf(file, "usage: glinfer %s %s\n\n%s\n", command->name, command->usage, command->summary);
    if (command->text) {
        fputc('\n', file);
        print_text(file, command->text);
    }
    for (size_t i = 0; i < command->n_flag; i++) {
        const struct cli_flag *flag = &command->flags[i];
        if (flag->kind == CLI_KIND_SECTION) {
            fprintf(file, "\n%s:\n", flag->names);
        } else if (flag->kind != CLI_KIND_IGNORED) {
            print_flag(file, flag);
        }
    }
    const char *heading = "\nAccepted as llama.cpp's, without effect:\n";
    for (size_t i = 0; i < command->n_flag; i++) {
        if (command->flags[i].kind == CLI_KIND_IGNORED) {
            fputs(heading, file);
            heading = "";
            print_flag(file, &command->flags[i]);
        }
    }
}

const struct cli_flag *cli_find_flag(const struct cli_command *command, const char *name)
{
    return cli_find_row(command->flags, command->n_flag, name, strlen(name));
}

bool cli_is_given(const struct cli_command *command, const struct cli_report *report,
                  const char *name)
{
    const struct cli_flag *flag = cli_find_flag(command, name);
    return flag && report->given[flag - command->flags];
}

static void print_note(FILE *file, const struct cli_flag *flag, const char *given)
{
    fprintf(file, "glinfer: note: %.*s has no effect: %s\n", (int)strcspn(given, "="), given,
            flag->help);
}

void cli_print_notes(FILE *file, const struct cli_command *command, const struct cli_report *report)
{
    for (size_t i = 0; i < command->n_flag; i++) {
        if (report->given[i] && command->flags[i].kind == CLI_KIND_IGNORED) {
            print_note(file, &command->flags[i], report->given[i]);
        }
    }
    for (size_t i = 0; i < report->n_foreign; i++) {
        print_note(file, report->foreign[i].flag, report->foreign[i].given);
    }
}
