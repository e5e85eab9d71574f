// A whole chain of decode steps in one dispatch: a grid of groups that stay walks a recorded table itself,
// step after step, with barriers between groups through an atomic counter. It saves what a dispatch and
// its barrier cost, which is most of the time of a small model on a large GPU.
//
// OpenGL ES does not promise that the groups of a dispatch run at the same time, so this is never relied
// on: at creation a probe finds how many are seen to run together and no more are used; every wait is
// bounded, and one that is in vain makes all groups leave and writes a fault that the host finds with the
// results. The caller then goes on with an ordinary table from the last token that it has.
#ifndef GI_GPU_PERSISTENT_H
#define GI_GPU_PERSISTENT_H

#include "gpu/dispatch/dispatch_table.h"

struct gi_persistent;

// Writes the program of a table that was recorded for it and is not sealed; the table and the programs that
// it was recorded with are not needed afterwards. Nothing is compiled. Fails with UNSUPPORTED (a software
// renderer with more than one group, a table with a dispatch that cannot be a stage: says which), DRIVER,
// NO_MEMORY.
struct gi_persistent *gi_persistent_create(struct gi_gpu *gpu,
                                           const struct gi_dispatch_table *table,
                                           const struct gi_program_table *programs,
                                           const struct gi_persistent_params *params,
                                           struct glinfer_error *err);
// Accepts NULL.
void gi_persistent_destroy(struct gi_persistent *persistent);

// What tells it from all others: driver, text, table and groups.
const struct gi_hash *gi_persistent_key(const struct gi_persistent *persistent);

// What one would compile to have it in the program cache: a kernel, and the capability that it needs.
const char *gi_persistent_text(const struct gi_persistent *persistent, uint32_t *capability);

// Sets *is_loaded to whether the program cache has the program, so that a build does not wait; may be asked again.
// Fails as a build does.
bool gi_persistent_load(struct gi_persistent *persistent, bool *is_loaded,
                        struct glinfer_error *err);
// Compiles where it is not loaded, waiting for that, and probes; nothing is replayed before. progress may be NULL;
// false from it cancels. Fails with UNSUPPORTED (groups do not run together), DRIVER, CANCELLED, NO_MEMORY,
// GPU_LOST.
bool gi_persistent_build(struct gi_persistent *persistent, glinfer_progress_fn progress, void *user,
                         struct glinfer_error *err);

// Groups that are used.
uint32_t gi_persistent_groups(const struct gi_persistent *persistent);
// The most steps that one dispatch should be given, at least 1: as many as budget_ns holds of step_ns (0: not
// known yet, then 1), and no more than any watchdog or compiler bears.
uint32_t gi_persistent_max_steps(const struct gi_persistent *persistent, uint64_t step_ns,
                                 uint64_t budget_ns);

// Submits n_steps, fewer if step_state is done before, and a barrier behind them. The counts of an
// indirect table are not advanced: prime it before it is replayed again. goes_on: since the last replay nothing else
// has written what stages hand to each other, which saves the first step its barriers.
void gi_persistent_replay(struct gi_persistent *persistent, uint32_t n_steps, bool goes_on);
// 4 bytes that are not zero if a replay so far was given up; it then did nothing more, and neither do
// later ones.
struct gi_range gi_persistent_fault(const struct gi_persistent *persistent);

#endif
