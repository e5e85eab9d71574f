// A runner submits chains of decode steps for one sequence, or joint ones for several, waits for
// them and returns their tokens. Answers, scores, profiles, tuning and checks write step_state,
// submit and wait only through it. It owns the readbacks of the chains in flight; the caller owns
// step_state and the ring of results. One thread, with the context current.
#pragma once

#include "gpu/dispatch/executor.h"
#include "gpu/dispatch/joint.h"
#include "gpu/dispatch/step_state.h"
#include "gpu/dispatch/time_box.h"
#include "gpu/memory/buffer.h"
#include "gpu/memory/readback.h"

#define GI_MAX_CHAIN        256 // steps
#define GI_MAX_JOINT_CHAIN  64  // joint steps
#define GI_CHAINS_IN_FLIGHT 2
#define GI_RUNNER_SLOTS     (GI_CHAINS_IN_FLIGHT + 1) // and one whose entries are looked at
#define GI_RUNNER_READ_SIZE (GI_MAX_CHAIN * sizeof(struct gi_ring_entry))

// A chain that was submitted and is not taken yet.
struct gi_flight {
    uint32_t first, n_steps;     // steps since the epoch began; n_entries of a chain that says them
    struct gi_joint_place joint; // of a joint chain
    uint32_t n_entries;          // entries to read back
    bool has_fault;              // its executor may have given up
    uint32_t n_submitted;        // dispatches since the epoch began (gpu/dispatch/run_count.h)
    uint32_t n_indirect;         // of a step, with grids from the GPU
    uint64_t number;             // among the chains of the gpu
    uint64_t begin_ns;           // time of the clock when its submission began
    uint64_t submitted_ns;       // time of the clock when all of it was submitted
    uint64_t expected_ns;        // of its steps
    int fence_fd;                // readable when it is done; -1: there is none
};

// Looks of the host for the end of the oldest chain in flight, in nanoseconds of the clock.
struct gi_polls {
    uint64_t busy_ns;  // when it was last seen not to have ended; 0: never
    uint64_t early_ns; // when the host is to look before the expected end; 0: it is past that
    bool is_used;      // else the host waits for each chain, and sees its end
};

// The time of a chain that was taken.
struct gi_chain_time {
    uint64_t end_ns; // time of the clock when it was taken
    uint64_t ns;     // GPU time; unless is_exact, an upper bound
    bool is_exact;
    bool is_short; // it had ended when the host looked early: it takes less than expected
};

// Measures a chain, submitted from begin_ns on, that is taken now, and updates *last. The time is
// exact if it is long beside the uncertainty of its begin and of its end.
struct gi_chain_time gi_polls_measure(const struct gi_polls *polls, struct gi_last_end *last,
                                      uint64_t number, uint64_t begin_ns, uint64_t now);
// Returns the time of a step that is known after a chain whose steps took step_ns each. known: the
// time before; 0: unknown.
uint64_t gi_chain_time_learn(const struct gi_chain_time *time, uint64_t known, uint64_t step_ns);

struct gi_runner {
    struct gi_gpu *gpu;          // borrowed
    struct gi_range state, ring; // step_state; GI_RING_SLOTS entries
    uint32_t n_slots;            // of joint chains, each with a ring; 0: one sequence
    uint64_t ring_stride;        // bytes between rings
    uint64_t budget_ns;          // GPU time of a submission
    struct gi_time_box box;      // of chains that are submitted in a box; has the same budget
    uint64_t step_ns;            // measured time of a decode step; 0: not known
    struct gi_polls polls;
    bool wants_fence_fds; // of the chains that are submitted
    uint32_t epoch;       // of step_state, the first half of the sentinel
    struct gi_readback readbacks[GI_RUNNER_SLOTS];
    struct gi_flight flights[GI_RUNNER_SLOTS];
    uint32_t n_flights, next_flight;
    const struct gi_executor *last; // that ran last since the state was written; NULL: none
};

// The results of a chain, from gi_runner_take.
struct gi_landing {
    uint32_t first, n_steps;
    const struct gi_ring_entry *entries; // n_steps; valid until another landing is taken
    struct gi_joint_place joint;         // of a joint chain: gi_landing_of_slot
    bool is_faulty;                      // the executor gave up: entries hold nothing
    uint32_t n_submitted, n_ran;         // dispatches since the epoch began
    uint32_t n_indirect;                 // of a step, with grids from the GPU
    struct gi_chain_time time;
    uint64_t step_ns; // time of its steps that is known by now; 0: unknown
};

// Fails with NO_MEMORY, DRIVER.
bool gi_runner_init(struct gi_runner *runner, struct gi_gpu *gpu, struct gi_range state,
                    struct gi_range ring, struct glinfer_error *err);
// Initialises a runner for joint chains of n_slots sequences: state is that of their list, rings
// holds a ring every stride bytes. Fails with NO_MEMORY, DRIVER.
bool gi_runner_init_joint(struct gi_runner *runner, struct gi_gpu *gpu, struct gi_range state,
                          struct gi_range rings, uint32_t n_slots, uint64_t stride,
                          struct glinfer_error *err);
// Sets the GPU time that a submission may take.
void gi_runner_set_budget(struct gi_runner *runner, uint64_t ns);
// Accepts all-zero.
void gi_runner_finish(struct gi_runner *runner);

// Begins a new epoch: invalidates older entries of the ring and forgets chains in flight without
// waiting. Fails with GPU_LOST, NO_MEMORY.
bool gi_runner_begin(struct gi_runner *runner, struct glinfer_error *err);
// Writes step_state, with the runner's epoch. Fails with GPU_LOST, NO_MEMORY.
bool gi_runner_write(struct gi_runner *runner, const struct gi_step_state *state,
                     struct glinfer_error *err);
// Writes data[0..size) to the start of a range. Fails with GPU_LOST, NO_MEMORY.
bool gi_runner_fill(struct gi_runner *runner, const struct gi_range *range, const void *data,
                    uint64_t size, struct glinfer_error *err);

// Submits a chain whose results nobody reads: a batch of a prompt, steps that are only timed. What
// a chain with a box leaves open is flushed by gi_time_box_close, or by the next submit. step_ns
// and budget_ns are the runner's. Fails as the executor does.
bool gi_runner_run(struct gi_runner *runner, struct gi_executor *executor,
                   const struct gi_chain *chain, struct glinfer_error *err);
// Submits a chain and reads back the ring's entries of its steps. `first` counts the steps since
// the epoch began; for joint steps chain->joint has the place of each live sequence. Fewer than
// GI_CHAINS_IN_FLIGHT are in flight. A chain whose cursor then says is_paused is in flight once the
// same call, repeated, has submitted the rest.
bool gi_runner_submit(struct gi_runner *runner, struct gi_executor *executor,
                      const struct gi_chain *chain, uint32_t first, struct glinfer_error *err);
// Waits for all that was submitted. Fails with GPU_LOST, CANCELLED, DRIVER.
bool gi_runner_wait(struct gi_runner *runner, struct glinfer_error *err);
// Waits for the GPU and copies the start of a range, at most GI_RUNNER_READ_SIZE bytes, to data; no
// chain is in flight. Fails as gi_runner_wait, and with GPU_LOST if a dispatch of the epoch did not
// run.
bool gi_runner_read(struct gi_runner *runner, const struct gi_range *range, void *data,
                    uint64_t size, struct glinfer_error *err);
// Sets *is_ready to whether the oldest chain in flight has completed; a chain is in flight. Fails
// with GPU_LOST.
bool gi_runner_poll(struct gi_runner *runner, bool *is_ready, struct glinfer_error *err);
// Returns the time of the clock at which that chain begins, if no other is in flight, and sets *ns
// to what its steps take. What was submitted before it, such as a prompt, does not count: its time
// is a rough estimate.
uint64_t gi_runner_expected(const struct gi_runner *runner, uint64_t *ns);
// Returns its descriptor, which lives until it is taken or forgotten; -1: it has none.
int gi_runner_fence_fd(const struct gi_runner *runner);
// Waits for the oldest chain in flight. Fails with GPU_LOST.
bool gi_runner_take(struct gi_runner *runner, struct gi_landing *landing,
                    struct glinfer_error *err);
// Returns the results of a joint chain for the sequence in a slot; entries is NULL if it took no
// part.
struct gi_landing gi_landing_of_slot(const struct gi_landing *landing, uint32_t slot);
// Returns the bit set of slots in joint chains in flight whose results somebody waits for.
uint32_t gi_runner_joint_slots(const struct gi_runner *runner);
// Forgets the joint chains in flight after one that has a fault. Adds their slots to its live ones,
// each with the first of its lost steps, and removes the slots that have left. Fails with GPU_LOST,
// CANCELLED.
bool gi_runner_drop_joint(struct gi_runner *runner, struct gi_landing *faulty,
                          struct glinfer_error *err);
// Forgets the chains in flight. Waits for chains that may have a fault, and sets *is_faulty if one
// has. Fails with GPU_LOST.
bool gi_runner_drop(struct gi_runner *runner, bool *is_faulty, struct glinfer_error *err);

// Returns true if all dispatches of the chain and of the chains before it ran; after the first
// n_live steps, where an answer ended, dispatches with grids from the GPU had no workgroups. Fails
// with GPU_LOST otherwise.
bool gi_runner_check_count(const struct gi_runner *runner, const struct gi_landing *landing,
                           uint32_t n_live, struct glinfer_error *err);
// Returns true if the entry is valid. Fails with GPU_LOST (it was not written) or GPU_FAULT (a
// logit is NaN, or the token is not below n_vocab).
bool gi_runner_check_entry(const struct gi_runner *runner, const struct gi_ring_entry *entry,
                           uint32_t step, uint32_t n_vocab, struct glinfer_error *err);
