// Makes dispatch lists ready: records them, builds their programs, tests these once on the driver,
// and records the lists again without programs that the driver refuses or computes wrong. Callers
// describe what to record.
#pragma once

#include "engine/selftest/selftest.h"

// The end of a step, which selects the list.
enum gi_step_end {
    GI_STEP_END_GREEDY,
    GI_STEP_END_SMALL_K,  // sampled from the top-k list
    GI_STEP_END_FULL,     // sampled from the whole vocabulary
    GI_STEP_END_PROBS,    // greedy or from the whole vocabulary, with log-probabilities
    GI_STEP_END_ADJUSTED, // from here on: the same ends, with adjusted logits
    GI_STEP_END_COUNT = 2 * GI_STEP_END_ADJUSTED,
};

// Describes n lists.
struct gi_list_source {
    uint32_t n; // at most 32
    struct gi_tested tested;
    void *user;
    // Records list i. Returns NULL with the first failure of the recording.
    struct gi_dispatch_table *(*record)(void *user, uint32_t i, struct glinfer_error *err);
    // Fills all of *test but its list.
    void (*describe)(void *user, uint32_t i, struct gi_tested_list *test);
    // Called when a program was disabled, which lists that were recorded before may contain; may be
    // NULL.
    void (*change)(void *user);
    bool keeps_halves;            // fails rather than switches other lists from f16 to f32
    glinfer_progress_fn progress; // may be NULL; if it returns false, the call is cancelled
    void *progress_user;
};

// Sets executors[i] for each list i of a bit set. On failure sets none. Fails with the first
// failure of the recording, CANCELLED, DRIVER, GPU_LOST, NO_MEMORY.
bool gi_lists_prepare(const struct gi_list_source *source, uint32_t set,
                      struct gi_executor **executors, struct glinfer_error *err);
// Builds the programs of a recorded list, which were tested before, seals it and returns its
// executor, which owns it. On failure destroys the list and returns NULL. If list is NULL, the
// recording failed and err is already set.
struct gi_executor *gi_list_build(struct gi_program_table *programs, struct gi_dispatch_table *list,
                                  struct glinfer_error *err);

// Sets the sampler settings of a step_state for tests of this end: every filter has an effect.
void gi_list_set_end(struct gi_step_state *state, enum gi_step_end end);
// Describes the test of a list with slots, all of which take part. tested->joint has the slots, of
// which n_rows have a row. test->slots points to slots.
void gi_list_describe_slots(const struct gi_tested *tested, uint32_t n_rows, enum gi_step_end end,
                            struct gi_step_state slots[GI_MAX_ROWS], struct gi_tested_list *test);

// Keys before a tested step, if they fit: several ranges of keys.
enum { GI_LIST_TEST_PAST = 1100 };
