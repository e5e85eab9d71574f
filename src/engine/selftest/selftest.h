// The self-test: runs each program of the needed lists once on a driver, by itself, and compares
// the results with a computation on the CPU. The finding is stored next to the program's binary, so
// that later starts only read it. A wrong program is added to the blocklist
// (gpu/program/quarantine.h) and its lists are recorded again without it. Called by engine/lists.
#pragma once

#include "engine/model/model.h"
#include "gpu/dispatch/executor.h"
#include "gpu/dispatch/joint.h"
#include "gpu/dispatch/step_state.h"

enum {
    GI_N_SAMPLED_TOKENS = 16, // ids below have sampled rows (model/weight_sample.h)
    GI_SELFTEST_TOKENS = 68,  // maximum tokens of a tested batch
};

// Receives the results of the self-test (glinfer_selftest).
struct gi_listener {
    void (*each)(void *user, const struct glinfer_tested *tested); // NULL: no listener
    void *user;
};

// The context of lists under test. All is borrowed.
struct gi_tested {
    const struct glinfer_model *model;
    const struct gi_graph *graph; // graph of the recording
    const struct gi_joint *joint; // slots of the lists; NULL: lists of one sequence
    struct gi_recorder *recorder; // records the next lists
    struct gi_range state;        // step_state
    const struct gi_listener *listener;
};

// A list under test.
struct gi_tested_list {
    struct gi_dispatch_table *list;    // ready
    struct gi_step_state state;        // the list's own, before each test
    const struct gi_step_state *slots; // of each slot; NULL: a list of one sequence
    struct gi_executor *logits;        // computes the logits of slots; NULL: test values
};

// Tests the programs of n lists that have no finding. Sets *is_changed if a program must not be
// used; the lists must then be recorded again. Uses the memory of the session, where other answers
// may be in the middle of a step, and restores it. Fails with DRIVER, GPU_LOST, NO_MEMORY.
bool gi_selftest_run(const struct gi_tested *tested, const struct gi_tested_list *lists, uint32_t n,
                     bool *is_changed, struct glinfer_error *err);

// Handles a failure to record lists, with its reason in err: if a blocklisted program may be the
// reason, switches all lists from f16 to f32 and returns true; they must then be recorded again.
bool gi_selftest_leave_halves(const struct gi_tested *tested, const struct glinfer_error *err);

// Adds the programs of a recorded list that the driver refused to the blocklist, and sets
// *is_changed if there are any.
void gi_selftest_check_refusals(const struct gi_tested *tested,
                                const struct gi_dispatch_table *list, bool *is_changed);
