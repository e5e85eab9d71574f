// `glinfer profile --plan`: how a prompt and a step would be submitted, as a table or JSON.
#ifndef CLI_PLAN_H
#define CLI_PLAN_H

#include "cli/common/cli_session.h"

struct cli_plan_stage {
    uint32_t n_prompt; // 0: a decode step
    uint32_t depth;
};

// Plans the stages one after the other and prints them.
bool cli_plan_print(struct cli_session *session, const struct cli_plan_stage *stages, size_t n,
                    bool is_json);

#endif
