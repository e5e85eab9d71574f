#include "engine/lists/list.h"

#include "base/round.h"
#include "gpu/dispatch/dispatch_replay.h"
#include "gpu/dispatch/multi_executor.h"

#include <assert.h>

enum { MAX_LISTS = 32 };

struct gi_executor *gi_list_build(struct gi_program_table *programs, struct gi_dispatch_table *list,
                                  struct glinfer_error *err)
{
    if (!list || !gi_program_table_build(programs, NULL, NULL, err) ||
        !gi_dispatch_table_seal(list, err)) {
        gi_dispatch_table_destroy(list);
        return NULL;
    }
    return gi_multi_executor_create(list, err);
}

// Makes the driver finish work that some postpone to the first dispatch of a program, so that no
// answer waits for it. Can be cancelled between two programs.
static bool warm(const struct gi_list_source *source, uint32_t index,
                 const struct gi_dispatch_table *list, struct glinfer_error *err)
{
    for (uint32_t i = 0; i < gi_dispatch_table_count(list); i++) {
        if (!gi_dispatch_table_is_first(list, i)) {
            continue;
        }
        if (source->progress &&
            !source->progress(source->progress_user, GLINFER_PHASE_COMPILE, index, source->n)) {
            return gi_error_set(err, GLINFER_STATUS_CANCELLED, "compiling programs was cancelled");
        }
        if (gi_gpu_is_cancelled(source->tested.recorder->gpu, err)) {
            return false;
        }
        gi_dispatch_table_warm(list, i);
    }
    return true;
}

// Seals a list and creates its executor, which then owns it.
static bool seal(const struct gi_list_source *source, uint32_t i, struct gi_dispatch_table **list,
                 struct gi_executor **executor, struct glinfer_error *err)
{
    const bool is_late = gi_gpu_quirks(source->tested.recorder->gpu) &
                         (GI_QUIRK_LATE_COMPILE | GI_QUIRK_LATE_BINARY);
    struct gi_dispatch_table *own = *list;
    if (!gi_dispatch_table_seal(own, err)) {
        return false;
    }
    *list = NULL;
    *executor = gi_multi_executor_create(own, err);
    return *executor && (!is_late || warm(source, i, own, err));
}

static bool test(const struct gi_list_source *source, uint32_t set,
                 struct gi_executor *const *executors, bool *is_changed, struct glinfer_error *err)
{
    struct gi_tested_list tests[MAX_LISTS] = {0};
    uint32_t n = 0;
    for (uint32_t i = 0; i < source->n; i++) {
        if (set >> i & 1) {
            source->describe(source->user, i, &tests[n]);
            tests[n++].list = gi_multi_executor_list(executors[i]);
        }
    }
    return gi_selftest_run(&source->tested, tests, n, is_changed, err);
}

// Prepares the lists of a set once. Sets *is_changed if they have programs that must not be used.
static bool make_ready(const struct gi_list_source *source, uint32_t set,
                       struct gi_executor **executors, bool *is_changed, struct glinfer_error *err)
{
    struct gi_dispatch_table *lists[MAX_LISTS] = {NULL};
    bool ok = true;
    *is_changed = false;
    for (uint32_t i = 0; ok && i < source->n; i++) {
        if (set >> i & 1) {
            lists[i] = source->record(source->user, i, err);
            ok = lists[i] != NULL;
        }
    }
    ok = ok && gi_program_table_build_all(source->tested.recorder->programs, source->progress,
                                          source->progress_user, err);
    for (uint32_t i = 0; ok && i < source->n; i++) {
        if (set >> i & 1) {
            gi_selftest_check_refusals(&source->tested, lists[i], is_changed);
        }
    }
    for (uint32_t i = 0; ok && !*is_changed && i < source->n; i++) {
        ok = !(set >> i & 1) || seal(source, i, &lists[i], &executors[i], err);
    }
    for (uint32_t i = 0; i < source->n; i++) {
        gi_dispatch_table_destroy(lists[i]);
    }
    return ok && (*is_changed || test(source, set, executors, is_changed, err));
}

static void drop(uint32_t n, uint32_t set, struct gi_executor **executors)
{
    for (uint32_t i = 0; i < n; i++) {
        if (set >> i & 1) {
            gi_executor_destroy(executors[i]);
            executors[i] = NULL;
        }
    }
}

bool gi_lists_prepare(const struct gi_list_source *source, uint32_t set,
                      struct gi_executor **executors, struct glinfer_error *err)
{
    struct glinfer_error why = {0};
    bool is_changed = set != 0, ok = true;
    assert(source->n <= MAX_LISTS);
    while (is_changed) {
        ok = make_ready(source, set, executors, &is_changed, &why);
        if (!ok) {
            is_changed = !source->keeps_halves && gi_selftest_leave_halves(&source->tested, &why);
        }
        if (!ok || is_changed) {
            drop(source->n, set, executors);
        }
        if (is_changed && source->change) {
            source->change(source->user);
        }
    }
    return ok || gi_error_pass(err, &why);
}

//-- tests -----------------------------------------------------------------------------------------

void gi_list_set_end(struct gi_step_state *state, enum gi_step_end end)
{
    const enum gi_step_end plain = end % GI_STEP_END_ADJUSTED;
    state->temperature = 0.8f;
    state->top_p = 1;
    state->top_k = plain == GI_STEP_END_SMALL_K ? 8 : 0;
    state->min_p = plain == GI_STEP_END_FULL ? 0.02f : 0;
    state->n_probs = plain == GI_STEP_END_PROBS ? 4 : 0;
}

void gi_list_describe_slots(const struct gi_tested *tested, uint32_t n_rows, enum gi_step_end end,
                            struct gi_step_state slots[GI_MAX_ROWS], struct gi_tested_list *test)
{
    enum { KEYS_BETWEEN = 13 };
    const uint32_t n_slots = tested->joint->n_slots;
    const uint32_t most = gi_min_u32(tested->graph->kv_cache[0].n_ctx - 1, GI_LIST_TEST_PAST);
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
        gi_list_set_end(&slots[i], end);
    }
    test->slots = slots;
    test->state = (struct gi_step_state){
        .token = (1u << n_slots) - 1, .n_past = most, .n_tokens = n_rows, .epoch = 1};
}
