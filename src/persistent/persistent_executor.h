// The persistent executor: whole chains of decode steps in one dispatch. A grid of persistent
// groups walks the entries of a list itself, step after step, with barriers between groups through
// an atomic counter. It saves the cost of dispatches and their barriers, most of the time of a
// small model on a large GPU.
//
// OpenGL ES does not promise that the groups of a dispatch run at the same time, so nothing relies
// on it: a probe counts how many run together, and no more are used. Every wait is bounded; a wait
// that times out ends all groups and sets the fault, which the runner finds with the results. The
// caller then continues with the multi-dispatch executor from the last token.
#pragma once

#include "gpu/dispatch/executor.h"
#include "persistent/persistent_policy.h"

struct gi_persistent;

// Writes the program of a list whose groups are all alike and that is not sealed; the list and the
// programs that it was recorded with are not needed afterwards. Nothing is compiled. Fails with
// UNSUPPORTED (a software renderer with more than one group; the dispatch of the list that cannot
// be a stage), DRIVER, NO_MEMORY.
struct gi_persistent *gi_persistent_create(struct gi_gpu *gpu,
                                           const struct gi_dispatch_table *table,
                                           const struct gi_program_table *programs,
                                           const struct gi_persistent_params *params,
                                           struct glinfer_error *err);
// Accepts NULL.
void gi_persistent_destroy(struct gi_persistent *persistent);

// Begins and ends every step with a one-step chain of another executor, which it owns from then on.
// For steps whose begin or end would make the program too long to compile, or would leave its
// groups too few registers. Each step is then a dispatch of its own. head may be NULL.
void gi_persistent_set_ends(struct gi_persistent *persistent, struct gi_executor *head,
                            struct gi_executor *tail);

// Returns the key of the program: a hash of driver, text and groups.
const struct gi_hash *gi_persistent_key(const struct gi_persistent *persistent);

// Returns the kernel that is compiled, and the capability that it needs.
const char *gi_persistent_text(const struct gi_persistent *persistent, uint32_t *capability);

// Sets *is_loaded to whether the program cache has the program, so that a build does not wait; may
// be asked again. Fails as a build does.
bool gi_persistent_load(struct gi_persistent *persistent, bool *is_loaded,
                        struct glinfer_error *err);
// Takes the program of another of the same key, which was built, in place of its own: a driver may
// take a second for each GL program. Does nothing if the keys differ.
void gi_persistent_share(struct gi_persistent *persistent, const struct gi_persistent *other);
// Compiles the program unless it is loaded, waits for that, and probes; nothing is submitted
// before. progress may be NULL; if it returns false, the build is cancelled. Fails with UNSUPPORTED
// (groups do not run together), DRIVER, CANCELLED, NO_MEMORY, GPU_LOST.
bool gi_persistent_build(struct gi_persistent *persistent, glinfer_progress_fn progress, void *user,
                         struct glinfer_error *err);

// Returns the number of groups in use.
uint32_t gi_persistent_groups(const struct gi_persistent *persistent);
// Returns the maximum number of steps for one dispatch, at least 1: budget_ns / step_ns (1 if
// step_ns is 0, unknown), within the limits of watchdogs and compilers.
uint32_t gi_persistent_max_steps(const struct gi_persistent *persistent, uint64_t step_ns,
                                 uint64_t budget_ns);

// Returns the executor interface, once it is built. It divides chains into dispatches of
// gi_persistent_max_steps; steps after the end of an answer (step_state) do nothing.
struct gi_executor *gi_persistent_executor(struct gi_persistent *persistent);
