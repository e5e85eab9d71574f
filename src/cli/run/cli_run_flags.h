// What the flags of `glinfer run` set.
#ifndef CLI_RUN_FLAGS_H
#define CLI_RUN_FLAGS_H

#include "cli/common/cli_sampling.h"
#include "cli/common/cli_session.h"

struct cli_run_settings {
    struct cli_session_flags session;
    const char *prompt, *file, *system;
    bool is_raw, has_escapes;
    int64_t n_predict;
    struct cli_texts stop;
    bool ignores_eos;
    struct cli_sampling sampling;
    bool is_json, is_timed, is_untimed;
    int64_t n_probs;
};

// The defaults, as llama-cli has them.
void cli_run_defaults(struct cli_run_settings *settings);

#endif
