// The self-test: runs each program of the needed lists once on a driver, by itself, and compares
// the results with a computation on the CPU. The finding is stored next to the program's binary, so
// that later starts only read it. A wrong program is added to the blocklist
// (gpu/program/quarantine.h) and its lists are recorded again without it. Called by the modules
// that build lists.
#ifndef GI_ENGINE_SELFTEST_H
#define GI_ENGINE_SELFTEST_H

#include "engine/lists/joint_tables.h"
#include "engine/lists/tables.h"

// The context of the lists under test: those of a session's tables, or joint ones. All is borrowed.
struct gi_tested {
    const struct glinfer_model *model;
    const struct gi_graph *graph; // graph of the recording
    const struct gi_joint *joint; // NULL: lists of one sequence
    struct gi_recorder *recorder; // records the next lists
    struct gi_range state;        // step_state
    const struct gi_listener *listener;
};

struct gi_tested gi_tested_tables(struct gi_tables *tables);
struct gi_tested gi_tested_joint(struct gi_joint_tables *tables);

// Tests the programs without a finding of a set of ready lists. Sets *is_changed if a program must
// not be used; the lists must then be recorded again. Uses the session's buffers, and restores its
// cache and step_state. Fails with DRIVER, GPU_LOST, NO_MEMORY.
bool gi_selftest_run(struct gi_tables *tables, uint32_t lists, bool *is_changed,
                     struct glinfer_error *err);

// Tests the programs of another list, as gi_selftest_run does, which follows a batch of at most
// n_rows tokens and reads its rows of the residual stream.
bool gi_selftest_run_rows(struct gi_tables *tables, struct gi_dispatch_table *list, uint32_t n_rows,
                          bool *is_changed, struct glinfer_error *err);

// Tests the programs of a joint list with n_rows rows and this end, as gi_selftest_run does.
// Restores all memory that its entries read or write, since other answers may be in the middle of a
// step.
bool gi_selftest_run_joint(struct gi_joint_tables *tables, struct gi_dispatch_table *list,
                           uint32_t n_rows, enum gi_step_end end, bool *is_changed,
                           struct glinfer_error *err);

// Tests the programs of a list that chooses a token for each row of a draft, as gi_selftest_run
// does. The executor `logits` computes its input. rows: n_slots and state are set.
bool gi_selftest_run_choices(struct gi_tables *tables, struct gi_dispatch_table *list,
                             const struct gi_joint *rows, struct gi_executor *logits,
                             enum gi_step_end end, bool *is_changed, struct glinfer_error *err);

// Handles a failure to record lists, with its reason in err: if a blocklisted program may be the
// reason, switches all lists from f16 to f32 and returns true; they must then be recorded again.
bool gi_selftest_leave_halves(struct gi_tested tested, const struct glinfer_error *err);

// Adds the programs of a recorded list that the driver refused to the blocklist, and sets
// *is_changed if there are any.
void gi_selftest_check_refusals(struct gi_tested tested, const struct gi_dispatch_table *list,
                                bool *is_changed);

#endif
