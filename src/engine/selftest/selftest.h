// The self-test: each program of the lists that an answer needs is run once on a driver, by itself,
// and compared with the same worked out on the CPU. The finding is kept beside the program's
// binary, so that later starts only read it. A program whose results are wrong is put in quarantine
// (gpu/program/quarantine.h), and the lists are recorded anew without it.
#ifndef GI_ENGINE_SELFTEST_H
#define GI_ENGINE_SELFTEST_H

#include "engine/run/joint_tables.h"
#include "engine/run/tables.h"

// Lists as the self-test sees them: those of a session's tables, or joint ones.
struct gi_tested {
    const struct glinfer_model *model;
    const struct gi_graph *graph; // that they were recorded of
    const struct gi_joint *joint; // NULL: they are of one sequence
    struct gi_recorder *recorder; // that the next ones are recorded with
    struct gi_range state;        // step_state
    const struct gi_listener *listener;
};

struct gi_tested gi_tested_tables(struct gi_tables *tables);
struct gi_tested gi_tested_joint(struct gi_joint_tables *tables);

// Tests the programs of a set of lists, which are ready, as far as no finding is known. Sets
// *is_changed if one of them must not be used: the lists are then to be recorded again. Uses the
// session's buffers, and leaves its cache and step_state as they were. Fails with DRIVER, GPU_LOST,
// NO_MEMORY.
bool gi_selftest_run(struct gi_tables *tables, uint32_t lists, bool *is_changed,
                     struct glinfer_error *err);

// Tests likewise the programs of another list, of batches of at most n_rows tokens behind the rows
// of the residual stream that a prompt's batch leaves.
bool gi_selftest_run_rows(struct gi_tables *tables, struct gi_dispatch_table *list, uint32_t n_rows,
                          bool *is_changed, struct glinfer_error *err);

// Tests likewise the programs of a joint list of n_rows rows that ends so. Leaves all that its
// entries read or write as it was: other answers may be under way, even half-way through a step.
bool gi_selftest_run_joint(struct gi_joint_tables *tables, struct gi_dispatch_table *list,
                           uint32_t n_rows, enum gi_step_end end, bool *is_changed,
                           struct glinfer_error *err);

// Tests likewise the programs of a list that chooses the token of each row of a draft, whose logits
// the list of an executor leaves. Of rows, n_slots and state are set.
bool gi_selftest_run_choices(struct gi_tables *tables, struct gi_dispatch_table *list,
                             const struct gi_joint *rows, struct gi_executor *logits,
                             enum gi_step_end end, bool *is_changed, struct glinfer_error *err);

// Called where lists cannot be recorded, for the reason in err: has all of them compute in f32 in
// place of f16 if a program in quarantine may be that reason, and returns true if they are to be
// recorded again.
bool gi_selftest_leave_halves(struct gi_tested tested, const struct glinfer_error *err);

// Puts the programs of a recorded list that the driver refused in quarantine, and sets *is_changed
// if there are any.
void gi_selftest_check_refusals(struct gi_tested tested, const struct gi_dispatch_table *list,
                                bool *is_changed);

#endif
