// The persistent executor: whole chains of decode steps in one dispatch. A grid of persistent
// groups walks the entries of a list itself, step after step, with barriers between groups through
// an atomic counter. It saves what a dispatch and its barrier cost, which is most of the time of a
// small model on a large GPU.
//
// OpenGL ES does not promise that the groups of a dispatch run at the same time, so this is never
// relied on: a probe finds how many are seen to run together and no more are used; every wait is
// bounded, and one that is in vain makes all groups leave and sets the fault, which the runner
// finds with the results. Its user then goes on with the multi-dispatch executor from the last
// token that it has.
#ifndef GI_PERSISTENT_EXECUTOR_H
#define GI_PERSISTENT_EXECUTOR_H

#include "gpu/dispatch/executor.h"
#include "persistent/persistent_policy.h"

struct gi_persistent;

// Writes the program of a list whose groups are all alike and that is not sealed; the list and the
// programs that it was recorded with are not needed afterwards. Nothing is compiled. Fails with
// UNSUPPORTED (a software renderer with more than one group, a list with a dispatch that cannot be
// a stage: says which), DRIVER, NO_MEMORY.
struct gi_persistent *gi_persistent_create(struct gi_gpu *gpu,
                                           const struct gi_dispatch_table *table,
                                           const struct gi_program_table *programs,
                                           const struct gi_persistent_params *params,
                                           struct glinfer_error *err);
// Accepts NULL.
void gi_persistent_destroy(struct gi_persistent *persistent);

// Ends every step with a one-step chain of another executor, which it owns from then on. For steps
// whose end would make the program too long to compile. Each step is then a dispatch of its own.
void gi_persistent_set_tail(struct gi_persistent *persistent, struct gi_executor *tail);

// Returns the key that tells it from all others: driver, text and groups.
const struct gi_hash *gi_persistent_key(const struct gi_persistent *persistent);

// Returns the kernel that is compiled, and the capability that it needs.
const char *gi_persistent_text(const struct gi_persistent *persistent, uint32_t *capability);

// Sets *is_loaded to whether the program cache has the program, so that a build does not wait; may
// be asked again. Fails as a build does.
bool gi_persistent_load(struct gi_persistent *persistent, bool *is_loaded,
                        struct glinfer_error *err);
// Compiles where it is not loaded, waiting for that, and probes; nothing is submitted before.
// progress may be NULL; false from it cancels. Fails with UNSUPPORTED (groups do not run together),
// DRIVER, CANCELLED, NO_MEMORY, GPU_LOST.
bool gi_persistent_build(struct gi_persistent *persistent, glinfer_progress_fn progress, void *user,
                         struct glinfer_error *err);

// Returns the number of groups that are used.
uint32_t gi_persistent_groups(const struct gi_persistent *persistent);
// Returns the most steps that one dispatch should be given, at least 1: as many as budget_ns holds
// of step_ns (0: not known yet, then 1), and no more than any watchdog or compiler bears.
uint32_t gi_persistent_max_steps(const struct gi_persistent *persistent, uint64_t step_ns,
                                 uint64_t budget_ns);

// Returns it as an executor, once it is built. It divides chains into dispatches of
// gi_persistent_max_steps; steps after step_state is done do nothing.
struct gi_executor *gi_persistent_executor(struct gi_persistent *persistent);

#endif
