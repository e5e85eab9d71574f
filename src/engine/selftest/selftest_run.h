// Runs the tests of one list at a time, whichever sequences it is of: for selftest_lists.c, which
// has the inputs of the lists of one sequence, and selftest_joint.c, which has those of joint
// lists.
#ifndef GI_ENGINE_SELFTEST_RUN_H
#define GI_ENGINE_SELFTEST_RUN_H

#include "engine/selftest/selftest.h"
#include "gpu/dispatch/step_state.h"

enum {
    GI_N_SAMPLED_TOKENS = 16, // tests begin with ids below: rows were kept (load/weight_sample.h)
    GI_SELFTEST_PAST = 1100,  // keys before a step, if there is room: several ranges of attention
};

struct gi_selftest_run {
    struct gi_tested tested;
    struct gi_dispatch_table *list;    // ready
    struct gi_step_state state;        // the list's own, as tests begin with it
    const struct gi_step_state *slots; // of a joint list, of each slot; NULL: of another
    bool *is_changed;                  // programs are left out: lists are to be recorded anew
    uint32_t n_tested;
    struct glinfer_error *err;
};

static inline struct gi_gpu *gi_selftest_gpu(const struct gi_selftest_run *run)
{
    return run->tested.recorder->gpu;
}

// True unless GLINFER_SELFTEST says no, or GLINFER_FAULT breaks dispatches of programs that are
// right.
bool gi_selftest_is_asked(const struct gi_tested *tested);
// True if the tests run an entry: the first of each program, and those that differ from it in what
// a program may get wrong: a parameter that was zero in all entries before, another shape of
// weights, the last layer's parameters.
bool gi_selftest_is_chosen(const struct gi_selftest_run *run, uint32_t entry);
// Leaves out what was found to be wrong before. Returns true if programs of the list are left to be
// tested.
bool gi_selftest_look_up(const struct gi_selftest_run *run);
// Tests the programs of the list of which no finding is known, in the order of its entries, until
// one is left out. Fails with DRIVER, GPU_LOST, NO_MEMORY, CANCELLED.
bool gi_selftest_run_list(struct gi_selftest_run *run);

// The memory that tests write, as it was before.
struct gi_selftest_piece;
struct gi_selftest_kept {
    struct gi_selftest_piece *pieces;
    size_t count, capacity;
};
// Saves the memory that the tests of the list write, beside that saved before: the state, the rows
// and tokens of a batch, and the bindings of the entries that run. Of a cache it saves the
// positions that run->state and run->slots name. Saves nothing if it fails, with DRIVER, GPU_LOST,
// NO_MEMORY.
bool gi_selftest_keep(const struct gi_selftest_run *run, struct gi_selftest_kept *kept);
// Writes the saved memory back, even if the tests were cancelled, and frees it. Returns ok, or
// false with the error of a write.
bool gi_selftest_restore(const struct gi_selftest_run *run, struct gi_selftest_kept *kept, bool ok);

// Writes the step_state that the tests begin with, and those of slots.
bool gi_selftest_write_states(const struct gi_selftest_run *run);
// Writes the first n_embd columns of n rows of the residual stream.
bool gi_selftest_write_rows(const struct gi_selftest_run *run, uint32_t n);
// Sets the sampler's settings of a step's end (enum gi_step_end), adjusted or not, under which each
// of its filters has something to do.
void gi_selftest_set_end(struct gi_step_state *state, uint32_t end);
// Logs what a run took that began at a time of the clock, at a number of waits.
void gi_selftest_log_cost(const struct gi_selftest_run *run, uint64_t begin_ns, uint64_t waits);

#endif
