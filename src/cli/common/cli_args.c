#include "cli/common/cli_args.h"

#include "cli/cli_commands.h"
#include "cli/common/cli_memory.h"
#include "cli/flags/cli_nearest.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

static bool suggest_flag(const struct cli_command *command, const char *word,
                         char best[CLI_MAX_NAME])
{
    char names[MAX_NAMES][CLI_MAX_NAME];
    const char *words[MAX_NAMES];
    size_t count = 0;
    for (size_t i = 0; i < command->n_flag; i++) {
        const char *rest = command->flags[i].names;
        while (command->flags[i].kind != CLI_KIND_SECTION && count < MAX_NAMES &&
               cli_next_name(&rest, names[count], CLI_MAX_NAME)) {
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

// Appends two texts to one of *used characters if both fit.
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
    if (number->type == CLI_NUMBER_FLOAT) {
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
    return number->type == CLI_NUMBER_FLOAT ? (double)*(const float *)field
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
        if (strcasecmp(flag->choices[i], text) == 0) {
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
        *CLI_APPEND(texts) = text;
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

static void write_size(uint64_t bytes, char *text, size_t size)
{
    static const char suffixes[] = " KMGT";
    size_t i = 0;
    while (i < sizeof(suffixes) - 2 && bytes > 0 && bytes % 1024 == 0) {
        bytes /= 1024;
        i++;
    }
    snprintf(text, size, "%" PRIu64 "%.*s", bytes, i > 0, &suffixes[i]);
}

bool cli_value_text(const struct cli_flag *flag, const void *settings, char *text, size_t size)
{
    const void *field = (const char *)settings + flag->offset;
    const char *word = NULL;
    switch (flag->kind) {
    case CLI_KIND_INT:
        snprintf(text, size, "%" PRId64, *(const int64_t *)field);
        return true;
    case CLI_KIND_FLOAT:
        snprintf(text, size, "%g", (double)*(const float *)field);
        return true;
    case CLI_KIND_NUMBER:
        snprintf(text, size, "%g", cli_number_value(flag->number, field));
        return true;
    case CLI_KIND_SIZE:
        write_size(*(const uint64_t *)field, text, size);
        return true;
    case CLI_KIND_CHOICE:
        word = flag->choices[*(const int *)field];
        break;
    case CLI_KIND_TEXT:
        word = *(const char *const *)field;
        break;
    default:
        break;
    }
    snprintf(text, size, "%s", word ? word : "");
    return word != NULL;
}

const char *cli_flag_help(const struct cli_command *command, const struct cli_flag *flag,
                          char *text)
{
    char value[64];
    const char *mark = flag->help ? strstr(flag->help, "%v") : NULL;
    if (!mark || !cli_value_text(flag, command->settings, value, sizeof(value))) {
        return flag->help;
    }
    snprintf(text, CLI_HELP_SIZE, "%.*s%s%s", (int)(mark - flag->help), flag->help, value,
             mark + 2);
    return text;
}

//-- words -----------------------------------------------------------------------------------------

struct parsing {
    const struct cli_command *command;
    char *settings;
    int argc, next;
    const char *const *argv;
    struct cli_report *report;
};

__attribute__((format(printf, 2, 3))) static bool refuse(const struct parsing *p,
                                                         const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(p->report->error, sizeof(p->report->error), format, args);
    va_end(args);
    return false;
}

const struct cli_flag *cli_find_row(const struct cli_flag *rows, size_t n, const char *word,
                                    size_t size)
{
    char name[CLI_MAX_NAME];
    for (size_t i = 0; i < n && rows[i].names[0]; i++) {
        const char *names = rows[i].names;
        while (rows[i].kind != CLI_KIND_SECTION && cli_next_name(&names, name, CLI_MAX_NAME)) {
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
    return own ? own : cli_find_row(cli_foreign_flags, SIZE_MAX, word, size);
}

// Notes a flag that was given; false if there are too many.
static bool note_flag(struct parsing *p, const struct cli_flag *flag, const char *word)
{
    const struct cli_command *command = p->command;
    struct cli_report *report = p->report;
    if (flag >= command->flags && flag < command->flags + command->n_flag) {
        report->given[flag - command->flags] = word;
        return true;
    }
    if (report->n_foreign == CLI_MAX_FOREIGN) {
        return refuse(p, "more flags without effect than %d", CLI_MAX_FOREIGN);
    }
    report->foreign[report->n_foreign].flag = flag;
    report->foreign[report->n_foreign++].given = word;
    return true;
}

static bool refuse_word(const struct parsing *p, const char *word)
{
    const struct cli_command *command = p->command;
    char best[CLI_MAX_NAME], hint[160];
    const bool is_flag = word[0] == '-' && word[1];
    const size_t size = strlen(word);
    const bool is_file = size > 5 && strcmp(word + size - 5, ".gguf") == 0;
    for (size_t i = 0; is_flag && cli_commands[i]; i++) {
        if (cli_find_flag(cli_commands[i], word)) {
            return refuse(
                p, "%.200s is not available: it is a flag of `glinfer %s`, not of `glinfer %s`",
                word, cli_commands[i]->name, command->name);
        }
    }
    if (is_flag && suggest_flag(command, word, best)) {
        snprintf(hint, sizeof(hint), "is it %s?", best);
    } else if (!is_flag && (is_file || command->word || command->device)) {
        snprintf(hint, sizeof(hint), "%s",
                 command->word && !is_file ? command->word : "a model is given with -m");
    } else {
        snprintf(hint, sizeof(hint), "`glinfer %s --help all` lists the flags", command->name);
    }
    return refuse(p, is_flag ? "unknown flag %.200s; %s" : "unexpected argument \"%.200s\"; %s",
                  word, hint);
}

// Returns true if the next word is a flag. llama.cpp's flags gain and lose values over time, so a
// flag without effect does not take it.
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
            return refuse(p, "invalid %s: missing value %s", name, flag->value);
        }
        text = p->argv[p->next++];
    } else if (!flag->value && text) {
        return refuse(p, "invalid %s: it takes no value", name);
    }
    if (cli_store_value(flag, p->settings, text ? text : "", why, sizeof(why))) {
        return true;
    }
    p->report->is_file = flag->kind == CLI_KIND_FILE;
    return p->report->is_file ? refuse(p, "%s", why)
                              : refuse(p, "invalid %s \"%.200s\": expected %s", name, text, why);
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
    if (!flag && p->command->takes_words && (word[0] != '-' || word[1] == '\0')) {
        struct cli_texts *texts = (struct cli_texts *)(void *)(p->settings + p->command->words);
        *CLI_APPEND(texts) = word;
        return true;
    }
    if (!flag) {
        return refuse_word(p, word);
    }
    char name[CLI_MAX_NAME];
    snprintf(name, sizeof(name), "%.*s", (int)size, word);
    if (flag->kind == CLI_KIND_MISSING) {
        return refuse(p, "%.200s is not available: %s", name, flag->help);
    }
    return note_flag(p, flag, word) &&
           take_value(p, flag, name, word[size] ? word + size + 1 : NULL);
}

// Checks the flags that were given against the command's rules.
static bool check_rules(const struct parsing *p)
{
    for (const struct cli_rule *rule = p->command->rules; rule && rule->flag; rule++) {
        const bool is_given = cli_is_given(p->command, p->report, rule->other);
        if (cli_is_given(p->command, p->report, rule->flag) && is_given != rule->is_needed) {
            return refuse(p, rule->is_needed ? "%s needs %s" : "%s and %s exclude each other",
                          rule->flag, rule->other);
        }
    }
    return true;
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
            const bool is_all = p.next + 1 < argc && strcmp(argv[p.next + 1], "all") == 0;
            return is_all ? CLI_PARSED_HELP_ALL : CLI_PARSED_HELP;
        }
        if (!take_word(&p)) {
            return CLI_PARSED_WRONG;
        }
    }
    return check_rules(&p) ? CLI_PARSED : CLI_PARSED_WRONG;
}

//-- what was given --------------------------------------------------------------------------------

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
