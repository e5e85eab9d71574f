// Which form the kernels of a prompt take on a small GPU: its class says a row of weights an
// invocation, but some have shared memory that is worth having.
#include "base/clock.h"
#include "engine/measure/tune.h"
#include "ops/gemm/batch_form.h"

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
    return own.status != GLINFER_STATUS_GPU_LOST ||
           gi_error_set(tune->err, own.status, "%s", own.message);
}

// Runs take seconds on a board: the second one of each, for which nothing is compiled any more, is
// only made where the first one leaves a doubt.
static bool compare(struct gi_tune *tune, struct gi_dispatch_table *lane,
                    struct gi_dispatch_table *split, bool *is_split)
{
    const uint32_t n_batch = tune->session->tables.n_batch;
    struct gi_tune_run run = {.n_tokens = n_batch < MOST_TOKENS ? n_batch : MOST_TOKENS, .n = 1};
    double ns[2] = {0};
    for (int round = 0; round < 2 && ns[1] <= 1.5 * ns[0]; round++) {
        for (int i = 0; i < 2; i++) {
            run.table = i == 0 ? lane : split;
            if (!gi_tune_clock_measure(&tune->clock, &run, &ns[i], tune->err)) {
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
              (!lane || !split || compare(tune, lane, split, &is_split));
    gi_dispatch_table_destroy(lane);
    gi_dispatch_table_destroy(split);
    gi_gpu_set_batch_form(gpu, before);
    if (ok) {
        tune->batch = is_split ? "split" : "lane";
        gi_gpu_set_batch_form(gpu, is_split ? GI_BATCH_FORM_SPLIT : GI_BATCH_FORM_LANE);
    }
    return ok;
}
