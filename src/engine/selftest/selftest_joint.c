// The self-test of lists with slots: joint ones, and those that choose a token for each row of a
// draft. Each slot has its own state, position and cache, which differ in the tests. The session's
// memory is used, where answers may be in progress, so all memory that entries read or write is
// restored.
#include "base/clock.h"
#include "engine/selftest/selftest_run.h"
#include "gpu/dispatch/multi_executor.h"

#include <stdlib.h>

//-- inputs ----------------------------------------------------------------------------------------

// Sets the states of all slots; all take part.
static void choose_states(struct gi_selftest_run *run, struct gi_step_state slots[GI_MAX_ROWS],
                          uint32_t n_rows, enum gi_step_end end)
{
    enum { KEYS_BETWEEN = 13 };
    const uint32_t n_slots = run->tested.joint->n_slots;
    const uint32_t room = run->tested.graph->kv_cache[0].n_ctx - 1;
    const uint32_t most = room < GI_SELFTEST_PAST ? room : GI_SELFTEST_PAST;
    for (uint32_t i = 0; i < n_slots; i++) {
        slots[i] = (struct gi_step_state){
            .token = (3 + 5 * i) % GI_N_SAMPLED_TOKENS,
            .n_past = most > i * KEYS_BETWEEN ? most - i * KEYS_BETWEEN : most,
            .n_tokens = 1,
            .step = 5 + i,
            .epoch = 3,
            .max_steps = 1000,
            .seed_lo = 17 + i,
        };
        gi_selftest_set_end(&slots[i], (uint32_t)end % GI_STEP_END_ADJUSTED);
    }
    run->slots = slots;
    run->state = (struct gi_step_state){
        .token = (1u << n_slots) - 1, .n_past = most, .n_tokens = n_rows, .epoch = 1};
}

// Writes logits of all rows, the input of the entry that finds their partial results. The output
// projection does not run if its program is not the first of the list.
static bool write_logits(const struct gi_selftest_run *run)
{
    const struct gi_joint *joint = run->tested.joint;
    const uint32_t n = run->tested.graph->hparams->n_vocab;
    float *logits = malloc(n * sizeof(*logits));
    bool ok = logits || gi_error_no_memory(run->err, n * sizeof(*logits), "the self-test");
    for (uint32_t i = joint->first_row; ok && i < joint->first_row + joint->n_rows; i++) {
        const struct gi_range range = gi_slot_range(&joint->logits, i);
        for (uint32_t j = 0; j < n; j++) {
            logits[j] = (float)((i * n + j + 1) * 2654435761u >> 8) / 2097152.0f - 4; // below 4
        }
        ok = gi_buffer_write((struct gi_buffer *)range.buffer, gi_selftest_gpu(run), range.offset,
                             logits, n * sizeof(*logits), run->err);
    }
    free(logits);
    return ok;
}

//-- a list ----------------------------------------------------------------------------------------

// Computes the logits of all rows with an executor.
static bool run_logits(const struct gi_selftest_run *run, struct gi_executor *logits)
{
    const struct gi_chain chain = {
        .n_past = run->state.n_past, .n_tokens = run->state.n_tokens, .n_steps = 1};
    return gi_selftest_write_states(run) && gi_executor_submit(logits, &chain, run->err);
}

// Tests a list with n_rows rows and this end. The executor `logits` computes its logits; NULL: they
// are written here.
static bool run_list(struct gi_selftest_run *run, uint32_t n_rows, enum gi_step_end end,
                     struct gi_executor *logits)
{
    const uint64_t begin = gi_clock_ns(), waits = gi_gpu_wait_count(gi_selftest_gpu(run));
    struct gi_step_state slots[GI_MAX_ROWS];
    struct gi_selftest_kept kept = {0};
    *run->is_changed = false;
    if (!gi_selftest_is_asked(&run->tested)) {
        return true;
    }
    choose_states(run, slots, n_rows, end);
    if (!gi_selftest_look_up(run) || *run->is_changed) {
        return true;
    }
    bool ok = gi_selftest_keep(run, &kept) && gi_selftest_write_rows(run, n_rows) &&
              (logits ? run_logits(run, logits) : write_logits(run)) && gi_selftest_run_list(run);
    ok = gi_selftest_restore(run, &kept, ok);
    gi_selftest_log_cost(run, begin, waits);
    return ok;
}

bool gi_selftest_run_joint(struct gi_joint_tables *tables, struct gi_dispatch_table *list,
                           uint32_t n_rows, enum gi_step_end end, bool *is_changed,
                           struct glinfer_error *err)
{
    struct gi_selftest_run run = {
        .tested = gi_tested_joint(tables), .list = list, .is_changed = is_changed, .err = err};
    return run_list(&run, n_rows, end, NULL);
}

bool gi_selftest_run_choices(struct gi_tables *tables, struct gi_dispatch_table *list,
                             const struct gi_joint *rows, struct gi_executor *logits,
                             enum gi_step_end end, bool *is_changed, struct glinfer_error *err)
{
    struct gi_selftest_run run = {
        .tested = gi_tested_tables(tables), .list = list, .is_changed = is_changed, .err = err};
    run.tested.joint = rows;
    return run_list(&run, rows->n_slots, end, logits);
}
