// An executor runs a dispatch list, step after step. Its users do not know its kind: the
// multi-dispatch executor replays the entries of a sealed list one by one; another one may
// transform a list that the same ops recorded. A runner (gpu/dispatch/runner.h) submits chains
// through it.
#pragma once

#include "gpu/dispatch/dispatch_table.h"

struct gi_joint_place;
struct gi_replay_cursor;
struct gi_selection;
struct gi_time_box;

// Steps that are submitted together. step_state says the same of the first step as n_past and
// n_tokens do.
struct gi_chain {
    uint32_t n_past;         // keys in the cache before the first step
    uint32_t n_tokens;       // of each step: 1 in decode, the batch's in prompt processing
    uint32_t n_steps;        // each stores the state that the next one begins with; 0: submits only
                             // the inputs of the first step besides step_state
    uint32_t n_entries;      // entries of the ring that it writes; 0: one per step
    uint32_t flush_interval; // dispatches between flushes; 0: none
    uint64_t step_ns;        // GPU time of a step, 0: not known
    uint64_t begin_ns;       // time of the clock when its submission began, 0: with this call
    uint64_t budget_ns;      // of a submission at most, where an executor can divide a chain
    struct gi_time_box *box; // decides when to flush between dispatches; NULL: flush_interval
    // The place where a boxed chain begins and, if the box pauses, continues; NULL: it is submitted
    // whole. Executors that do not use the box submit all.
    struct gi_replay_cursor *cursor;
    const struct gi_selection *selection; // of executors of many dispatches; NULL: all, untimed
    const struct gi_joint_place *joint; // of a joint list, n_past being the most; NULL: of another
    bool is_without_tail;               // omits the separate list at the end of a step
    const struct gi_executor *before;   // executor of the previous chain, which may have a fault;
                                        // NULL: no previous chain
    bool is_continued; // nothing else wrote published values since this executor's last chain
};

struct gi_executor;

// The functions of an executor. Errors are those of its constructor.
struct gi_executor_class {
    enum glinfer_dispatch dispatch; // how its steps are submitted, for users
    bool (*submit)(struct gi_executor *self, const struct gi_chain *chain,
                   struct glinfer_error *err);
    struct gi_range (*fault)(const struct gi_executor *self); // NULL: has no faults
    void (*destroy)(struct gi_executor *self);
};

// The first member of every executor.
struct gi_executor {
    const struct gi_executor_class *class;
};

// Submits a chain. Fails with GPU_LOST, NO_MEMORY; GL errors surface at the next gi_gpu_check.
static inline bool gi_executor_submit(struct gi_executor *executor, const struct gi_chain *chain,
                                      struct glinfer_error *err)
{
    return executor->class->submit(executor, chain, err);
}

// Returns the 4 bytes that become nonzero on a fault of a chain, after which the executor does
// nothing; a range without a buffer if it has no faults.
static inline struct gi_range gi_executor_fault(const struct gi_executor *executor)
{
    return executor->class->fault ? executor->class->fault(executor) : (struct gi_range){0};
}

// Accepts NULL.
static inline void gi_executor_destroy(struct gi_executor *executor)
{
    if (executor) {
        executor->class->destroy(executor);
    }
}
