// Runs the tests of one list. Private to this folder: selftest_lists.c provides the inputs of lists
// of one sequence, selftest_joint.c those of joint lists.
#ifndef GI_ENGINE_SELFTEST_RUN_H
#define GI_ENGINE_SELFTEST_RUN_H

#include "engine/selftest/selftest.h"
#include "gpu/dispatch/step_state.h"

enum {
    GI_N_SAMPLED_TOKENS = 16, // ids below have sampled rows (model/weight_sample.h)
    GI_SELFTEST_PAST = 1100,  // keys before a step, if they fit: several ranges of keys
};

struct gi_selftest_run {
    struct gi_tested tested;
    struct gi_dispatch_table *list;    // ready
    struct gi_step_state state;        // the list's own, before each test
    const struct gi_step_state *slots; // of each slot of a joint list; NULL: not joint
    bool *is_changed;                  // a program was disabled: record the lists again
    uint32_t n_tested;
    struct glinfer_error *err;
};

static inline struct gi_gpu *gi_selftest_gpu(const struct gi_selftest_run *run)
{
    return run->tested.recorder->gpu;
}

// Returns false if GLINFER_SELFTEST disables tests or GLINFER_FAULT breaks dispatches of correct
// programs.
bool gi_selftest_is_asked(const struct gi_tested *tested);
// Returns true if an entry is tested: the first of each program, and further ones that may show
// another error: a parameter that was zero in all earlier entries, another shape of weights, or the
// parameters of the last layer.
bool gi_selftest_is_chosen(const struct gi_selftest_run *run, uint32_t entry);
// Disables programs with a stored finding of wrong results. Returns true if programs of the list
// are left to test.
bool gi_selftest_look_up(const struct gi_selftest_run *run);
// Tests the programs of the list without a finding, in the order of its entries, until one is
// disabled. Fails with DRIVER, GPU_LOST, NO_MEMORY, CANCELLED.
bool gi_selftest_run_list(struct gi_selftest_run *run);

// A copy of the memory that tests write.
struct gi_selftest_piece;
struct gi_selftest_kept {
    struct gi_selftest_piece *pieces;
    size_t count, capacity;
};
// Adds the memory that the list's tests write to the copy: the state, the rows and tokens of a
// batch, and the bindings of the tested entries; of a cache only the positions of run->state and
// run->slots. On failure, with DRIVER, GPU_LOST, NO_MEMORY, the copy is empty.
bool gi_selftest_keep(const struct gi_selftest_run *run, struct gi_selftest_kept *kept);
// Writes the copy back, even if the tests were cancelled, and frees it. Returns ok, or false with
// the error of a write.
bool gi_selftest_restore(const struct gi_selftest_run *run, struct gi_selftest_kept *kept, bool ok);

// Writes the initial step_state of the tests, and those of the slots.
bool gi_selftest_write_states(const struct gi_selftest_run *run);
// Writes test values to the first n_embd columns of n rows of the residual stream.
bool gi_selftest_write_rows(const struct gi_selftest_run *run, uint32_t n);
// Sets sampler settings for a step's end (enum gi_step_end), adjusted or not, for which every
// filter has an effect.
void gi_selftest_set_end(struct gi_step_state *state, uint32_t end);
// Logs the duration and the number of waits since begin_ns, when the count was `waits`.
void gi_selftest_log_cost(const struct gi_selftest_run *run, uint64_t begin_ns, uint64_t waits);

#endif
