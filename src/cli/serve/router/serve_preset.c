#include "cli/serve/router/serve_preset.h"

#include "cli/cli_commands.h"
#include "cli/models/models_pull.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

__attribute__((format(printf, 4, 5))) static bool refuse(const struct serve_presets *presets,
                                                         unsigned number, struct glinfer_error *err,
                                                         const char *format, ...)
{
    char text[800];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    err->status = GLINFER_STATUS_INVALID_ARGUMENT;
    snprintf(err->message, sizeof(err->message), "%.200s, line %u: %s", presets->path, number,
             text);
    return false;
}

//-- lines -----------------------------------------------------------------------------------------

// Returns a text without the space around it, which is cut.
static char *trim(char *text)
{
    while (isspace((unsigned char)*text)) {
        text++;
    }
    size_t size = strlen(text);
    while (size > 0 && isspace((unsigned char)text[size - 1])) {
        text[--size] = '\0';
    }
    return text;
}

static bool read_line(struct serve_presets *presets, char *line, unsigned number,
                      struct glinfer_error *err)
{
    const size_t n = presets->sections.count, size = strlen(line);
    char *equals = strchr(line, '=');
    if (line[0] == '\0' || line[0] == ';' || line[0] == '#') {
        return true;
    }
    if (line[0] == '[') {
        line[size - 1] = line[size - 1] == ']' ? '\0' : line[size - 1];
        const char *name = trim(line + 1);
        if (line[size - 1] || !name[0]) {
            return refuse(presets, number, err, "invalid section: expected [NAME]");
        }
        const struct serve_preset *other = serve_presets_find(presets, name);
        if (other) {
            return refuse(presets, number, err, "[%.200s] is there already, in line %u", name,
                          other->number);
        }
        *CLI_APPEND(&presets->sections) =
            (struct serve_preset){.name = cli_copy(name), .number = number};
        return true;
    }
    if (!equals) {
        return refuse(presets, number, err, "expected KEY = VALUE, or [NAME]");
    }
    *equals = '\0';
    const char *key = trim(line), *value = trim(equals + 1);
    if (n == 0) {
        return strcmp(key, "version") == 0 ||
               refuse(presets, number, err, "%.200s is not in a section; [*] is for all models",
                      key);
    }
    *CLI_APPEND(&presets->sections.items[n - 1].lines) =
        (struct serve_preset_line){number, cli_copy(key), cli_copy(value)};
    return true;
}

bool serve_presets_read(struct serve_presets *presets, const char *path, struct glinfer_error *err)
{
    struct cli_bytes bytes;
    unsigned number = 0;
    bool is_done = true;
    *presets = (struct serve_presets){.path = path};
    if (!path) {
        return true;
    }
    err->status = GLINFER_STATUS_INVALID_ARGUMENT;
    if (!cli_read_file(path, 1 << 20, &bytes, err->message, sizeof(err->message))) {
        return false;
    }
    cli_bytes_skip_mark(&bytes);
    char *rest = bytes.data;
    for (char *line; is_done && (line = strsep(&rest, "\n"));) {
        is_done = read_line(presets, trim(line), ++number, err);
    }
    cli_bytes_finish(&bytes);
    return is_done;
}

void serve_presets_finish(struct serve_presets *presets)
{
    for (size_t i = 0; i < presets->sections.count; i++) {
        struct serve_preset *section = &presets->sections.items[i];
        for (size_t j = 0; j < section->lines.count; j++) {
            free(section->lines.items[j].key);
            free(section->lines.items[j].value);
        }
        free(section->lines.items);
        free(section->name);
    }
    free(presets->sections.items);
}

const struct serve_preset *serve_presets_find(const struct serve_presets *presets, const char *name)
{
    for (size_t i = 0; i < presets->sections.count; i++) {
        if (strcmp(presets->sections.items[i].name, name) == 0) {
            return &presets->sections.items[i];
        }
    }
    return NULL;
}

void serve_preset_write(const struct serve_preset *preset, struct cli_bytes *text)
{
    for (size_t i = 0; preset && i < preset->lines.count; i++) {
        cli_bytes_add(text, preset->lines.items[i].key);
        cli_bytes_add(text, "=");
        cli_bytes_add(text, preset->lines.items[i].value);
        cli_bytes_add(text, "\n");
    }
}

//-- keys ------------------------------------------------------------------------------------------

static bool is_word(const char *text, const char *const *words)
{
    while (*words && strcasecmp(text, *words) != 0) {
        words++;
    }
    return *words;
}

static bool is_true(const char *text)
{
    static const char *const words[] = {"true", "1", "on", "yes", "enabled", NULL};
    return is_word(text, words);
}

static bool is_false(const char *text)
{
    static const char *const words[] = {"false", "0", "off", "no", "disabled", NULL};
    return is_word(text, words);
}

// Sets an extra. Returns false for a key that is a flag.
static bool take_extra(const struct serve_preset_line *line, struct serve_preset_extra *extra)
{
    if (strcmp(line->key, "load-on-startup") == 0) {
        extra->is_on_start = is_true(line->value);
    } else if (strcmp(line->key, "dedup-cache-models") == 0) {
        extra->hides_cached = is_true(line->value);
    } else if (strcmp(line->key, "stop-timeout") == 0) {
        extra->stop_after = strtol(line->value, NULL, 10);
    } else {
        return false;
    }
    return true;
}

// Writes the flag of a key: a short name, a long one, or llama.cpp's variable of the environment.
static void write_flag(const char *key, char flag[CLI_MAX_NAME])
{
    static const char variable[] = "LLAMA_ARG_";
    const bool is_variable = strncmp(key, variable, strlen(variable)) == 0;
    snprintf(flag, CLI_MAX_NAME, "-%.40s", key);
    if (is_variable || !cli_find_flag(&cli_serve_command, flag)) {
        snprintf(flag, CLI_MAX_NAME, "--%.40s", is_variable ? key + strlen(variable) : key);
    }
    for (char *c = flag; is_variable && *c; c++) {
        *c = *c == '_' ? '-' : (char)tolower((unsigned char)*c);
    }
}

// Returns true for a flag that is of the server, not of a model.
static bool is_of_server(const char *name)
{
    static const char *const names[] = {
        "--host",
        "--port",
        "--unix",
        "--api-key",
        "--api-key-file",
        "--cors",
        "--queue",
        "--threads-http",
        "--timeout",
        "--max-body",
        "--wyoming",
        "--max-connections",
        "--drain",
        "--metrics",
        "--no-ui",
        "--slots",
        "--no-slots",
        "--models-dir",
        "--models-max",
        "--models-preset",
        "--models-autoload",
        "--mem-budget",
        "--no-models-autoload",
        "--help",
        NULL,
    };
    const struct cli_flag *flag = cli_find_flag(&cli_serve_command, name);
    for (const char *const *other = names; *other; other++) {
        if (flag && flag == cli_find_flag(&cli_serve_command, *other)) {
            return true;
        }
    }
    return strcmp(name, "-h") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "--usage") == 0;
}

static bool take_line(const struct serve_presets *presets, const struct serve_preset_line *line,
                      struct serve_settings *settings, struct serve_texts *texts,
                      struct cli_report *given, struct glinfer_error *err)
{
    const struct cli_command *command = &cli_serve_command;
    struct cli_report report;
    char name[CLI_MAX_NAME];
    const char *words[2] = {name, NULL};
    write_flag(line->key, name);
    const struct cli_flag *flag = cli_find_flag(command, name);
    if (is_of_server(name)) {
        return refuse(presets, line->number, err, "%.40s is a flag of the server, not of a model",
                      line->key);
    }
    if (flag && settings->report->given[flag - command->flags]) {
        return true; // the command line says something else
    }
    const bool is_switch = flag && !flag->value;
    if (is_switch && !is_true(line->value)) {
        return is_false(line->value) ||
               refuse(presets, line->number, err,
                      "invalid %.40s \"%.100s\": expected true or false", line->key, line->value);
    }
    const bool has_value = line->value[0] && !is_switch;
    words[1] = *CLI_APPEND(texts) = cli_copy(line->value);
    if (cli_parse(command, settings, 1 + has_value, words, &report) != CLI_PARSED) {
        return refuse(presets, line->number, err, "%s", report.error);
    }
    if (flag) {
        given->given[flag - command->flags] = line->key;
    }
    return true;
}

bool serve_preset_apply(const struct serve_presets *presets, const struct serve_preset *preset,
                        struct serve_settings *settings, struct serve_texts *texts,
                        struct serve_preset_extra *extra, struct glinfer_error *err)
{
    struct cli_command command = cli_serve_command;
    struct cli_report given = {.n_foreign = 0};
    command.settings = settings;
    for (size_t i = 0; preset && i < preset->lines.count; i++) {
        const struct serve_preset_line *line = &preset->lines.items[i];
        if (!take_extra(line, extra) && !take_line(presets, line, settings, texts, &given, err)) {
            return false;
        }
    }
    cli_sampling_note(&command, &given);
    cli_keep_failures(err);
    const bool is_done = models_take_flags(&command, &given) && serve_settings_check(settings);
    cli_keep_failures(NULL);
    return is_done;
}
