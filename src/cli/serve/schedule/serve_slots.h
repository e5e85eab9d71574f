// Slots: the sessions that answer, and the choice of a slot for an answer. Only the thread of the
// GPU uses them.
#pragma once

#include "cli/serve/schedule/serve_prefixes.h"
#include "cli/serve/schedule/serve_task.h"

enum { SERVE_MAX_SLOTS = 16 };

struct serve_slot {
    struct glinfer_session *session; // owned
    struct serve_job *job;           // its answer; NULL: the slot is idle
    bool is_broken;                  // its answer waits for the recovery of the device
    uint32_t n_recovered;            // recoveries of this answer
    uint64_t last_used;              // serial number of its last answer
    uint32_t n_cached;               // tokens of the prompt that were not computed again
    struct serve_places places;      // in the prompt, of checkpoints
    double begin;                    // cli_now()
};

struct serve_slots {
    struct serve_slot items[SERVE_MAX_SLOTS];
    uint32_t count;
    uint32_t n_running; // slots with an answer, except broken ones
    uint32_t n_broken;
    uint64_t n_used;
    struct serve_prefixes prefixes;
};

// Creates n sessions and an empty prefix cache, whose limit is 0. Fails as glinfer_sessions_create
// does; call serve_slots_finish in any case.
bool serve_slots_init(struct serve_slots *slots, struct glinfer_model *model,
                      const struct glinfer_session_params *params, uint32_t n,
                      struct glinfer_error *err);
void serve_slots_finish(struct serve_slots *slots);

// Returns the slot for an answer: the requested one; else the idle slot that holds most of the
// prompt, if that is a tenth of it and the slot loses few or no more tokens than it keeps; else the
// slot that was idle longest. NULL: the answer waits.
struct serve_slot *serve_slots_choose(struct serve_slots *slots, const struct serve_job *job);
// Returns the slot of a session.
struct serve_slot *serve_slots_find(struct serve_slots *slots,
                                    const struct glinfer_session *session);

// Begins an answer after the tokens of its prompt that the slot holds, or gets from another slot or
// the prefix cache, which takes the slot's own if most are lost. The values of an embedding are
// computed and sent at once; the caller sends its end, and the slot stays idle. Fails as
// glinfer_begin and glinfer_embed do.
bool serve_slot_begin(struct serve_slots *slots, struct serve_slot *slot, struct serve_job *job,
                      struct glinfer_error *err);
// Ends the thought of an answer, whose limit is reached, sends the text that does so, and goes on
// after it. Fails as glinfer_begin does.
bool serve_slot_end_thought(struct serve_slot *slot, const struct glinfer_tokenizer *tokenizer,
                            struct glinfer_error *err);
// Runs the action of a job and sends its end. Fails as glinfer_session_save and
// glinfer_session_load do; after a failed restore the slot is empty.
bool serve_slot_act(struct serve_slot *slot, const struct serve_job *job,
                    struct glinfer_error *err);
// Resumes a broken answer after the recovery of the device.
bool serve_slot_resume(struct serve_slots *slots, struct serve_slot *slot,
                       struct glinfer_error *err);
// Notes that the answer waits for the recovery of the device.
void serve_slot_break(struct serve_slots *slots, struct serve_slot *slot);
// Makes a slot idle and returns its job.
struct serve_job *serve_slot_release(struct serve_slots *slots, struct serve_slot *slot);
