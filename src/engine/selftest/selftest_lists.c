// The self-test of the lists of one sequence: what their tests begin with, and what of the session
// they must leave as it was.
#include "base/clock.h"
#include "engine/selftest/selftest_run.h"
#include "gpu/device/fence.h"
#include "gpu/dispatch/multi_executor.h"

#include <stdlib.h>

// Places the tests of batches in the text, as far as the context allows: attention takes several
// tiles of tokens and of keys.
enum { BATCH_PAST = 100, BATCH_TOKENS = 67, END_TOKENS = 3 };

//-- inputs ----------------------------------------------------------------------------------------

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

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
    n_tokens = least(least(n_tokens, tables->n_batch), n_ctx);
    run->state = (struct gi_step_state){
        .token = 3,
        .n_past = least(n_ctx - n_tokens, is_step ? GI_SELFTEST_PAST : BATCH_PAST),
        .n_tokens = n_tokens,
        .epoch = 1,
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

//-- what must not be lost -------------------------------------------------------------------------

// The caches and states of all layers of a sequence that has tokens, and step_state.
struct kept {
    uint8_t *caches; // of one layer behind the other, then states; NULL: the sequence is empty
    struct gi_step_state state;
};

// Returns the cache of layer i or, from the number of layers on, a state.
static const struct gi_range *kept_range(const struct gi_graph *graph, uint32_t i)
{
    const uint32_t n_layer = graph->hparams->n_layer;
    return i < n_layer ? &graph->kv_cache[i].range : &graph->states[i - n_layer];
}

static bool keep(const struct gi_selftest_run *run, const struct gi_tables *tables,
                 struct kept *kept)
{
    const struct gi_range *state = &tables->step_buffers.state;
    const uint32_t n = tables->sequence->n_past > 0 ? 2 * tables->graph.hparams->n_layer : 0;
    uint64_t size = 0, at = 0;
    for (uint32_t i = 0; i < n; i++) {
        size += kept_range(&tables->graph, i)->size;
    }
    *kept = (struct kept){.caches = n > 0 ? malloc(size) : NULL};
    bool ok = n == 0 || kept->caches || gi_error_no_memory(run->err, size, "the self-test");
    for (uint32_t i = 0; ok && i < n; i++) {
        const struct gi_range *range = kept_range(&tables->graph, i);
        ok = range->size == 0 || gi_buffer_read(range->buffer, gi_selftest_gpu(run), range->offset,
                                                kept->caches + at, range->size, run->err);
        at += range->size;
    }
    return ok && gi_buffer_read(state->buffer, gi_selftest_gpu(run), state->offset, &kept->state,
                                sizeof(kept->state), run->err);
}

// Puts it back, even where the tests were cancelled. Returns ok, or false with what failed.
static bool restore(const struct gi_selftest_run *run, const struct gi_tables *tables,
                    struct kept *kept, bool ok)
{
    const struct gi_range *state = &tables->step_buffers.state;
    struct glinfer_error late = {0};
    atomic_bool *watched = gi_gpu_watch(gi_selftest_gpu(run), NULL);
    bool is_back = gi_buffer_write((struct gi_buffer *)state->buffer, gi_selftest_gpu(run),
                                   state->offset, &kept->state, sizeof(kept->state), &late);
    uint64_t at = 0;
    const uint32_t n = kept->caches ? 2 * tables->graph.hparams->n_layer : 0;
    for (uint32_t i = 0; is_back && i < n; i++) {
        const struct gi_range *range = kept_range(&tables->graph, i);
        is_back = range->size == 0 ||
                  gi_buffer_write((struct gi_buffer *)range->buffer, gi_selftest_gpu(run),
                                  range->offset, kept->caches + at, range->size, &late);
        at += range->size;
    }
    gi_gpu_watch(gi_selftest_gpu(run), watched);
    return ok && (is_back || gi_error_set(run->err, late.status, "%s", late.message));
}

//-- all lists -------------------------------------------------------------------------------------

// Looks at all findings first: nothing is saved or run where all are known.
static bool test_lists(struct gi_selftest_run *run, const struct gi_tables *tables, uint32_t open)
{
    struct kept kept;
    const bool is_kept = keep(run, tables, &kept);
    bool ok = is_kept;
    for (uint32_t i = 0; ok && i < GI_LIST_COUNT && !*run->is_changed; i++) {
        if (open >> i & 1) {
            run->list = gi_multi_executor_list(tables->executors[i]);
            choose_state(run, tables, i);
            ok = write_inputs(run) && gi_selftest_run_list(run);
        }
    }
    ok = is_kept && restore(run, tables, &kept, ok);
    free(kept.caches);
    return ok;
}

bool gi_selftest_run_rows(struct gi_tables *tables, struct gi_dispatch_table *list, uint32_t n_rows,
                          bool *is_changed, struct glinfer_error *err)
{
    struct gi_selftest_run run = {
        .tested = gi_tested_tables(tables), .list = list, .is_changed = is_changed, .err = err};
    struct kept kept;
    *is_changed = false;
    if (!gi_selftest_is_asked(&run.tested) || !gi_selftest_look_up(&run) || *is_changed) {
        return true;
    }
    run.state = (struct gi_step_state){
        .n_tokens = least(n_rows, BATCH_TOKENS), .epoch = 1, .max_steps = 1000};
    const bool ok = keep(&run, tables, &kept) &&
                    restore(&run, tables, &kept, write_inputs(&run) && gi_selftest_run_list(&run));
    free(kept.caches);
    return ok;
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
