#include "cli/bench/cli_bench_flags.h"
#include "cli/cli_commands.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/data/case_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct settings {
    const char *model;
    bool is_json;
    int verbosity;
    int64_t count;
    float temperature;
    uint64_t budget;
    int type;
    struct cli_texts stop;
    struct cli_list lengths;
    struct cli_pairs pairs;
};

static const char *const types[] = {"f16", "f32", NULL};

#define CLI_SETTINGS settings
static const struct cli_flag flags[] = {
    CLI_HEADING("Flags"),
    CLI_TEXT(model, "-m, --model", "FILE", "a file"),
    CLI_SWITCH(is_json, "--json", "an object"),
    CLI_LEVEL(verbosity, 1, "-v, --verbose", "more"),
    CLI_LEVEL(verbosity, 2, "-vv", "all"),
    CLI_INT(count, -1, 100, "-n, --predict, --n-predict", "N", "tokens"),
    CLI_FLOAT(temperature, 0, 2, "--temp", "T", "a temperature"),
    CLI_SIZE(budget, "--mem-budget", "SIZE", "bytes"),
    CLI_CHOICE(type, types, "-ctk", "TYPE", "a type"),
    CLI_TEXTS(stop, "-r, --stop", "TEXT", "a text"),
    CLI_CUSTOM(lengths, cli_list_parse, "-p", "N", "lengths"),
    CLI_CUSTOM(pairs, cli_pairs_parse, "-pg", "P,N", "pairs"),
    CLI_IGNORED_VALUE("-ngl", "all of them"),
    CLI_IGNORED("--mlock", "never"),
};

static const struct cli_rule rules[] = {
    CLI_EXCLUDES("--json", "-v"),
    CLI_NEEDS("-ctk", "-m"),
    {NULL, NULL, false},
};

static const struct cli_command command = {
    .name = "try",
    .usage = "-m MODEL",
    .summary = "Tries.",
    .word = "words are given with -p",
    .common = "-m, --temp",
    .rules = rules,
    .flags = flags,
    .n_flag = sizeof(flags) / sizeof(flags[0]),
};

#define MAX_WORDS 16

struct outcome {
    enum cli_parsed parsed;
    struct settings settings;
    struct cli_report report;
    const char *words[MAX_WORDS];
    char line[512];
};

// Parses words between single spaces; they live in the outcome.
static void parse(struct outcome *o, const char *line)
{
    int argc = 0;
    memset(o, 0, sizeof(*o));
    snprintf(o->line, sizeof(o->line), "%s", line);
    for (char *word = strtok(o->line, " "); word; word = strtok(NULL, " ")) {
        o->words[argc++] = word;
    }
    o->parsed = cli_parse(&command, &o->settings, argc, o->words, &o->report);
}

static void check_wrong(const char *const fields[])
{
    struct outcome o;
    parse(&o, fields[0]);
    assert_int_equal(o.parsed, CLI_PARSED_WRONG);
    assert_string_equal(o.report.error, fields[1]);
}

TEST(wrong_lines_are_refused_with_a_sentence)
{
    each_case("cli_args.cases", "wrong", check_wrong);
}

static void check_size(const char *const fields[])
{
    struct outcome o;
    parse(&o, fields[0]);
    assert_int_equal(o.parsed, CLI_PARSED);
    assert_int_equal(o.settings.budget, strtoull(fields[1], NULL, 10));
}

TEST(sizes_have_units)
{
    each_case("cli_args.cases", "sizes", check_size);
}

// Joins the numbers of a list with spaces.
static void check_list(const char *const fields[])
{
    struct cli_list list = {.count = 0};
    char found[256] = "", why[128];
    const bool is_list = cli_list_parse(fields[0], &list, why, sizeof(why));
    for (size_t i = 0; i < list.count && is_list; i++) {
        snprintf(found + strlen(found), sizeof(found) - strlen(found), "%s%lld", i ? " " : "",
                 (long long)list.items[i]);
    }
    assert_string_equal(is_list ? found : "invalid", fields[1]);
}

TEST(lists_are_numbers_and_ranges)
{
    each_case("cli_args.cases", "lists", check_list);
}

TEST(args_take_every_kind)
{
    struct outcome o;
    parse(&o, "-m a.gguf --json -n -1 --temp 0.25 --mem-budget 1.5G -ctk f32 -r x --stop y");
    assert_int_equal(o.parsed, CLI_PARSED);
    assert_string_equal(o.settings.model, "a.gguf");
    assert_true(o.settings.is_json);
    assert_int_equal(o.settings.count, -1);
    assert_true(o.settings.temperature == 0.25F);
    assert_int_equal(o.settings.budget, 1610612736);
    assert_int_equal(o.settings.type, 1);
    assert_int_equal(o.settings.stop.count, 2);
    assert_string_equal(o.settings.stop.items[1], "y");
    free(o.settings.stop.items);
}

TEST(args_take_a_value_behind_an_equals_sign)
{
    struct outcome o;
    parse(&o, "--model=b=c --n-predict=7");
    assert_int_equal(o.parsed, CLI_PARSED);
    assert_string_equal(o.settings.model, "b=c");
    assert_int_equal(o.settings.count, 7);
}

TEST(args_take_words_that_are_not_flags)
{
    static const char *const words[] = {"a", "--json", "b", "-"};
    struct cli_command taking = command;
    struct cli_report report;
    struct settings settings = {.count = 0};
    taking.takes_words = true;
    taking.words = offsetof(struct settings, stop);
    assert_int_equal(cli_parse(&taking, &settings, 3, words, &report), CLI_PARSED);
    assert_int_equal(settings.stop.count, 2);
    assert_string_equal(settings.stop.items[1], "b");
    assert_true(settings.is_json);
    assert_int_equal(cli_parse(&taking, &settings, 4, words, &report), CLI_PARSED);
    assert_string_equal(settings.stop.items[settings.stop.count - 1], "-");
    free(settings.stop.items);
}

TEST(args_take_any_number_of_words)
{
    enum { N = 1000 };
    static const char *words[2 * N]; // "-r file file -r file file ..."
    struct cli_command taking = command;
    struct cli_report report;
    struct settings settings = {.count = 0};
    taking.takes_words = true;
    taking.words = offsetof(struct settings, stop);
    for (size_t i = 0; i < 2 * N; i++) {
        words[i] = i % 4 == 0 ? "-r" : "file";
    }
    assert_int_equal(cli_parse(&taking, &settings, 2 * N, words, &report), CLI_PARSED);
    assert_int_equal(settings.stop.count, 3 * N / 2);
    assert_string_equal(settings.stop.items[3 * N / 2 - 1], "file");
    free(settings.stop.items);
}

TEST(args_take_a_value_that_looks_like_a_flag)
{
    struct outcome o;
    parse(&o, "-r --json");
    assert_int_equal(o.parsed, CLI_PARSED);
    assert_string_equal(o.settings.stop.items[0], "--json");
    assert_false(o.settings.is_json);
    free(o.settings.stop.items);
}

TEST(args_let_the_last_of_two_win)
{
    struct outcome o;
    parse(&o, "-n 3 --predict 4");
    assert_int_equal(o.settings.count, 4);
}

TEST(args_know_help_everywhere)
{
    struct outcome o;
    parse(&o, "-n 3 --help");
    assert_int_equal(o.parsed, CLI_PARSED_HELP);
    parse(&o, "-h");
    assert_int_equal(o.parsed, CLI_PARSED_HELP);
    parse(&o, "-m x --help all");
    assert_int_equal(o.parsed, CLI_PARSED_HELP_ALL);
}

TEST(args_hold_the_rules_of_the_command)
{
    struct outcome o;
    parse(&o, "-ctk f32 --model x");
    assert_int_equal(o.parsed, CLI_PARSED);
}

TEST(args_report_flags_that_mean_nothing)
{
    struct outcome o;
    parse(&o, "-ngl 99 --mlock -ngl --json");
    assert_int_equal(o.parsed, CLI_PARSED);
    assert_true(o.settings.is_json);
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    cli_print_notes(file, &command, &o.report);
    fclose(file);
    assert_string_equal(text, "glinfer: note: -ngl has no effect: all of them\n"
                              "glinfer: note: --mlock has no effect: never\n");
    free(text);
}

TEST(pairs_need_two_numbers)
{
    struct outcome o;
    parse(&o, "-pg 512,128 -pg 8,4");
    assert_int_equal(o.settings.pairs.count, 2);
    assert_int_equal(o.settings.pairs.items[0].gen, 128);
    assert_int_equal(o.settings.pairs.items[1].prompt, 8);
}

TEST(help_names_every_flag_within_100_columns)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    cli_print_help(file, &command, true);
    fclose(file);
    for (size_t i = 0; i < command.n_flag; i++) {
        assert_non_null(strstr(text, command.flags[i].names));
    }
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
        assert_true(strcspn(line, "\n") <= 100);
    }
    free(text);
}

TEST(help_has_the_common_flags_alone)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    cli_print_help(file, &command, false);
    fclose(file);
    assert_non_null(strstr(text, "  -m, --model FILE"));
    assert_non_null(strstr(text, "  --temp T"));
    assert_null(strstr(text, "--mem-budget"));
    assert_null(strstr(text, "-ngl"));
    assert_non_null(strstr(text, "`glinfer try --help all`"));
    free(text);
}

TEST(help_has_the_defaults_of_the_settings)
{
    struct settings settings = {.count = -1, .temperature = 0.8F, .budget = 3 << 20, .type = 1};
    static const struct {
        const char *name, *help, *want;
    } cases[] = {
        {"-n", "default %v: all", "default -1: all"}, {"--temp", "default %v", "default 0.8"},
        {"--mem-budget", "default %v", "default 3M"}, {"-ctk", "%v (default)", "f32 (default)"},
        {"-m", "{}; default %v", "{}; default %v"}, // NULL
        {"-r", "default %v", "default %v"},
    };
    struct cli_command of = command;
    char text[CLI_HELP_SIZE];
    of.settings = &settings;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cli_flag flag = *cli_find_flag(&of, cases[i].name);
        flag.help = cases[i].help;
        assert_string_equal(cli_flag_help(&of, &flag, text), cases[i].want);
    }
}

// Checks that a help types no number after "default " but where the library chooses later, which 0
// stands for, and that a number before " (default)" is the default.
static void check_typed_defaults(const struct cli_command *of, const struct cli_flag *flag)
{
    char value[64], number[64];
    const char *at = strstr(flag->help, "default "), *mark = strstr(flag->help, " (default)");
    if (!cli_value_text(flag, of->settings, value, sizeof(value)) || flag->choices) {
        return;
    }
    if (at && strcspn(at + 8, "-0123456789") == 0 && strcmp(value, "0") != 0) {
        fail_msg("%s %s: %s", of->name, flag->names, flag->help);
    }
    while (mark && mark > flag->help && strchr("-.0123456789", mark[-1])) {
        mark--;
    }
    if (mark && sscanf(mark, "%63[-.0-9] (default)", number) == 1) {
        assert_string_equal(number, value);
    }
}

TEST(help_does_not_type_defaults_again)
{
    for (size_t c = 0; cli_commands[c]; c++) {
        for (size_t i = 0; i < cli_commands[c]->n_flag; i++) {
            if (cli_commands[c]->flags[i].help) {
                check_typed_defaults(cli_commands[c], &cli_commands[c]->flags[i]);
            }
        }
    }
}

TEST(every_common_flag_is_one)
{
    char name[CLI_MAX_NAME];
    for (size_t c = 0; cli_commands[c]; c++) {
        const char *names = cli_commands[c]->common;
        while (names && cli_next_name(&names, name, sizeof(name))) {
            assert_non_null(cli_find_flag(cli_commands[c], name));
        }
        const struct cli_rule *rule = cli_commands[c]->rules;
        for (; rule && rule->flag; rule++) {
            assert_non_null(cli_find_flag(cli_commands[c], rule->flag));
            assert_non_null(cli_find_flag(cli_commands[c], rule->other));
        }
    }
}

TEST(args_add_levels)
{
    static const struct {
        const char *line;
        int level;
    } cases[] = {{"--json", 0}, {"-v", 1}, {"-vv", 2}, {"-v -v", 2}, {"--verbose -n 1 -v", 2}};
    struct outcome o;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        parse(&o, cases[i].line);
        assert_int_equal(o.parsed, CLI_PARSED);
        assert_int_equal(o.settings.verbosity, cases[i].level);
    }
}

RUN_TESTS(NULL, NULL)
