// The self-test: each program of the lists that an answer needs is run once on a driver, by itself,
// and compared with the same worked out on the CPU. The finding is kept beside the program's
// binary, so that later starts only read it. A program whose results are wrong is put in quarantine
// (gpu/program/quarantine.h), and the lists are recorded anew without it.
#ifndef GI_ENGINE_SELFTEST_H
#define GI_ENGINE_SELFTEST_H

#include "engine/run/tables.h"

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

// Called where lists cannot be recorded, for the reason in err: has all lists compute in f32 in
// place of f16 if a program in quarantine may be that reason, and returns true if they are to be
// recorded again.
bool gi_selftest_leave_halves(struct gi_tables *tables, const struct glinfer_error *err);

// Puts the programs of a recorded list that the driver refused in quarantine, and sets *is_changed
// if there are any.
void gi_selftest_check_refusals(struct gi_tables *tables, const struct gi_dispatch_table *list,
                                bool *is_changed);

#endif
