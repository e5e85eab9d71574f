// Slots: the sessions that answer, and which of them an answer goes to. Used by the thread of the
// GPU alone.
#ifndef SERVE_SLOTS_H
#define SERVE_SLOTS_H

#include "cli/serve/schedule/serve_task.h"

enum { SERVE_MAX_SLOTS = 16 };

struct serve_slot {
    struct glinfer_session *session; // owned
    struct serve_job *job;           // that it answers; NULL: it is idle
    bool is_broken;                  // its answer waits for the device to be recovered
    uint32_t n_recovered;            // times that this answer was
    uint64_t last_used;              // a number that grows with each answer
    uint32_t n_cached;               // tokens of the prompt that it held before
    double begin;                    // cli_now()
};

struct serve_slots {
    struct serve_slot items[SERVE_MAX_SLOTS];
    uint32_t count;
    uint32_t n_running; // that have an answer under way, broken ones not counted
    uint32_t n_broken;
    uint64_t n_used;
};

// Creates n sessions. Fails as glinfer_session_create does; what was created is freed by
// serve_slots_finish.
bool serve_slots_init(struct serve_slots *slots, struct glinfer_model *model,
                      const struct glinfer_session_params *params, uint32_t n,
                      struct glinfer_error *err);
void serve_slots_finish(struct serve_slots *slots);

// Returns the slot for an answer: the one that is asked for; else the idle one that holds most of
// its prompt, if that is a tenth of it, else the one that was idle longest. NULL if it has to wait.
struct serve_slot *serve_slots_choose(struct serve_slots *slots, const struct serve_job *job);
// Returns the slot of a session.
struct serve_slot *serve_slots_find(struct serve_slots *slots,
                                    const struct glinfer_session *session);

// Begins the job's answer behind what the slot holds of its prompt. An embedding is computed and
// sent at once, and the slot stays idle. Fails as glinfer_begin and glinfer_embed do.
bool serve_slot_begin(struct serve_slots *slots, struct serve_slot *slot, struct serve_job *job,
                      struct glinfer_error *err);
// Does what the job's action says with what the slot holds, and sends its end. Fails as
// serve_action_run does.
bool serve_slot_act(const struct serve_slot *slot, const struct serve_job *job,
                    struct glinfer_error *err);
// Goes on with a broken answer once the device was recovered.
bool serve_slot_resume(struct serve_slots *slots, struct serve_slot *slot,
                       struct glinfer_error *err);
// Notes that the answer waits for the device to be recovered.
void serve_slot_break(struct serve_slots *slots, struct serve_slot *slot);
// Makes a slot idle and returns what it answered.
struct serve_job *serve_slot_release(struct serve_slots *slots, struct serve_slot *slot);

#endif
