// Flags of the command line. One table a command drives both parsing and help, so that the two
// cannot differ. Parsing prints nothing, allocates only lists of texts and keeps pointers into
// argv.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum cli_kind {
    CLI_KIND_SECTION, // no flag: a heading of the help
    CLI_KIND_SWITCH,  // bool, set
    CLI_KIND_LEVEL,   // int, raised by low
    CLI_KIND_INT,     // int64_t in [low, high]
    CLI_KIND_FLOAT,   // float in [low, high]
    CLI_KIND_NUMBER,  // of a struct of the library, see struct cli_number
    CLI_KIND_TEXT,    // const char *
    CLI_KIND_TEXTS,   // struct cli_texts, appended to
    CLI_KIND_SIZE,    // uint64_t bytes, with a suffix K, M, G (1024)
    CLI_KIND_CHOICE,  // int, the index in choices
    CLI_KIND_CUSTOM,  // read by the flag's own parse
    CLI_KIND_FILE,    // read by the flag's own parse from a file, whose error is a whole sentence
    CLI_KIND_IGNORED, // accepted for llama.cpp's sake; help says why it has no effect
    CLI_KIND_MISSING, // of llama.cpp and not there; help says what to use
};

struct cli_texts {
    const char **items; // owned; the texts are borrowed from argv
    size_t count, capacity;
};

// A number in a struct of the library: its name there, its type and its range.
struct cli_number {
    const char *name;
    enum { CLI_NUMBER_FLOAT, CLI_NUMBER_INT32, CLI_NUMBER_UINT32 } type;
    size_t offset;
    double low, high;
};

struct cli_flag {
    enum cli_kind kind;
    const char *names; // "-n, --predict, --n-predict"; of a section its heading
    const char *value; // "N", or NULL for flags without a value
    const char *help;  // "%v" stands for the default, the value of the field in the settings
    size_t offset;     // of the field in the command's settings
    double low, high;
    const struct cli_number *number; // within the field
    const char *const *choices;      // ends with NULL
    // Fills the field, or writes into why what is expected.
    bool (*parse)(const char *text, void *field, char *why, size_t size);
};

// Rows of a table; a field is one of struct CLI_SETTINGS, a tag that the file defines.
// clang-format off
#define CLI_HEADING(heading) {.kind = CLI_KIND_SECTION, .names = (heading)}
#define CLI_ROW(kind_, field, names_, value_, help_, ...)                                          \
    {.kind = CLI_KIND_##kind_, .names = (names_), .value = (value_), .help = (help_),              \
     .offset = offsetof(struct CLI_SETTINGS, field), __VA_ARGS__}
#define CLI_SWITCH(field, names, help)       CLI_ROW(SWITCH, field, names, NULL, help, .low = 0)
#define CLI_LEVEL(field, step, names, help)  CLI_ROW(LEVEL, field, names, NULL, help, .low = (step))
#define CLI_TEXT(field, names, value, help)  CLI_ROW(TEXT, field, names, value, help, .low = 0)
#define CLI_TEXTS(field, names, value, help) CLI_ROW(TEXTS, field, names, value, help, .low = 0)
#define CLI_SIZE(field, names, value, help)  CLI_ROW(SIZE, field, names, value, help, .low = 0)
#define CLI_INT(field, low_, high_, names, value, help)                                            \
    CLI_ROW(INT, field, names, value, help, .low = (low_), .high = (high_))
#define CLI_FLOAT(field, low_, high_, names, value, help)                                          \
    CLI_ROW(FLOAT, field, names, value, help, .low = (low_), .high = (high_))
#define CLI_CHOICE(field, choices_, names, value, help)                                            \
    CLI_ROW(CHOICE, field, names, value, help, .choices = (choices_))
#define CLI_CUSTOM(field, parse_, names, value, help)                                              \
    CLI_ROW(CUSTOM, field, names, value, help, .parse = (parse_))
#define CLI_FILE(field, parse_, names, value, help)                                                \
    CLI_ROW(FILE, field, names, value, help, .parse = (parse_))
#define CLI_IGNORED(names_, why) {.kind = CLI_KIND_IGNORED, .names = (names_), .help = (why)}
#define CLI_IGNORED_VALUE(names_, why)                                                             \
    {.kind = CLI_KIND_IGNORED, .names = (names_), .value = "X", .help = (why)}
#define CLI_MISSING(names_, why) {.kind = CLI_KIND_MISSING, .names = (names_), .help = (why)}
#define CLI_EXCLUDES(flag, other) {flag, other, false}
#define CLI_NEEDS(flag, other) {flag, other, true}
// clang-format on

// A flag that excludes another one, or needs it.
struct cli_rule {
    const char *flag, *other;
    bool is_needed;
};
#define CLI_MAX_NAME    48 // bytes of a flag's name, with the zero byte
#define CLI_MAX_FLAGS   160
#define CLI_MAX_FOREIGN 32
struct cli_device_flags;
struct cli_command {
    const char *name;    // "run"
    const char *usage;   // "-m MODEL [-p TEXT | -f FILE] [flags]"
    const char *summary; // one line
    const char *word;    // hint for a word that is not a flag; NULL: how models are given
    const char *text;    // further lines of the help
    const char *common;  // "-m, -p": the flags that --help explains; NULL: all
    const struct cli_flag *flags;
    size_t n_flag;                         // at most CLI_MAX_FLAGS
    const struct cli_rule *rules;          // the last one has no flag; NULL: none
    void *settings;                        // hold the defaults; flags are read into them
    size_t settings_size;                  // in bytes
    const struct cli_device_flags *device; // within the settings; NULL: none
    const struct cli_report **report;      // within the settings, set before run; NULL: none
    bool needs_model;                      // -m, or -hf
    const char *model;                     // an example of what -m takes; NULL: a GGUF file
    bool takes_words;                      // appends words that are not flags
    size_t words;                          // to this field of the settings, a struct cli_texts
    // Runs the command; false with the failure printed and its exit status noted (cli_fail).
    bool (*run)(void *settings);
};
// The fields of a command that every one sets.
#define CLI_COMMAND(table, settings_, run_)                                                        \
    .flags = (table), .n_flag = sizeof(table) / sizeof((table)[0]), .settings = &(settings_),      \
    .settings_size = sizeof(settings_), .run = (run_)
// The fields of a command whose settings have a session.
#define CLI_SESSION_COMMAND(table, settings_, run_)                                                \
    .device = &(settings_).session.device, CLI_COMMAND(table, settings_, run_)

enum cli_parsed {
    CLI_PARSED,
    CLI_PARSED_HELP,     // --help was given
    CLI_PARSED_HELP_ALL, // --help all was given
    CLI_PARSED_WRONG,    // error says why
};

struct cli_report {
    char error[768];
    bool is_file;                     // a file is wrong, not the flags
    const char *given[CLI_MAX_FLAGS]; // flag i of the table as typed, borrowed; NULL: it was not
    struct {
        const struct cli_flag *flag;
        const char *given;      // as typed, borrowed
    } foreign[CLI_MAX_FOREIGN]; // flags of llama.cpp that have no effect and are not of the table
    size_t n_foreign;
};

// Reads argv[0..argc), the words after the command's name, into *settings, which holds the
// defaults. "--flag value" and "--flag=value" are the same; "-h" and "--help" are known to all.
enum cli_parsed cli_parse(const struct cli_command *command, void *settings, int argc,
                          const char *const *argv, struct cli_report *report);

// Reads the value of a flag into its field of the settings; false with the expected form in why.
bool cli_store_value(const struct cli_flag *flag, void *settings, const char *text, char *why,
                     size_t size);

// Returns a number of a struct.
double cli_number_value(const struct cli_number *number, const void *values);
// Writes a flag's field of the settings as the flag takes it: a number, a size, a choice or a text.
// Returns false for other kinds and for a text that is NULL.
bool cli_value_text(const struct cli_flag *flag, const void *settings, char *text, size_t size);

#define CLI_HELP_SIZE 512 // bytes of the help of a flag
// Returns the help of a flag with the default of the command's settings; text has CLI_HELP_SIZE
// bytes.
const char *cli_flag_help(const struct cli_command *command, const struct cli_flag *flag,
                          char *text);

// Copies the next of "-n, --predict" to name and moves *names on; false at the end.
bool cli_next_name(const char **names, char *name, size_t room);
// Returns the row, of n or up to one without a name, that has a name of these bytes; NULL: none.
const struct cli_flag *cli_find_row(const struct cli_flag *rows, size_t n, const char *word,
                                    size_t size);
// Returns the row of a flag by one of its names, or NULL.
const struct cli_flag *cli_find_flag(const struct cli_command *command, const char *name);
// Returns true if a flag, by one of its names, was given.
bool cli_is_given(const struct cli_command *command, const struct cli_report *report,
                  const char *name);
// llama.cpp's flags that no command has, of kind IGNORED (accepted with a note) and MISSING
// (refused with a hint); the last has no names.
extern const struct cli_flag cli_foreign_flags[];
// Prints one line for every flag that was given but has no effect.
void cli_print_notes(FILE *file, const struct cli_command *command,
                     const struct cli_report *report);
// Prints the common flags of a command, or all.
void cli_print_help(FILE *file, const struct cli_command *command, bool is_all);
