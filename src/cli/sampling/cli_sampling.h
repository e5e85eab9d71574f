// The sampling of tokens: flags with llama-cli's names and defaults.
#pragma once

#include "cli/common/cli_args.h"
#include "cli/flags/cli_text_file.h"
#include "glinfer.h"

#define CLI_MAX_BIASES   64
#define CLI_MAX_BREAKERS 32
#define CLI_BREAKER_SIZE 48

struct cli_samplers {
    struct glinfer_samplers values; // points to the arrays below
    struct glinfer_logit_bias biases[CLI_MAX_BIASES];
    char breaker_texts[CLI_MAX_BREAKERS][CLI_BREAKER_SIZE];
    const char *breakers[CLI_MAX_BREAKERS];
};

enum cli_spec_type {
    CLI_SPEC_NONE,
    CLI_SPEC_NGRAM_SIMPLE, // and llama.cpp's others by n-grams, which are the same here
};
extern const char *const cli_spec_types[]; // of the enum

struct cli_speculation {
    int type;            // enum cli_spec_type
    int64_t match, most; // tokens
};

struct cli_sampling {
    int64_t seed; // -1: random
    float temperature, top_p, min_p;
    int64_t top_k;
    struct cli_samplers samplers;
    struct glinfer_grammar grammar;
    struct cli_speculation speculation;
    unsigned given; // bits of flags that a model's recommendation leaves alone
};

#define CLI_SAMPLER_DEFAULT(type, field, value, least, most) .field = (value),
// clang-format off
#define CLI_SAMPLING_AT(temperature_)                                                              \
    {.seed = -1, .temperature = (temperature_), .top_k = 40, .top_p = 0.95F, .min_p = 0.05F,       \
     .samplers.values = {GLINFER_SAMPLER_MAP(CLI_SAMPLER_DEFAULT).struct_size =                    \
                             sizeof(struct glinfer_samplers)},                                     \
     .grammar.struct_size = sizeof(struct glinfer_grammar), .speculation = {.match = 3, .most = 48}}
// clang-format on
#define CLI_SAMPLING_DEFAULTS CLI_SAMPLING_AT(0.8F)

// The numbers of the samplers, with their names as fields of requests.
#define CLI_SAMPLER_INDEX(type, field, value, least, most) CLI_SAMPLER_##field,
enum {
    GLINFER_SAMPLER_MAP(CLI_SAMPLER_INDEX) // of the numbers below
    CLI_N_SAMPLER_NUMBER,
};
extern const struct cli_number cli_sampler_numbers[CLI_N_SAMPLER_NUMBER];

#define CLI_SAMPLER(field, names_, value_, help_)                                                  \
    CLI_ROW(NUMBER, sampling.samplers.values, names_, value_, help_,                               \
            .number = &cli_sampler_numbers[CLI_SAMPLER_##field])
#define CLI_SAMPLER_NAME(kind, name, letter)   name ";"
#define CLI_SAMPLER_LETTER(kind, name, letter) letter
#define CLI_SAMPLER_FLAGS                                                                          \
    CLI_TEXT(sampling.samplers.values.order, "--samplers", "NAMES",                                \
             "the samplers in order, with a semicolon after each; default " GLINFER_SAMPLER_ORDER( \
                 CLI_SAMPLER_NAME)),                                                               \
        CLI_TEXT(sampling.samplers.values.order, "--sampler-seq, --sampling-seq", "LETTERS",       \
                 "the same by letters, default " GLINFER_SAMPLER_ORDER(                            \
                     CLI_SAMPLER_LETTER) "; a is adaptive_p"),                                     \
        CLI_SAMPLER(repeat_last_n, "--repeat-last-n", "N",                                         \
                    "tokens that penalties look at, default %v; 0: none; -1: all"),                \
        CLI_SAMPLER(repeat_penalty, "--repeat-penalty", "X",                                       \
                    "divides positive logits of tokens that occurred, multiplies negative "        \
                    "ones, default %v: off"),                                                      \
        CLI_SAMPLER(presence_penalty, "--presence-penalty", "X",                                   \
                    "subtracted from the logits of tokens that occurred, default %v"),             \
        CLI_SAMPLER(frequency_penalty, "--frequency-penalty", "X",                                 \
                    "subtracted from the logit of a token for each time that it occurred, "        \
                    "default %v"),                                                                 \
        CLI_SAMPLER(dry_multiplier, "--dry-multiplier", "X",                                       \
                    "X * base^(n - allowed length) is subtracted from the logit of a token "       \
                    "that repeats what followed the same n tokens before, default %v: off"),       \
        CLI_SAMPLER(dry_base, "--dry-base", "X", "base of DRY, default %v"),                       \
        CLI_SAMPLER(dry_allowed_length, "--dry-allowed-length", "N",                               \
                    "the allowed length, default %v"),                                             \
        CLI_SAMPLER(dry_penalty_last_n, "--dry-penalty-last-n", "N",                               \
                    "tokens that DRY looks at, default %v; 0: none; -1: all"),                     \
        CLI_CUSTOM(                                                                                \
            sampling.samplers, cli_parse_breaker, "--dry-sequence-breaker", "TEXT",                \
            "a text that ends a repetition, in place of newline, colon, quote and asterisk; "      \
            "none: no text does; may be repeated"),                                                \
        CLI_SAMPLER(top_n_sigma, "--top-nsigma, --top-n-sigma", "N",                               \
                    "only tokens within N standard deviations of the largest logit, default "      \
                    "%v: off"),                                                                    \
        CLI_SAMPLER(typical_p, "--typical, --typical-p", "P",                                      \
                    "only the tokens whose surprise is nearest the mean, of a total "              \
                    "probability P, default %v: off"),                                             \
        CLI_SAMPLER(xtc_probability, "--xtc-probability", "P",                                     \
                    "probability of dropping all tokens over the threshold but the least "         \
                    "likely, default %v: off"),                                                    \
        CLI_SAMPLER(xtc_threshold, "--xtc-threshold", "P",                                         \
                    "threshold of XTC, default %v; over 0.5: off"),                                \
        CLI_SAMPLER(dynatemp_range, "--dynatemp-range", "T",                                       \
                    "the temperature follows the entropy, by up to T up or down, default %v"),     \
        CLI_SAMPLER(dynatemp_exponent, "--dynatemp-exp", "X",                                      \
                    "exponent of the entropy in it, default %v"),                                  \
        CLI_SAMPLER(mirostat, "--mirostat", "N",                                                   \
                    "version of mirostat, 1 or 2, in place of the filters, default %v: off"),      \
        CLI_SAMPLER(mirostat_eta, "--mirostat-lr", "X", "learning rate of mirostat, default %v"),  \
        CLI_SAMPLER(mirostat_tau, "--mirostat-ent", "X",                                           \
                    "target surprise of mirostat in bits, default %v"),                            \
        CLI_SAMPLER(adaptive_target, "--adaptive-target", "P",                                     \
                    "prefers tokens so that their mean probability tends to P, default %v: "       \
                    "off"),                                                                        \
        CLI_SAMPLER(adaptive_decay, "--adaptive-decay", "X",                                       \
                    "how slowly that mean changes, default %v"),                                   \
        CLI_CUSTOM(sampling.samplers, cli_parse_bias, "-l, --logit-bias", "ID(+/-)X",              \
                   "adds to the logit of a token, such as 15043+1, or bans it: 15043-inf; may be " \
                   "repeated")

#define CLI_GRAMMAR_FLAGS                                                                          \
    CLI_TEXT(sampling.grammar.gbnf, "--grammar", "GBNF", "a grammar that the answer keeps to"),    \
        CLI_FILE(sampling.grammar.gbnf, cli_parse_text_file, "--grammar-file", "FILE",             \
                 "a file with the grammar"),                                                       \
        CLI_TEXT(sampling.grammar.json_schema, "-j, --json-schema", "SCHEMA",                      \
                 "the answer is JSON that a schema allows; {}: any JSON"),                         \
        CLI_FILE(sampling.grammar.json_schema, cli_parse_text_file, "-jf, --json-schema-file",     \
                 "FILE", "a file with the schema")

#define CLI_SPECULATION_FLAGS                                                                      \
    CLI_CHOICE(sampling.speculation.type, cli_spec_types, "--spec-type", "TYPE",                   \
               "ngram-simple: computes several tokens at once where the text repeats itself and "  \
               "that is faster; the answer is the same; other ngram-... types are the same; none " \
               "(default)"),                                                                       \
        CLI_INT(sampling.speculation.match, 1, 1024,                                               \
                "--spec-ngram-simple-size-n, --spec-ngram-size-n", "N",                            \
                "last tokens that must have occurred before, default %v"),                         \
        CLI_INT(sampling.speculation.most, 1, 1024,                                                \
                "--spec-ngram-simple-size-m, --spec-ngram-size-m, --spec-draft-n-max", "N",        \
                "most tokens tried after them, default %v; devices have a limit, 3 "               \
                "to 15")

// Rows of a flag table for settings with a field `sampling` of the type above.
#define CLI_SAMPLING_FLAGS                                                                         \
    CLI_HEADING("Sampling"),                                                                       \
        CLI_INT(sampling.seed, -1, 4294967295, "-s, --seed", "N",                                  \
                "the same seed gives the same answer; -1 (default): random, printed by -v"),       \
        CLI_FLOAT(sampling.temperature, 0, 1000, "--temp, --temperature", "T",                     \
                  "temperature, default %v; 0: always the likeliest token"),                       \
        CLI_FILTER_FLAGS, CLI_SAMPLER_FLAGS, CLI_GRAMMAR_FLAGS, CLI_SPECULATION_FLAGS
#define CLI_FILTER_FLAGS                                                                           \
    CLI_INT(sampling.top_k, 0, 1 << 24, "--top-k", "N",                                            \
            "only the N likeliest tokens, default %v; 0: off"),                                    \
        CLI_FLOAT(sampling.top_p, 0, 1, "--top-p", "P",                                            \
                  "only the likeliest tokens of a total probability P, default %v; 1: off"),       \
        CLI_FLOAT(sampling.min_p, 0, 1, "--min-p", "P",                                            \
                  "only tokens with P times the likeliest one's probability, default %v; 0: off")

// Returns the seed asked for, or a random one; says which on stderr if is_verbose.
uint64_t cli_sampling_seed(const struct cli_sampling *sampling, bool is_verbose);
// Notes which flags of a command's sampling, if it has one, were given.
void cli_sampling_note(const struct cli_command *command, const struct cli_report *report);
// Takes the sampling that a model recommends where no flag was given.
void cli_sampling_take(struct cli_sampling *sampling, const struct glinfer_model_info *info);
// Says what is wrong with the grammar, before anything is loaded; false then.
bool cli_sampling_check(const struct cli_sampling *sampling);
// Fills the fields of params that the flags set.
void cli_sampling_fill(const struct cli_sampling *sampling, uint64_t seed,
                       struct glinfer_generate_params *params);

// Read values, for rows: ID+X or ID-X, and a breaker.
bool cli_parse_bias(const char *text, void *field, char *why, size_t size);
bool cli_parse_breaker(const char *text, void *field, char *why, size_t size);
