// The thread that owns the device. It loads the models, assigns slots to waiting answers, advances
// them, and sends their events to mailboxes. Other threads use only these functions; any thread may
// call them.
#pragma once

#include "cli/serve/schedule/serve_queue.h"
#include "cli/serve/schedule/serve_slots.h"
#include "cli/serve/serve_settings.h"

enum serve_state {
    SERVE_LOADING,
    SERVE_READY,
    SERVE_DRAINING, // refuses new answers and completes the others
    SERVE_OVER,     // the thread has ended or is about to
};

struct serve_slot_state {
    bool is_busy;
    uint32_t n_prompt, n_cached, n_processed; // tokens of its last prompt
    uint32_t n_decoded;                       // of its last answer
    int32_t n_predict;                        // of its last answer; -1: no limit
    uint64_t n_answers;                       // since the start
};

// Sums since the start of the server.
struct serve_counts {
    uint64_t n_prompt, n_cached, n_predicted; // tokens; n_prompt: processed ones
    double prompt_ms, predicted_ms;           // their time
    uint64_t n_done, n_failed, n_cancelled;   // answers
    uint64_t n_recovered;                     // recoveries of the device
    uint64_t n_steps;                         // generated tokens
    uint64_t n_busy;                          // sum of the busy slots at each of them
    double answer_ms;                         // moving mean of the time of an answer
    uint32_t n_tokens_max;                    // largest number in a context
    uint64_t n_drafts, n_drafted, n_accepted; // drafts, and their tokens
};

struct serve_snapshot {
    enum serve_state state;
    uint32_t n_slots, n_waiting, n_running;
    struct serve_slot_state slots[SERVE_MAX_SLOTS];
    struct serve_counts counts;
};

struct serve_scheduler;

// Starts the thread, which begins to load the model. Prints an error and returns NULL if that
// fails. The sums begin with *counts; NULL: zero.
struct serve_scheduler *serve_scheduler_create(struct serve_settings *settings,
                                               const struct serve_counts *counts);
// Stops the scheduler and frees it. Accepts NULL.
void serve_scheduler_destroy(struct serve_scheduler *scheduler);

enum serve_state serve_scheduler_state(struct serve_scheduler *scheduler);
// Returns a descriptor that becomes readable when the model is loaded, or when loading has failed
// with a printed error: the state tells which.
int serve_scheduler_ready_fd(const struct serve_scheduler *scheduler);

// Returns why loading has failed.
const struct glinfer_error *serve_scheduler_failure(const struct serve_scheduler *scheduler);

// Return information about the language model, zero and NULL without one; only when the state is
// not LOADING.
const struct glinfer_model_info *serve_scheduler_info(const struct serve_scheduler *scheduler);
const struct glinfer_device_info *serve_scheduler_device(const struct serve_scheduler *scheduler);
const struct glinfer_tokenizer *serve_scheduler_tokenizer(const struct serve_scheduler *scheduler);

// Returns information about the file of the speech model; only if there is one.
const struct glinfer_model_info *serve_scheduler_speech(const struct serve_scheduler *scheduler);

enum serve_queued serve_scheduler_submit(struct serve_scheduler *scheduler,
                                         struct serve_task *task);
// Ends the answers of a task soon; their mailbox gets no more events.
void serve_scheduler_cancel(struct serve_scheduler *scheduler, struct serve_task *task);
// Refuses new answers; the others go on.
void serve_scheduler_drain(struct serve_scheduler *scheduler);
// Fails all answers with CANCELLED and ends the thread. Sends no event after that.
void serve_scheduler_stop(struct serve_scheduler *scheduler);
void serve_scheduler_look(struct serve_scheduler *scheduler, struct serve_snapshot *snapshot);
