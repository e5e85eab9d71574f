// Runs the tests of one list. Private to this folder.
#pragma once

#include "engine/selftest/selftest.h"
#include "engine/selftest/test_case.h"

struct gi_selftest_run {
    struct gi_tested tested;
    struct gi_dispatch_table *list; // ready
    struct gi_step_state state;     // as struct gi_tested_list has it, also the next
    const struct gi_step_state *slots;
    bool *is_changed; // a program was disabled: record the lists again
    uint32_t n_tested;
    struct glinfer_error *err;
};

static inline struct gi_gpu *gi_selftest_gpu(const struct gi_selftest_run *run)
{
    return run->tested.recorder->gpu;
}

// Returns the check of a program; NULL if no answer needs the program.
gi_test_check gi_selftest_find_check(enum gi_program_id id);
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
// Writes the initial step_state of the tests, and those of the slots.
bool gi_selftest_write_states(const struct gi_selftest_run *run);

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
