// The sampling of tokens: flags with llama-cli's names and defaults.
#ifndef CLI_SAMPLING_H
#define CLI_SAMPLING_H

#include "cli/sampling/cli_grammar.h"
#include "cli/sampling/cli_samplers.h"
#include "cli/sampling/cli_speculation.h"

struct cli_sampling {
    int64_t seed; // -1: random
    float temperature, top_p, min_p;
    int64_t top_k;
    struct cli_samplers samplers;
    struct glinfer_grammar grammar;
    struct cli_speculation speculation;
};

#define CLI_SAMPLING_AT(temperature_)                                                              \
    {                                                                                              \
        .seed = -1, .temperature = (temperature_), .top_k = 40, .top_p = 0.95F, .min_p = 0.05F,    \
        .samplers = CLI_SAMPLERS_DEFAULTS, .grammar = CLI_GRAMMAR_DEFAULTS,                        \
        .speculation = CLI_SPECULATION_DEFAULTS                                                    \
    }
#define CLI_SAMPLING_DEFAULTS CLI_SAMPLING_AT(0.8F)

// Rows of a flag table for settings with a field `sampling` of the type above.
#define CLI_SAMPLING_FLAGS                                                                         \
    CLI_HEADING("Sampling"),                                                                       \
        CLI_INT(sampling.seed, -1, 4294967295, "-s, --seed", "N",                                  \
                "the same seed gives the same answer; -1 (default): random, printed by -v"),       \
        CLI_FLOAT(sampling.temperature, 0, 1000, "--temp, --temperature", "T",                     \
                  "temperature, default 0.8; 0: always the likeliest token"),                      \
        CLI_FILTER_FLAGS, CLI_SAMPLER_FLAGS, CLI_GRAMMAR_FLAGS, CLI_SPECULATION_FLAGS
#define CLI_FILTER_FLAGS                                                                           \
    CLI_INT(sampling.top_k, 0, 1 << 24, "--top-k", "N",                                            \
            "only the N likeliest tokens, default 40; 0: off"),                                    \
        CLI_FLOAT(sampling.top_p, 0, 1, "--top-p", "P",                                            \
                  "only the likeliest tokens of a total probability P, default 0.95; 1: off"),     \
        CLI_FLOAT(                                                                                 \
            sampling.min_p, 0, 1, "--min-p", "P",                                                  \
            "only tokens with P times the likeliest one's probability, default 0.05; 0: off")

// llama-cli's flags that have no effect on run and chat.
#define CLI_IGNORED_FLAGS                                                                          \
    CLI_IGNORED_VALUE("-np, --parallel", "there is one sequence"), CLI_IGNORED_MODEL_FLAGS
// Those of llama-server too.
#define CLI_IGNORED_MODEL_FLAGS                                                                    \
    CLI_IGNORED_VALUE("-ngl, --gpu-layers, --n-gpu-layers", "every layer runs on the device"),     \
        CLI_IGNORED_VALUE("-t, --threads", "the GL driver manages its threads"),                   \
        CLI_IGNORED_VALUE("-tb, --threads-batch", "the GL driver manages its threads"),            \
        CLI_IGNORED_VALUE("-b, --batch-size", "-ub says how many prompt tokens go together"),      \
        CLI_IGNORED_VALUE("-fa, --flash-attn", "attention is always fused"),                       \
        CLI_IGNORED_VALUE("-sm, --split-mode", "there is one device"),                             \
        CLI_IGNORED_VALUE("-mg, --main-gpu", "-dev chooses the device"),                           \
        CLI_IGNORED_VALUE("-lv, --verbosity, --log-verbosity", "-v prints all there is"),          \
        CLI_IGNORED_VALUE("--log-file", "notes go to stderr"),                                     \
        CLI_IGNORED_VALUE("-co, --color", "the answer is plain text"),                             \
        CLI_IGNORED("--no-warmup", "there is no warm-up"),                                         \
        CLI_IGNORED("--warmup", "there is no warm-up"),                                            \
        CLI_IGNORED("--no-mmap", "the file is mapped, copied to the device and unmapped"),         \
        CLI_IGNORED("--mmap", "the file is mapped, copied to the device and unmapped"),            \
        CLI_IGNORED("--mlock", "the weights are on the device"),                                   \
        CLI_IGNORED("-nkvo, --no-kv-offload", "the cache is on the device"),                       \
        CLI_IGNORED("--jinja", "a file's own chat template is used as it is"),                     \
        CLI_IGNORED("--simple-io", "output is always plain"),                                      \
        CLI_IGNORED("--no-display-prompt", "the prompt is never printed")

// Returns the seed asked for, or a random one; says which on stderr if is_verbose.
uint64_t cli_sampling_seed(const struct cli_sampling *sampling, bool is_verbose);
// Says what is wrong with the grammar, before anything is loaded; false then.
bool cli_sampling_check(const struct cli_sampling *sampling);
// Fills the fields of params that the flags set.
void cli_sampling_fill(const struct cli_sampling *sampling, uint64_t seed,
                       struct glinfer_generate_params *params);

#endif
