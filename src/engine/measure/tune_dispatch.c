// How a device that no row knows dispatches grids that change. A GPU whose command processor reads
// the counts saves the host the reckoning; a driver that maps them on the CPU waits for all that is
// pending before.
#include "engine/measure/tune.h"

enum { N_ROUNDS = 7 };

// Records the step in either way. The programs are those of the step that was built.
static struct gi_dispatch_table *record_either(struct gi_tune *tune, bool is_indirect)
{
    gi_gpu_set_indirect(gi_session_gpu(tune->session), is_indirect);
    struct gi_dispatch_table *table = gi_tune_record(tune, false);
    if (table && !gi_dispatch_table_seal(table, tune->err)) {
        gi_dispatch_table_destroy(table);
        return NULL;
    }
    return table;
}

// Indirect grids have to win all rounds but one.
static bool compare(struct gi_tune *tune, struct gi_dispatch_table *direct,
                    struct gi_dispatch_table *indirect, bool *is_indirect)
{
    struct gi_tune_run run = {.n_tokens = 1, .n = gi_tune_step_replays(tune)};
    uint32_t n_won = 0;
    for (uint32_t i = 0; i < N_ROUNDS; i++) {
        double ns[2];
        for (int k = 0; k < 2; k++) {
            run.table = k == 0 ? direct : indirect;
            if (!gi_tune_clock_wall(&tune->clock, &run, &ns[k], tune->err)) {
                return false;
            }
        }
        n_won += ns[1] < ns[0];
    }
    *is_indirect = n_won + 1 >= N_ROUNDS;
    return true;
}

bool gi_tune_dispatch(struct gi_tune *tune)
{
    if (!gi_gpu_is_dispatch_open(gi_session_gpu(tune->session))) {
        return true;
    }
    const bool before = gi_gpu_limits(gi_session_gpu(tune->session))->is_indirect;
    bool is_indirect = false;
    struct gi_dispatch_table *direct = record_either(tune, false);
    struct gi_dispatch_table *indirect = direct ? record_either(tune, true) : NULL;
    const bool ok = indirect && compare(tune, direct, indirect, &is_indirect);
    gi_gpu_set_indirect(gi_session_gpu(tune->session), before);
    if (ok) {
        tune->dispatch = is_indirect ? "indirect" : "direct";
    }
    gi_dispatch_table_destroy(direct);
    gi_dispatch_table_destroy(indirect);
    return ok;
}
