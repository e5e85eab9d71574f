// The thread that owns the device. It loads the model, gives slots to the answers that wait, has
// them go on in turns or together as the library does, and sends what happens to their mailboxes.
// All other threads talk to it through these functions alone; any thread may call them.
#ifndef SERVE_SCHEDULER_H
#define SERVE_SCHEDULER_H

#include "cli/common/cli_session.h"
#include "cli/serve/schedule/serve_queue.h"
#include "cli/serve/schedule/serve_slots.h"

enum serve_state {
    SERVE_LOADING,
    SERVE_READY,
    SERVE_DRAINING, // nothing new is taken in, what there is goes on
    SERVE_OVER,     // the thread has ended or is about to
};

struct serve_scheduler_params {
    const struct cli_session_flags *flags;   // borrowed
    struct glinfer_generate_params expected; // what to compile for in advance
    uint32_t n_slots;                        // 1..SERVE_MAX_SLOTS
    uint32_t n_queue;                        // answers that may wait
};

struct serve_slot_state {
    bool is_busy;
    uint32_t n_prompt, n_cached, n_processed; // tokens of its last prompt
    uint32_t n_decoded;                       // of its last answer
    uint64_t n_answers;                       // since the start
};

// Sums since the start.
struct serve_counts {
    uint64_t n_prompt, n_cached, n_predicted; // tokens; n_prompt: that were processed
    double prompt_ms, predicted_ms;           // of those
    uint64_t n_done, n_failed, n_cancelled;   // answers
    uint64_t n_recovered;                     // times that the device was
    uint64_t n_steps;                         // tokens that came while slots were busy,
    uint64_t n_busy;                          // and busy slots, added up at each
    double answer_ms;                         // a moving mean of what an answer takes
};

struct serve_snapshot {
    enum serve_state state;
    uint32_t n_slots, n_waiting, n_running;
    struct serve_slot_state slots[SERVE_MAX_SLOTS];
    struct serve_counts counts;
};

struct serve_scheduler;

// Starts the thread, which begins to load the model. Prints what failed; NULL then.
struct serve_scheduler *serve_scheduler_create(const struct serve_scheduler_params *params);
// Stops the scheduler and frees all. Accepts NULL.
void serve_scheduler_destroy(struct serve_scheduler *scheduler);

enum serve_state serve_scheduler_state(struct serve_scheduler *scheduler);
// Returns a descriptor that becomes readable when the model is there, or cannot be had, which was
// printed then: the state says which.
int serve_scheduler_ready_fd(const struct serve_scheduler *scheduler);

// The model; only once the state is not LOADING.
const struct glinfer_model_info *serve_scheduler_info(const struct serve_scheduler *scheduler);
const struct glinfer_device_info *serve_scheduler_device(const struct serve_scheduler *scheduler);
const struct glinfer_tokenizer *serve_scheduler_tokenizer(const struct serve_scheduler *scheduler);

enum serve_queued serve_scheduler_submit(struct serve_scheduler *scheduler,
                                         struct serve_task *task);
// Ends the answers of a task soon; their mailbox gets no more events.
void serve_scheduler_cancel(struct serve_scheduler *scheduler, struct serve_task *task);
// Takes nothing more in; what there is goes on.
void serve_scheduler_drain(struct serve_scheduler *scheduler);
// Fails what there is with CANCELLED and ends the thread. No event comes any more afterwards.
void serve_scheduler_stop(struct serve_scheduler *scheduler);
void serve_scheduler_look(struct serve_scheduler *scheduler, struct serve_snapshot *snapshot);

#endif
