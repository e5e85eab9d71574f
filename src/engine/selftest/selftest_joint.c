// The self-test of lists with slots: joint ones, and those that choose a token for each row of a
// draft. Programs of joint lists work for several sequences at a time, each with a state, a
// position and a cache of its own: the slots' differ in all of that. A list is tested in the memory
// of its sessions, where answers may be under way, so that whatever its entries read or write is
// put back.
#include "base/array.h"
#include "base/clock.h"
#include "engine/selftest/selftest_run.h"
#include "gpu/device/fence.h"
#include "gpu/dispatch/multi_executor.h"

#include <stdlib.h>

//-- inputs ----------------------------------------------------------------------------------------

// Sets the states of all slots, which all take part.
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
            .epoch = 1,
            .max_steps = 1000,
            .seed_lo = 17 + i,
        };
        gi_selftest_set_end(&slots[i], (uint32_t)end % GI_STEP_END_ADJUSTED);
    }
    run->slots = slots;
    run->state = (struct gi_step_state){
        .token = (1u << n_slots) - 1, .n_past = most, .n_tokens = n_rows, .epoch = 1};
}

// Writes logits of all rows, which the entry that finds their partial results begins with: that of
// the output's projection does not run where others have its program.
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

//-- what must not be lost -------------------------------------------------------------------------

struct piece {
    struct gi_range range;
    uint8_t *bytes; // range.size of them
};

struct kept {
    struct piece *pieces;
    size_t count, capacity;
};

static bool is_within(const struct gi_range *inner, const struct gi_range *outer)
{
    return inner->buffer == outer->buffer && inner->offset >= outer->offset &&
           inner->offset + inner->size <= outer->offset + outer->size;
}

static bool keep_range(const struct gi_selftest_run *run, const struct gi_range *range,
                       struct kept *kept)
{
    bool is_known = !range->buffer || range->size == 0;
    for (size_t i = 0; i < kept->count; i++) {
        is_known = is_known || is_within(range, &kept->pieces[i].range);
    }
    if (is_known) {
        return true;
    }
    if (!gi_array_grow(&kept->pieces, &kept->capacity, kept->count + 1, sizeof(*kept->pieces),
                       "the self-test", run->err)) {
        return false;
    }
    struct piece *piece = &kept->pieces[kept->count++];
    *piece = (struct piece){*range, malloc(range->size)};
    return piece->bytes ? gi_buffer_read(range->buffer, gi_selftest_gpu(run), range->offset,
                                         piece->bytes, range->size, run->err)
                        : gi_error_no_memory(run->err, range->size, "the self-test");
}

// Keeps what the entries that run have at their bindings, but for weights, which nothing writes.
static bool keep(const struct gi_selftest_run *run, struct kept *kept)
{
    bool ok = keep_range(run, &run->tested.joint->state.range, kept) &&
              keep_range(run, &run->tested.state, kept) &&
              keep_range(run, &run->tested.graph->x.range, kept);
    for (uint32_t i = 0; ok && i < gi_dispatch_table_count(run->list); i++) {
        const struct gi_dispatch *dispatch = gi_dispatch_table_at(run->list, i);
        const struct gi_program_key *key =
            gi_program_key(run->tested.recorder->programs, dispatch->program);
        const uint32_t n = key->quant == GI_QUANT_NONE ? GI_MAX_BINDINGS : 2;
        for (uint32_t j = 0; ok && j < n && gi_dispatch_table_is_first(run->list, i); j++) {
            ok = keep_range(run, &dispatch->bindings[j], kept);
        }
    }
    return ok;
}

// Puts it back, even where the tests were cancelled. Returns ok, or false with what failed.
static bool restore(const struct gi_selftest_run *run, const struct kept *kept, bool ok)
{
    struct gi_gpu *gpu = gi_selftest_gpu(run);
    struct glinfer_error late = {0};
    atomic_bool *watched = gi_gpu_watch(gpu, NULL);
    bool is_back = true;
    for (size_t i = 0; is_back && i < kept->count; i++) {
        const struct gi_range *range = &kept->pieces[i].range;
        is_back = gi_buffer_write((struct gi_buffer *)range->buffer, gpu, range->offset,
                                  kept->pieces[i].bytes, range->size, &late);
    }
    gi_gpu_watch(gpu, watched);
    return ok && (is_back || gi_error_set(run->err, late.status, "%s", late.message));
}

static void forget(struct kept *kept)
{
    for (size_t i = 0; i < kept->count; i++) {
        free(kept->pieces[i].bytes);
    }
    free(kept->pieces);
}

//-- a list ----------------------------------------------------------------------------------------

// Computes the logits of all rows by the list of an executor.
static bool run_logits(const struct gi_selftest_run *run, struct gi_executor *logits)
{
    const struct gi_chain chain = {
        .n_past = run->state.n_past, .n_tokens = run->state.n_tokens, .n_steps = 1};
    return gi_selftest_write_states(run) && gi_executor_submit(logits, &chain, run->err);
}

// Tests a list of so many rows that ends so. Its logits come from that of an executor, or from
// nowhere.
static bool run_list(struct gi_selftest_run *run, uint32_t n_rows, enum gi_step_end end,
                     struct gi_executor *logits)
{
    const uint64_t begin = gi_clock_ns(), waits = gi_gpu_wait_count(gi_selftest_gpu(run));
    struct gi_step_state slots[GI_MAX_ROWS];
    struct kept kept = {0};
    *run->is_changed = false;
    if (!gi_selftest_is_asked(&run->tested)) {
        return true;
    }
    choose_states(run, slots, n_rows, end);
    if (!gi_selftest_look_up(run) || *run->is_changed) {
        return true;
    }
    bool ok = keep(run, &kept);
    if (ok) {
        ok = gi_selftest_write_rows(run, n_rows) &&
             (logits ? run_logits(run, logits) : write_logits(run)) && gi_selftest_run_list(run);
        ok = restore(run, &kept, ok);
    }
    forget(&kept);
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
