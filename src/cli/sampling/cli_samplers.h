// Flags of the samplers beyond temperature, top-k, top-p and min-p, with llama-cli's names and
// defaults.
#ifndef CLI_SAMPLERS_H
#define CLI_SAMPLERS_H

#include "cli/common/cli_args.h"
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

// Sets the values that glinfer_samplers_init sets.
#define CLI_SAMPLERS_DEFAULTS                                                                      \
    {                                                                                              \
        .values = {                                                                                \
            .struct_size = sizeof(struct glinfer_samplers),                                        \
            .repeat_last_n = 64,                                                                   \
            .repeat_penalty = 1,                                                                   \
            .dry_base = 1.75F,                                                                     \
            .dry_allowed_length = 2,                                                               \
            .dry_penalty_last_n = 64,                                                              \
            .top_n_sigma = -1,                                                                     \
            .typical_p = 1,                                                                        \
            .xtc_threshold = 0.1F,                                                                 \
            .dynatemp_exponent = 1,                                                                \
            .mirostat_tau = 5,                                                                     \
            .mirostat_eta = 0.1F,                                                                  \
            .adaptive_target = -1,                                                                 \
            .adaptive_decay = 0.9F                                                                 \
        }                                                                                          \
    }

// Rows of a flag table for settings with a field `sampling` that has a field `samplers` of the type
// above.
#define CLI_SAMPLER_VALUE(field, low, high, names, value, help)                                    \
    CLI_FLOAT(sampling.samplers.values.field, low, high, names, value, help)
#define CLI_SAMPLER_COUNT(field, parse, names, help)                                               \
    CLI_CUSTOM(sampling.samplers.values.field, parse, names, "N", help)
#define CLI_SAMPLER_FLAGS                                                                          \
    CLI_TEXT(sampling.samplers.values.order, "--samplers", "NAMES",                                \
             "the samplers in order, with a semicolon between them; default "                      \
             "penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature"),                 \
        CLI_TEXT(sampling.samplers.values.order, "--sampler-seq, --sampling-seq", "LETTERS",       \
                 "the same by letters, default edskypmxt; a is adaptive_p"),                       \
        CLI_SAMPLER_COUNT(repeat_last_n, cli_parse_window, "--repeat-last-n",                      \
                          "tokens that penalties look at, default 64; 0: none; -1: all"),          \
        CLI_SAMPLER_VALUE(repeat_penalty, 1e-6, 1e6, "--repeat-penalty", "X",                      \
                          "divides positive logits of tokens that occurred, multiplies negative "  \
                          "ones, default 1: off"),                                                 \
        CLI_SAMPLER_VALUE(presence_penalty, -1e6, 1e6, "--presence-penalty", "X",                  \
                          "subtracted from the logits of tokens that occurred, default 0"),        \
        CLI_SAMPLER_VALUE(frequency_penalty, -1e6, 1e6, "--frequency-penalty", "X",                \
                          "subtracted from the logit of a token for each time that it occurred, "  \
                          "default 0"),                                                            \
        CLI_SAMPLER_VALUE(dry_multiplier, 0, 1e6, "--dry-multiplier", "X",                         \
                          "X * base^(n - allowed length) is subtracted from the logit of a token " \
                          "that repeats what followed the same n tokens before, default 0: off"),  \
        CLI_SAMPLER_VALUE(dry_base, 0, 1e6, "--dry-base", "X", "base of DRY, default 1.75"),       \
        CLI_SAMPLER_COUNT(dry_allowed_length, cli_parse_count, "--dry-allowed-length",             \
                          "the allowed length, default 2"),                                        \
        CLI_SAMPLER_COUNT(dry_penalty_last_n, cli_parse_window, "--dry-penalty-last-n",            \
                          "tokens that DRY looks at, default 64; 0: none; -1: all"),               \
        CLI_CUSTOM(                                                                                \
            sampling.samplers, cli_parse_breaker, "--dry-sequence-breaker", "TEXT",                \
            "a text that ends a repetition, in place of newline, colon, quote and asterisk; "      \
            "none: no text does; may be repeated"),                                                \
        CLI_SAMPLER_VALUE(                                                                         \
            top_n_sigma, -1, 1e6, "--top-nsigma, --top-n-sigma", "N",                              \
            "only tokens within N standard deviations of the largest logit, default "              \
            "-1: off"),                                                                            \
        CLI_SAMPLER_VALUE(typical_p, 0, 1, "--typical, --typical-p", "P",                          \
                          "only the tokens whose surprise is nearest the mean, of a total "        \
                          "probability P, default 1: off"),                                        \
        CLI_SAMPLER_VALUE(xtc_probability, 0, 1, "--xtc-probability", "P",                         \
                          "probability of dropping all tokens over the threshold but the least "   \
                          "likely, default 0: off"),                                               \
        CLI_SAMPLER_VALUE(xtc_threshold, 0, 1, "--xtc-threshold", "P",                             \
                          "threshold of XTC, default 0.1; over 0.5: off"),                         \
        CLI_SAMPLER_VALUE(                                                                         \
            dynatemp_range, 0, 1000, "--dynatemp-range", "T",                                      \
            "the temperature follows the entropy, by up to T up or down, default 0"),              \
        CLI_SAMPLER_VALUE(dynatemp_exponent, 0, 1000, "--dynatemp-exp", "X",                       \
                          "exponent of the entropy in it, default 1"),                             \
        CLI_SAMPLER_COUNT(mirostat, cli_parse_count, "--mirostat",                                 \
                          "version of mirostat, 1 or 2, in place of the filters, default 0: off"), \
        CLI_SAMPLER_VALUE(mirostat_eta, 0, 1e6, "--mirostat-lr", "X",                              \
                          "learning rate of mirostat, default 0.1"),                               \
        CLI_SAMPLER_VALUE(mirostat_tau, 0, 1e6, "--mirostat-ent", "X",                             \
                          "target surprise of mirostat in bits, default 5"),                       \
        CLI_SAMPLER_VALUE(adaptive_target, -1, 1, "--adaptive-target", "P",                        \
                          "prefers tokens so that their mean probability tends to P, default -1: " \
                          "off"),                                                                  \
        CLI_SAMPLER_VALUE(adaptive_decay, 0, 0.99, "--adaptive-decay", "X",                        \
                          "how slowly that mean changes, default 0.9"),                            \
        CLI_CUSTOM(sampling.samplers, cli_parse_bias, "-l, --logit-bias", "ID(+/-)X",              \
                   "adds to the logit of a token, such as 15043+1, or bans it: 15043-inf; may be " \
                   "repeated")

// Read values, for rows: a number of tokens, the same or -1, ID+X or ID-X, a breaker.
bool cli_parse_count(const char *text, void *field, char *why, size_t size);
bool cli_parse_window(const char *text, void *field, char *why, size_t size);
bool cli_parse_bias(const char *text, void *field, char *why, size_t size);
bool cli_parse_breaker(const char *text, void *field, char *why, size_t size);

#endif
