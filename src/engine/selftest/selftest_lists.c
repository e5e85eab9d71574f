// The self-test of lists: writes their inputs, and restores the memory that the tests write.
#include "base/clock.h"
#include "engine/selftest/selftest_run.h"
#include "gpu/device/settings.h"

#include <assert.h>
#include <stdlib.h>

//-- inputs ----------------------------------------------------------------------------------------

// Writes test values to the first n_embd columns of the tokens' rows of the residual stream.
static bool write_rows(const struct gi_selftest_run *run)
{
    const struct gi_rows *rows = &run->tested.graph->x;
    const uint32_t width = run->tested.graph->hparams->n_embd;
    float *x = malloc(width * sizeof(*x));
    bool ok = x || gi_error_no_memory(run->err, width * sizeof(*x), "the self-test");
    for (uint32_t i = 0; ok && i < width; i++) {
        x[i] = (float)(i * 37 % 101) / 50.0f - 1.0f;
    }
    for (uint32_t i = 0; ok && i < run->state.n_tokens; i++) {
        const uint64_t row = (uint64_t)i * rows->stride * sizeof(*x);
        ok = gi_buffer_write(rows->range.buffer, gi_selftest_gpu(run), rows->range.offset + row, x,
                             width * sizeof(*x), run->err);
    }
    free(x);
    return ok;
}

static bool write_tokens(const struct gi_selftest_run *run)
{
    const struct gi_range *range = &run->tested.graph->tokens;
    const uint32_t n_tokens = run->state.n_tokens;
    uint32_t tokens[GI_SELFTEST_TOKENS] = {0};
    assert(n_tokens <= GI_SELFTEST_TOKENS);
    for (uint32_t i = 0; i < n_tokens; i++) {
        tokens[i] = i * 5 % GI_N_SAMPLED_TOKENS;
    }
    return gi_buffer_write(range->buffer, gi_selftest_gpu(run), range->offset, tokens,
                           n_tokens * sizeof(*tokens), run->err);
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
        ok = gi_buffer_write(range.buffer, gi_selftest_gpu(run), range.offset, logits,
                             n * sizeof(*logits), run->err);
    }
    free(logits);
    return ok;
}

// Computes the logits of all rows with an executor.
static bool run_logits(const struct gi_selftest_run *run, struct gi_executor *logits)
{
    const struct gi_chain chain = {
        .n_past = run->state.n_past, .n_tokens = run->state.n_tokens, .n_steps = 1};
    return gi_selftest_write_states(run) && gi_executor_submit(logits, &chain, run->err);
}

static bool write_inputs(const struct gi_selftest_run *run, const struct gi_tested_list *test)
{
    return !run->slots    ? write_tokens(run) && write_rows(run)
           : test->logits ? write_rows(run) && run_logits(run, test->logits)
                          : write_rows(run) && write_logits(run);
}

//-- all lists -------------------------------------------------------------------------------------

// Returns false if GLINFER_SELFTEST disables tests or GLINFER_FAULT breaks dispatches of correct
// programs.
static bool is_asked(const struct gi_tested *tested)
{
    const struct gi_settings *settings = gi_gpu_settings(tested->recorder->gpu);
    const enum gi_fault_kind kind = settings->fault.kind;
    return (settings->selftest != GI_CHOICE_NO || tested->listener->each) &&
           kind != GI_FAULT_SKIP && kind != GI_FAULT_SLOW && kind != GI_FAULT_LOST;
}

static void choose_list(struct gi_selftest_run *run, const struct gi_tested_list *test)
{
    run->list = test->list;
    run->state = test->state;
    run->slots = test->slots;
}

// Tests a set of lists. What they write is saved before the first and restored after the last.
static bool test_lists(struct gi_selftest_run *run, const struct gi_tested_list *lists,
                       uint32_t open)
{
    struct gi_selftest_kept kept = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && open >> i; i++) {
        if (open >> i & 1) {
            choose_list(run, &lists[i]);
            ok = gi_selftest_keep(run, &kept);
        }
    }
    for (uint32_t i = 0; ok && open >> i && !*run->is_changed; i++) {
        if (open >> i & 1) {
            choose_list(run, &lists[i]);
            ok = write_inputs(run, &lists[i]) && gi_selftest_run_list(run);
        }
    }
    return gi_selftest_restore(run, &kept, ok);
}

// NOLINTNEXTLINE(readability-non-const-parameter): the run writes through it
bool gi_selftest_run(const struct gi_tested *tested, const struct gi_tested_list *lists, uint32_t n,
                     bool *is_changed, struct glinfer_error *err)
{
    struct gi_gpu *gpu = tested->recorder->gpu;
    struct gi_selftest_run run = {.tested = *tested, .is_changed = is_changed, .err = err};
    const uint64_t begin = gi_clock_ns(), waits = gi_gpu_counts(gpu)->n_waits;
    uint32_t open = 0;
    assert(n < 32);
    *is_changed = false;
    if (!is_asked(tested)) {
        return true;
    }
    for (uint32_t i = 0; i < n; i++) {
        choose_list(&run, &lists[i]);
        open |= (uint32_t)gi_selftest_look_up(&run) << i;
    }
    if (*is_changed || open == 0) {
        return true;
    }
    const bool ok = test_lists(&run, lists, open);
    if (ok && !*is_changed && tested->recorder->is_half && !tested->joint) {
        gi_program_set_half_refusal(tested->recorder->programs, NULL);
    }
    gi_log_write(gi_gpu_log(gpu), GLINFER_LOG_INFO,
                 "the self-test of %u programs took %.0f ms, %u waits", run.n_tested,
                 (double)(gi_clock_ns() - begin) / 1e6,
                 (uint32_t)(gi_gpu_counts(gpu)->n_waits - waits));
    return ok;
}
