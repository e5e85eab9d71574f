// argmax.comp, and how a step ends: the ring, step_state, the grids of the next step.
#include "tests/kernel/cases/cases_step.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static bool expect_entry(struct kt_run *run, const struct kt_step *step, uint32_t slot,
                         uint32_t token, uint32_t number, uint32_t status)
{
    struct gi_ring_entry entry;
    if (!kt_step_entry(run, step, slot, &entry)) {
        return false;
    }
    return (entry.token == token && entry.step == number && entry.epoch == run->state.epoch &&
            entry.status == status) ||
           kt_fail(run,
                   "entry %u holds token %u, step %u, epoch %u, status %u; expected %u, %u, %u, %u",
                   slot, entry.token, entry.step, entry.epoch, entry.status, token, number,
                   run->state.epoch, status);
}

static bool expect_state(struct kt_run *run, const struct gi_step_state *want)
{
    return kt_compare_u32(run, "step_state", &run->step_state, 0, (const uint32_t *)want,
                          sizeof(*want) / sizeof(uint32_t));
}

//-- argmax ----------------------------------------------------------------------------------------

static bool run_argmax(struct kt_run *run, const float *logits, uint32_t n_vocab, uint32_t n_group,
                       uint32_t token, uint32_t status)
{
    struct kt_step step;
    struct gi_step_state want;
    if (!kt_step_init(run, &step, logits, n_vocab, n_group) ||
        !kt_step_record(run, &step, gi_op_argmax) || !kt_replay(run, 41, 3)) {
        return false;
    }
    want = run->state;
    want.token = token;
    want.n_past = 44;
    want.n_tokens = 1;
    want.step = 1;
    want.done = status != GI_RING_STATUS_OK;
    return expect_entry(run, &step, 0, token, 0, status) && expect_state(run, &want) &&
           kt_bench(run, 1, 1, step.logits.n_partial * UINT64_C(8));
}

static const struct {
    uint32_t n_vocab, n_group;
} shapes[] = {
    {1, 64}, {2, 1}, {3, 1}, {255, 1}, {257, 1}, {1000, 7}, {49152, 64}, {151936, 8}, {262144, 8},
};

static bool run_random(struct kt_run *run, size_t index)
{
    const uint32_t n = shapes[index].n_vocab;
    float *logits = kt_alloc(n, sizeof(*logits));
    kt_fill(run, logits, n, -30, 30);
    uint32_t first = kt_index(run, n), second = kt_index(run, n); // a tie
    logits[first] = logits[second] = 31;
    bool is_good = run_argmax(run, logits, n, shapes[index].n_group,
                              first < second ? first : second, GI_RING_STATUS_OK);
    free(logits);
    return is_good;
}

static bool run_values(struct kt_run *run, float all, float one, uint32_t token, uint32_t status)
{
    float logits[500];
    for (uint32_t i = 0; i < 500; i++) {
        logits[i] = all;
    }
    logits[333] = one;
    return run_argmax(run, logits, 500, 3, token, status);
}

static bool run_all_equal(struct kt_run *run)
{
    return run_values(run, -1e30F, -1e30F, 0, GI_RING_STATUS_OK);
}

static bool run_zeros(struct kt_run *run)
{
    return run_values(run, -0.0F, 0.0F, 0, GI_RING_STATUS_OK);
}

static bool run_negative(struct kt_run *run)
{
    return run_values(run, -3.0e38F, -2.9e38F, 333, GI_RING_STATUS_OK);
}

static bool run_nan(struct kt_run *run)
{
    return run_values(run, 1, NAN, 0, GI_RING_STATUS_NAN);
}

static bool run_infinity(struct kt_run *run)
{
    return run_values(run, 1, -INFINITY, 0, GI_RING_STATUS_NAN);
}

// Invocations of gemv_vocab without rows say nothing.
static bool run_no_rows(struct kt_run *run)
{
    static const struct kt_partial_rows rows = {64, 8, 4096};
    float logits[67]; // the last of them fill three of eight invocations
    struct kt_step step;
    for (uint32_t i = 0; i < 67; i++) {
        logits[i] = i == 65 ? -3.0F : -4.0F;
    }
    return kt_step_init_rows(run, &step, logits, 67, &rows) &&
           kt_step_record(run, &step, gi_op_argmax) && kt_replay(run, 0, 1) &&
           expect_entry(run, &step, 0, 65, 0, GI_RING_STATUS_OK);
}

// Kernels that sample refuse what argmax refuses.
static bool expect_refusal(struct kt_run *run, kt_step_op op)
{
    const float logits[4] = {1, INFINITY, 2, 3};
    struct kt_step step;
    run->state.temperature = 1;
    run->state.top_p = 1;
    run->state.top_k = 3;
    return kt_step_init(run, &step, logits, 4, 2) && kt_step_record(run, &step, op) &&
           kt_replay(run, 0, 1) && expect_entry(run, &step, 0, 0, 0, GI_RING_STATUS_NAN);
}

static bool run_small_k_nan(struct kt_run *run)
{
    return expect_refusal(run, gi_op_sample_small_k);
}

static bool run_full_nan(struct kt_run *run)
{
    return expect_refusal(run, gi_op_sample_full);
}

static bool run_probs_nan(struct kt_run *run)
{
    return expect_refusal(run, gi_op_sample_probs);
}

//-- the end of a step -----------------------------------------------------------------------------

static const float few_logits[6] = {0, 1, 2, 9, 4, 5}; // token 3

static bool begin_few(struct kt_run *run, struct kt_step *step)
{
    return kt_step_init(run, step, few_logits, 6, 2) && kt_step_record(run, step, gi_op_argmax);
}

// Step 512 overwrites entry 0, and only it.
static bool run_ring(struct kt_run *run)
{
    struct kt_step step;
    return begin_few(run, &step) && kt_step_chain(run, GI_RING_SLOTS + 1) &&
           expect_entry(run, &step, 0, 3, GI_RING_SLOTS, GI_RING_STATUS_OK) &&
           expect_entry(run, &step, 1, 3, 1, GI_RING_STATUS_OK) &&
           expect_entry(run, &step, GI_RING_SLOTS - 1, 3, GI_RING_SLOTS - 1, GI_RING_STATUS_OK);
}

static bool expect_done(struct kt_run *run, uint32_t want)
{
    return kt_compare_u32(run, "done", &run->step_state, offsetof(struct gi_step_state, done),
                          &want, 1);
}

static bool run_max_steps(struct kt_run *run)
{
    struct kt_step step;
    if (!begin_few(run, &step)) {
        return false;
    }
    run->state.max_steps = 3;
    return kt_step_chain(run, 2) && expect_done(run, 0) && kt_step_chain(run, 3) &&
           expect_done(run, 1) && expect_entry(run, &step, 2, 3, 2, GI_RING_STATUS_OK);
}

struct ban_case {
    const char *name;
    kt_step_op op;
    float temperature, top_p;
    uint32_t top_k, n_probs;
};

// So cold that the token is sure.
static const struct ban_case ban_cases[] = {
    {"banned, argmax", gi_op_argmax, 0, 1, 0, 0},
    {"banned, greedy", gi_op_sample_probs, 0, 1, 0, 2},
    {"banned, greedy by top_k", gi_op_sample_small_k, 0, 1, 2, 0},
    {"banned, top_k 1", gi_op_sample_small_k, 1, 1, 1, 0},
    {"banned, small k", gi_op_sample_small_k, 0.01F, 0.9F, 5, 0},
    {"banned, full, top_k 1", gi_op_sample_full, 1, 1, 1, 0},
    {"banned, top_p", gi_op_sample_full, 0.01F, 0.9F, 0, 0},
    {"banned, top_k 2", gi_op_sample_full, 0.01F, 1, 2, 0},
    {"banned, both", gi_op_sample_full, 0.01F, 0.9F, 2, 0},
    {"banned, all", gi_op_sample_full, 0.01F, 1, 0, 0},
    {"banned, top_k 1, probs", gi_op_sample_probs, 1, 1, 1, 2},
    {"banned, top_p, probs", gi_op_sample_probs, 0.01F, 0.9F, 0, 2},
    {"banned, all, probs", gi_op_sample_probs, 0.01F, 1, 0, 2},
};

// Banned ids are passed over, keep their log-probability and end nothing.
static bool run_ban(struct kt_run *run, const struct ban_case *test)
{
    struct kt_step step;
    struct gi_ring_entry entry;
    if (!kt_step_init(run, &step, few_logits, 6, 2) || !kt_step_record(run, &step, test->op)) {
        return false;
    }
    run->state.stop[0] = 3; // the largest
    run->state.stop[1] = 5; // the second
    run->state.n_stop = 2;
    run->state.ban_stop = 1;
    run->state.temperature = test->temperature;
    run->state.top_k = test->top_k;
    run->state.top_p = test->top_p;
    run->state.n_probs = test->n_probs;
    if (!kt_replay(run, 0, 1) || !expect_done(run, 0) ||
        !expect_entry(run, &step, 0, 4, 0, GI_RING_STATUS_OK) ||
        !kt_step_entry(run, &step, 0, &entry)) {
        return false;
    }
    return test->n_probs == 0 || (entry.probs[0].id == 3 && entry.probs[1].id == 5) ||
           kt_fail(run, "log-probabilities of %u, %u; expected 3, 5", entry.probs[0].id,
                   entry.probs[1].id);
}

// The id counts among the first n_stop, and there only.
static bool run_stop_ids(struct kt_run *run)
{
    struct kt_step step;
    if (!begin_few(run, &step)) {
        return false;
    }
    for (uint32_t i = 0; i < GI_MAX_STOP_IDS; i++) {
        run->state.stop[i] = 100 + i;
    }
    for (uint32_t i = 0; i < GI_MAX_STOP_IDS; i++) {
        run->state.stop[i] = 3;
        run->state.n_stop = i;
        if (!kt_replay(run, 0, 1) || !expect_done(run, 0)) {
            return false;
        }
        run->state.n_stop = i + 1;
        if (!kt_replay(run, 0, 1) || !expect_done(run, 1)) {
            return false;
        }
        run->state.stop[i] = 100 + i;
    }
    return true;
}

static uint32_t count_axis(const struct gi_grid_slot *slot, uint32_t axis, uint32_t n_past)
{
    const uint32_t divisor = slot->axis_divisor & 0x3FFFFFFF;
    if (slot->rule == GI_GRID_FIXED || axis != slot->axis_divisor >> 30) {
        return slot->size[axis];
    }
    const uint32_t n = (n_past + 1 + divisor - 1) / divisor, most = slot->size[axis];
    return slot->rule != GI_GRID_KEYS ? 1 : most > 0 && most < n ? most : n;
}

static void fill_slots(struct kt_run *run, struct gi_grid_slot slots[GI_MAX_SLOTS])
{
    for (uint32_t i = 0; i < GI_MAX_SLOTS; i++) {
        slots[i] = (struct gi_grid_slot){
            .count = {7, 7, 7},
            .rule = i % 3,
            .size = {kt_index(run, 99), kt_index(run, 9), kt_index(run, 9)},
            .axis_divisor = (i / 3 % 3) << 30 | (1 + kt_index(run, 64)),
        };
    }
}

static bool replay_counts(struct kt_run *run, const struct gi_range *counts,
                          struct gi_grid_slot slots[GI_MAX_SLOTS], uint32_t n_past)
{
    if (!kt_replay(run, n_past, 2)) {
        return false;
    }
    for (uint32_t i = 0; i < GI_MAX_SLOTS; i++) {
        for (uint32_t axis = 0; axis < 3; axis++) {
            bool is_done = run->state.max_steps == 1;
            slots[i].count[axis] = is_done ? 0 : count_axis(&slots[i], axis, n_past + 2);
        }
    }
    return kt_compare_u32(run, "counts", counts, 0, slots[0].count,
                          sizeof(slots[0]) / sizeof(uint32_t) * GI_MAX_SLOTS);
}

// Grids of their own beside the table's, so that both dispatch modes rewrite them.
static bool run_counts(struct kt_run *run)
{
    struct kt_step step;
    struct gi_grid_slot slots[GI_MAX_SLOTS];
    if (!kt_step_init(run, &step, few_logits, 6, 2)) {
        return false;
    }
    fill_slots(run, slots);
    step.buffers.counts = kt_range(run, "grids", slots, sizeof(slots));
    if (!step.buffers.counts.buffer || !kt_step_record(run, &step, gi_op_argmax)) {
        return false;
    }
    for (uint32_t n_past = 0; n_past < 200; n_past += 1 + kt_index(run, 40)) {
        if (!replay_counts(run, &step.buffers.counts, slots, n_past)) {
            return false;
        }
    }
    run->state.max_steps = 1;
    return replay_counts(run, &step.buffers.counts, slots, 9);
}

// A table that is always direct has no grids to rewrite.
static bool run_no_counts(struct kt_run *run)
{
    struct kt_step step;
    if (!kt_step_init(run, &step, few_logits, 6, 2)) {
        return false;
    }
    step.buffers.counts = (struct gi_range){0};
    return kt_step_record(run, &step, gi_op_argmax) && kt_replay(run, 0, 1) &&
           expect_entry(run, &step, 0, 3, 0, GI_RING_STATUS_OK);
}

//-- the suite -------------------------------------------------------------------------------------

#define N_SHAPE (sizeof(shapes) / sizeof(shapes[0]))

static const struct {
    const char *name;
    bool (*run)(struct kt_run *run);
} step_cases[] = {
    {"all equal", run_all_equal},
    {"zeros", run_zeros},
    {"negative", run_negative},
    {"nan", run_nan},
    {"infinity", run_infinity},
    {"no rows", run_no_rows},
    {"small k infinity", run_small_k_nan},
    {"full infinity", run_full_nan},
    {"probs infinity", run_probs_nan},
    {"ring wraps", run_ring},
    {"max_steps", run_max_steps},
    {"stop ids", run_stop_ids},
    {"counts", run_counts},
    {"no counts", run_no_counts},
};

#define N_STEP (sizeof(step_cases) / sizeof(step_cases[0]))
#define N_BAN  (sizeof(ban_cases) / sizeof(ban_cases[0]))

static void name_case(size_t index, char *text, size_t size)
{
    if (index < N_SHAPE) {
        snprintf(text, size, "%u in groups of %u", shapes[index].n_vocab, shapes[index].n_group);
    } else {
        snprintf(text, size, "%s",
                 index < N_SHAPE + N_STEP ? step_cases[index - N_SHAPE].name
                                          : ban_cases[index - N_SHAPE - N_STEP].name);
    }
}

static bool run_index(struct kt_run *run, size_t index)
{
    return index < N_SHAPE            ? run_random(run, index)
           : index < N_SHAPE + N_STEP ? step_cases[index - N_SHAPE].run(run)
                                      : run_ban(run, &ban_cases[index - N_SHAPE - N_STEP]);
}

const struct kt_suite kt_argmax = {
    .kernel = "argmax",
    .n_case = N_SHAPE + N_STEP + N_BAN,
    .name = name_case,
    .run = run_index,
};
