// Flags of speculation, with llama-server's names.
#ifndef CLI_SPECULATION_H
#define CLI_SPECULATION_H

#include "cli/common/cli_args.h"

enum cli_spec_type {
    CLI_SPEC_NONE,
    CLI_SPEC_NGRAM_SIMPLE,
};

extern const char *const cli_spec_types[]; // of the enum

struct cli_speculation {
    int type;            // enum cli_spec_type
    int64_t match, most; // tokens
};

#define CLI_SPECULATION_DEFAULTS                                                                   \
    {                                                                                              \
        .match = 3, .most = 48                                                                     \
    }

// Rows of a flag table for settings with a field `sampling` that has a field `speculation` of the
// type above.
#define CLI_SPECULATION_FLAGS                                                                      \
    CLI_CHOICE(sampling.speculation.type, cli_spec_types, "--spec-type", "TYPE",                   \
               "ngram-simple: computes several tokens at once where the text repeats itself and "  \
               "that is faster; the answer is the same; none (default)"),                          \
        CLI_INT(sampling.speculation.match, 1, 1024,                                               \
                "--spec-ngram-simple-size-n, --spec-ngram-size-n", "N",                            \
                "last tokens that must have occurred before, default 3"),                          \
        CLI_INT(sampling.speculation.most, 1, 1024,                                                \
                "--spec-ngram-simple-size-m, --spec-ngram-size-m", "N",                            \
                "most tokens tried after them, default 48; devices have a limit, 3 "               \
                "to 15")

#endif
