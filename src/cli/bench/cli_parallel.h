// Several sequences that generate at once, for `glinfer bench -np`.
#pragma once

#include "cli/common/cli_session.h"

#define CLI_MAX_PARALLEL 16

struct cli_parallel {
    struct glinfer_session *sessions[CLI_MAX_PARALLEL];
    uint32_t n; // 0: not open
};

// Creates n sessions of the model of *session together. Prints what failed.
bool cli_parallel_open(struct cli_parallel *parallel, struct cli_session *session, uint32_t n);
// Accepts a struct that is not open.
void cli_parallel_close(struct cli_parallel *parallel);

// Answers params in all sequences at once, each after n_depth tokens of its prompt. Sets stats to
// those of one sequence; prompt_ms and predicted_ms are as if all tokens were one sequence's:
// predicted_ms is the time of its tokens after the first at the rate of all together, from when all
// have their first token. Prints what failed.
bool cli_parallel_run(struct cli_parallel *parallel, struct glinfer_device *device,
                      const struct glinfer_generate_params *params, uint32_t n_depth,
                      struct glinfer_stats *stats);
