// The self-test of the lists of one sequence: the inputs of their tests.
#include "base/clock.h"
#include "base/round.h"
#include "engine/selftest/selftest_run.h"
#include "gpu/dispatch/multi_executor.h"

// Places the tests of batches in the text, as far as the context allows: attention takes several
// tiles of tokens and of keys.
enum { BATCH_PAST = 100, BATCH_TOKENS = 67, END_TOKENS = 3 };

//-- inputs ----------------------------------------------------------------------------------------

// Sets the state of a list's tests: position and tokens, and how it ends.
static void choose_state(struct gi_selftest_run *run, const struct gi_tables *tables, uint32_t list)
{
    const uint32_t n_ctx = tables->graph.kv_cache[0].n_ctx;
    const bool is_step = list >= GI_LIST_STEP && list < GI_LIST_PROMPT_END;
    const bool is_end = list >= GI_LIST_PROMPT_END;
    uint32_t n_tokens = list == GI_LIST_PROMPT_SMALL ? tables->n_small
                        : is_step                    ? 1
                        : is_end                     ? END_TOKENS
                                                     : BATCH_TOKENS;
    n_tokens = gi_min_u32(gi_min_u32(n_tokens, tables->n_batch), n_ctx);
    run->state = (struct gi_step_state){
        .token = 3,
        .n_past = gi_min_u32(n_ctx - n_tokens, is_step ? GI_SELFTEST_PAST : BATCH_PAST),
        .n_tokens = n_tokens,
        .step = 5,
        .epoch = 3,
        .max_steps = 1000,
        .seed_lo = 17,
    };
    if (is_step || is_end) {
        gi_selftest_set_end(&run->state, (list - (is_end ? GI_LIST_PROMPT_END : GI_LIST_STEP)) %
                                             (uint32_t)GI_STEP_END_ADJUSTED);
    }
}

// Writes the tokens of a batch, and the rows that a batch leaves for what follows.
static bool write_inputs(const struct gi_selftest_run *run)
{
    const struct gi_range *range = &run->tested.graph->tokens;
    const uint32_t n_tokens = run->state.n_tokens;
    uint32_t tokens[BATCH_TOKENS + 1] = {0};
    for (uint32_t i = 0; i < n_tokens; i++) {
        tokens[i] = i * 5 % GI_N_SAMPLED_TOKENS;
    }
    return gi_buffer_write((struct gi_buffer *)range->buffer, gi_selftest_gpu(run), range->offset,
                           tokens, n_tokens * sizeof(*tokens), run->err) &&
           gi_selftest_write_rows(run, n_tokens);
}

//-- all lists -------------------------------------------------------------------------------------

static void choose_list(struct gi_selftest_run *run, const struct gi_tables *tables, uint32_t list)
{
    run->list = gi_multi_executor_list(tables->executors[list]);
    choose_state(run, tables, list);
}

// Tests a set of lists. What they write is saved before the first and restored after the last: the
// session may be in the middle of an answer.
static bool test_lists(struct gi_selftest_run *run, const struct gi_tables *tables, uint32_t open)
{
    struct gi_selftest_kept kept = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < GI_LIST_COUNT; i++) {
        if (open >> i & 1) {
            choose_list(run, tables, i);
            ok = gi_selftest_keep(run, &kept);
        }
    }
    for (uint32_t i = 0; ok && i < GI_LIST_COUNT && !*run->is_changed; i++) {
        if (open >> i & 1) {
            choose_list(run, tables, i);
            ok = write_inputs(run) && gi_selftest_run_list(run);
        }
    }
    return gi_selftest_restore(run, &kept, ok);
}

bool gi_selftest_run_rows(struct gi_tables *tables, struct gi_dispatch_table *list, uint32_t n_rows,
                          bool *is_changed, struct glinfer_error *err)
{
    struct gi_selftest_run run = {
        .tested = gi_tested_tables(tables), .list = list, .is_changed = is_changed, .err = err};
    struct gi_selftest_kept kept = {0};
    *is_changed = false;
    if (!gi_selftest_is_asked(&run.tested) || !gi_selftest_look_up(&run) || *is_changed) {
        return true;
    }
    run.state = (struct gi_step_state){
        .n_tokens = gi_min_u32(n_rows, BATCH_TOKENS), .epoch = 1, .max_steps = 1000};
    const bool ok =
        gi_selftest_keep(&run, &kept) && write_inputs(&run) && gi_selftest_run_list(&run);
    return gi_selftest_restore(&run, &kept, ok);
}

// NOLINTNEXTLINE(readability-non-const-parameter): the run writes through it
bool gi_selftest_run(struct gi_tables *tables, uint32_t lists, bool *is_changed,
                     struct glinfer_error *err)
{
    struct gi_selftest_run run = {
        .tested = gi_tested_tables(tables), .is_changed = is_changed, .err = err};
    const uint64_t begin = gi_clock_ns(), waits = gi_gpu_wait_count(tables->recorder.gpu);
    uint32_t open = 0;
    if (!gi_selftest_is_asked(&run.tested)) {
        return true;
    }
    for (uint32_t i = 0; i < GI_LIST_COUNT; i++) {
        if (lists >> i & 1) {
            run.list = gi_multi_executor_list(tables->executors[i]);
            open |= (uint32_t)gi_selftest_look_up(&run) << i;
        }
    }
    if (*is_changed || open == 0) {
        return true;
    }
    const bool ok = test_lists(&run, tables, open);
    if (ok && !*is_changed && tables->recorder.is_half) {
        gi_program_set_half_refusal(tables->recorder.programs, NULL);
    }
    gi_selftest_log_cost(&run, begin, waits);
    return ok;
}
