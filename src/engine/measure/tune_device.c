// Chooses the settings of a device as a whole: dispatches and the form of batches.
#include "base/clock.h"
#include "engine/measure/tune.h"
#include "ops/gemm/batch_form.h"

//-- dispatches ------------------------------------------------------------------------------------

// How a device that no row knows dispatches grids that change. A GPU whose command processor reads
// the counts saves the host the reckoning; a driver that maps them on the CPU waits for all that is
// pending before.

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
static bool compare_dispatch(struct gi_tune *tune, struct gi_dispatch_table *direct,
                             struct gi_dispatch_table *indirect, bool *is_indirect)
{
    struct gi_tune_run run = {
        .runner = &tune->session->runner, .n_tokens = 1, .n = gi_tune_step_replays(tune)};
    uint32_t n_won = 0;
    for (uint32_t i = 0; i < N_ROUNDS; i++) {
        double ns[2];
        for (int k = 0; k < 2; k++) {
            run.table = k == 0 ? direct : indirect;
            if (!gi_tune_clock_wall(&tune->clock, &run, &ns[k])) {
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
    const bool ok = indirect && compare_dispatch(tune, direct, indirect, &is_indirect);
    gi_gpu_set_indirect(gi_session_gpu(tune->session), before);
    if (ok) {
        tune->dispatch = is_indirect ? "indirect" : "direct";
    }
    gi_dispatch_table_destroy(direct);
    gi_dispatch_table_destroy(indirect);
    return ok;
}

//-- batches ---------------------------------------------------------------------------------------

// Which form the kernels of a prompt take on a small GPU: its class says a row of weights an
// invocation, but some have shared memory that is worth having.

enum { MOST_TOKENS = 64 }; // a tile of the split form

// Records and builds a prompt's table in a form; *table is NULL where the driver refuses it.
static bool build_form(struct gi_tune *tune, enum gi_batch_form form,
                       struct gi_dispatch_table **table)
{
    struct glinfer_error own;
    gi_gpu_set_batch_form(gi_session_gpu(tune->session), form);
    *table = gi_tune_record(tune, true);
    if (!*table) {
        return false;
    }
    if (gi_program_table_build(tune->programs, NULL, NULL, &own)) {
        return gi_dispatch_table_seal(*table, tune->err);
    }
    gi_program_table_forget(tune->programs);
    gi_dispatch_table_destroy(*table);
    *table = NULL;
    return own.status != GLINFER_STATUS_GPU_LOST || gi_error_pass(tune->err, &own);
}

// Runs take seconds on a board: the second one of each, for which nothing is compiled any more, is
// only made where the first one leaves a doubt.
static bool compare_forms(struct gi_tune *tune, struct gi_dispatch_table *lane,
                          struct gi_dispatch_table *split, bool *is_split)
{
    const uint32_t n_batch = tune->batches->tables.n_batch;
    struct gi_tune_run run = {.runner = &tune->batches->runner,
                              .n_tokens = n_batch < MOST_TOKENS ? n_batch : MOST_TOKENS,
                              .n = 1};
    double ns[2] = {0};
    for (int round = 0; round < 2 && ns[1] <= 1.5 * ns[0]; round++) {
        for (int i = 0; i < 2; i++) {
            run.table = i == 0 ? lane : split;
            if (!gi_tune_clock_measure(&tune->clock, &run, &ns[i])) {
                return false;
            }
        }
    }
    *is_split = ns[1] < 0.9 * ns[0];
    return true;
}

bool gi_tune_batch(struct gi_tune *tune)
{
    struct gi_gpu *gpu = gi_session_gpu(tune->session);
    const uint64_t now = gi_clock_ns();
    const double left = now < tune->end_ns ? (double)(tune->end_ns - now) : 0;
    // Six runs or so of MOST_TOKENS fit a good part of the time, at what a step takes.
    const bool has_time = tune->stats.table_step_ns * MOST_TOKENS < left;
    if (!gi_batch_is_open(gpu) || !has_time) {
        return true;
    }
    const enum gi_batch_form before = gi_gpu_batch_form(gpu);
    struct gi_dispatch_table *lane = NULL, *split = NULL;
    bool is_split = false;
    bool ok = build_form(tune, GI_BATCH_FORM_LANE, &lane) &&
              build_form(tune, GI_BATCH_FORM_SPLIT, &split) &&
              (!lane || !split || compare_forms(tune, lane, split, &is_split));
    gi_dispatch_table_destroy(lane);
    gi_dispatch_table_destroy(split);
    gi_gpu_set_batch_form(gpu, before);
    if (ok) {
        tune->batch = is_split ? "split" : "lane";
        gi_gpu_set_batch_form(gpu, is_split ? GI_BATCH_FORM_SPLIT : GI_BATCH_FORM_LANE);
    }
    return ok;
}
