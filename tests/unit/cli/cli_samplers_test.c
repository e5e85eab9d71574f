// Tests the flags of samplers: their defaults are the library's, and what is wrong is refused.
#include "cli/sampling/cli_sampling.h"
#include "tests/unit/cmocka_test.h"

#include <math.h>

struct settings {
    struct cli_sampling sampling;
};

#define CLI_SETTINGS settings
static const struct cli_flag flags[] = {CLI_SAMPLING_FLAGS};

// Reads words into settings; true if they are right.
static bool parse(struct settings *settings, int argc, const char *const *argv)
{
    const struct cli_command command = {
        .name = "run", .flags = flags, .n_flag = sizeof(flags) / sizeof(flags[0])};
    static const struct settings defaults = {.sampling = CLI_SAMPLING_DEFAULTS};
    struct cli_report report;
    memcpy(settings, &defaults, sizeof(defaults));
    return cli_parse(&command, settings, argc, argv, &report) == CLI_PARSED;
}

#define PARSE(settings, ...)                                                                       \
    parse((settings), (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)),               \
          (const char *[]){__VA_ARGS__})

TEST(the_defaults_are_those_of_the_library)
{
    struct settings settings;
    struct glinfer_samplers expected;
    glinfer_samplers_init(&expected);
    assert_true(parse(&settings, 0, NULL));
    assert_memory_equal(&settings.sampling.samplers.values, &expected, sizeof(expected));
}

TEST(flags_set_their_fields)
{
    struct settings settings;
    const struct glinfer_samplers *values = &settings.sampling.samplers.values;
    assert_true(PARSE(&settings, "--samplers", "top_k;xtc", "--repeat-last-n", "-1", "--mirostat",
                      "2", "--mirostat-lr", "0.25", "--dry-allowed-length", "5", "--typical=0.5",
                      "--adaptive-decay", "0.5", "--top-nsigma", "1.5"));
    assert_string_equal(values->order, "top_k;xtc");
    assert_int_equal(values->repeat_last_n, -1);
    assert_int_equal(values->mirostat, 2);
    assert_int_equal(values->dry_allowed_length, 5);
    assert_true(values->mirostat_eta == 0.25f && values->typical_p == 0.5f);
    assert_true(values->adaptive_decay == 0.5f && values->top_n_sigma == 1.5f);
}

TEST(biases_are_listed)
{
    struct settings settings;
    assert_true(PARSE(&settings, "-l", "15043+1.5", "--logit-bias", "7-inf", "-l", "0-2"));
    const struct glinfer_samplers *values = &settings.sampling.samplers.values;
    assert_int_equal(values->n_logit_bias, 3);
    assert_int_equal(values->logit_bias[0].id, 15043);
    assert_true(values->logit_bias[0].bias == 1.5f);
    assert_true(values->logit_bias[1].bias == -INFINITY);
    assert_true(values->logit_bias[2].bias == -2.0f);
    assert_false(PARSE(&settings, "-l", "15043"));
    assert_false(PARSE(&settings, "-l", "-5+1"));
    assert_false(PARSE(&settings, "-l", "5+inf"));
    assert_false(PARSE(&settings, "-l", "5+1x"));
    assert_false(PARSE(&settings, "-l", "+1"));
    assert_false(PARSE(&settings, "-l", "99999999999+1"));
}

TEST(breakers_take_the_place_of_the_usual)
{
    struct settings settings;
    const struct glinfer_samplers *values = &settings.sampling.samplers.values;
    assert_true(PARSE(&settings, "--dry-sequence-breaker", "\\n", "--dry-sequence-breaker", "ab"));
    assert_int_equal(values->n_dry_breakers, 2);
    assert_string_equal(values->dry_breakers[0], "\n");
    assert_string_equal(values->dry_breakers[1], "ab");
    assert_true(PARSE(&settings, "--dry-sequence-breaker", "none"));
    assert_int_equal(values->n_dry_breakers, 0);
    assert_non_null(values->dry_breakers);
    assert_false(PARSE(&settings, "--dry-sequence-breaker", ""));
    assert_false(PARSE(&settings, "--dry-sequence-breaker",
                       "a text that is by far too long for a sequence breaker"));
}

TEST(numbers_are_bounded)
{
    struct settings settings;
    assert_false(PARSE(&settings, "--repeat-last-n", "-2"));
    assert_false(PARSE(&settings, "--mirostat", "1.5"));
    assert_false(PARSE(&settings, "--mirostat", "3"));
    assert_false(PARSE(&settings, "--dry-allowed-length", "99999999999"));
    assert_false(PARSE(&settings, "--repeat-penalty", "0"));
    assert_false(PARSE(&settings, "--adaptive-decay", "1"));
}

RUN_TESTS(NULL, NULL)
