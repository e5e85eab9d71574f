// Switches decode steps from the multi-dispatch executor to the persistent one, if that is right
// and faster: loads the program from the cache or compiles it, tests it, and keeps the verdict. One
// upgrade serves the steps of one session, or the joint steps of a group, that end in one way.
// Obstacles are logged and are not failures, except a lost GPU.
//
// Only gi_upgrade_prepare, before an answer, loads programs from the cache and tests each once per
// driver, within a time box. A missing program is requested after an answer (gi_upgrade_request) if
// the device may compile in the background; the next session uses it.
#pragma once

#include "gpu/dispatch/runner.h"
#include "persistent/persistent_policy.h"

struct gi_upgrade;

// Functions of the owner of the steps.
struct gi_upgrade_source {
    void *user;
    uint32_t steps; // the kind of steps, in the owner's numbering
    // Records the steps into a list of this form.
    bool (*record)(void *user, uint32_t steps, const struct gi_list_form *form,
                   struct gi_program_table *programs, struct gi_dispatch_table *list,
                   struct glinfer_error *err);
    // Returns the multi-dispatch executor of the same steps, made ready; NULL on failure.
    struct gi_executor *(*multi)(void *user, uint32_t steps, struct glinfer_error *err);
    // Create the executors that begin and end each step (gi_persistent_set_ends); NULL: the program
    // does.
    struct gi_executor *(*head)(void *user, uint32_t steps, struct glinfer_error *err);
    struct gi_executor *(*tail)(void *user, uint32_t steps, struct glinfer_error *err);
    // Resets the counters that an abandoned step may leave changed.
    bool (*clear)(void *user, struct glinfer_error *err);
};

struct gi_upgrade_params {
    struct gi_gpu *gpu;              // borrowed
    struct gi_runner *runner;        // borrowed
    struct gi_upgrade_source source; // copied
    const char *name;                // of the steps, for the log; a literal
    uint64_t layer_bytes;            // bytes of the weights of a layer
    uint32_t n_vocab;
    bool may_be_large;              // groups have room for what the steps share when they are large
    struct gi_range state;          // step_state
    struct gi_range slots;          // of joint steps: the states of their slots, and the list's own
    const char *folder;             // of verdicts; borrowed; NULL: none are kept
    const char *device, *cache_dir; // of background compiles; borrowed
    bool may_compile;               // in the background
};

// NULL with NO_MEMORY. Does nothing else yet.
struct gi_upgrade *gi_upgrade_create(const struct gi_upgrade_params *params,
                                     struct glinfer_error *err);
// Accepts NULL.
void gi_upgrade_destroy(struct gi_upgrade *upgrade);

// A place where steps can be tested: after n_past keys, with n_free free places, beginning with a
// token. In a joint step n_past is the largest of any slot, and n_free the smallest.
struct gi_upgrade_place {
    uint32_t n_past, n_free, token;
    const struct gi_joint_place *joint; // of joint steps: live and n_past; NULL: of one sequence
    // An upgrade of another session that has an executor; its program is shared; NULL: none.
    const struct gi_upgrade *peer;
};

// Switches to the persistent executor if it is available. With is_patient, or where
// GLINFER_DISPATCH=persistent asks for it, compiles now, warms the GPU up and measures for as long
// as it takes; progress may be NULL. No chain is in flight; step_state is to be written again.
// Fails with CANCELLED, GPU_LOST.
bool gi_upgrade_prepare(struct gi_upgrade *upgrade, const struct gi_upgrade_place *place,
                        bool is_patient, glinfer_progress_fn progress, void *user,
                        struct glinfer_error *err);
// Returns true once the executor is decided: no further test runs.
bool gi_upgrade_is_settled(const struct gi_upgrade *upgrade);
// Returns the persistent executor, or NULL while the steps use the multi-dispatch one.
struct gi_executor *gi_upgrade_executor(const struct gi_upgrade *upgrade);
// Compiles a missing program in the background, if the device allows it and steps of step_ns may
// become faster.
void gi_upgrade_request(struct gi_upgrade *upgrade, uint64_t step_ns);
// Abandons the executor after a fault, for the lifetime of the upgrade, and deletes its verdict.
// Fails with GPU_LOST.
bool gi_upgrade_give_up(struct gi_upgrade *upgrade, struct glinfer_error *err);

// State of the steps: the executor of the next answer, and the time of a step with either executor
// when they were compared; 0: not compared.
struct gi_upgrade_report {
    bool is_persistent;
    uint64_t multi_ns, persistent_ns;
    const struct gi_hash *key; // of the verdict; NULL: there is no program
};
// Reads the cached verdict; never compiles.
struct gi_upgrade_report gi_upgrade_recall(struct gi_upgrade *upgrade);
