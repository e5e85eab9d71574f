// Carries the events of answers from the thread of the GPU to the thread of the connection. The
// scheduler sends events, which costs it a copy of a token. The connection takes all events at once
// and writes JSON in its own time; without events it asks to be woken.
#pragma once

#include "cli/common/cli_memory.h"
#include "glinfer.h"

#include <pthread.h>

enum serve_event_kind {
    SERVE_EVENT_QUEUED,   // the answer waits for a slot, after `done` others
    SERVE_EVENT_PROMPT,   // a token of a prompt that is echoed, with its probs; the first has none
    SERVE_EVENT_START,    // the answer has a slot, which held n_cached tokens of its prompt
    SERVE_EVENT_PROGRESS, // done of total tokens of the prompt were submitted
    SERVE_EVENT_TOKEN,
    SERVE_EVENT_VALUES, // an embedding: its text is the bytes of its floats
    SERVE_EVENT_END,    // the last event of an answer, with stats
    SERVE_EVENT_FAIL,   // the last event of an answer that failed, with status and text
    SERVE_EVENT_NEWS,   // JSON that a stream sends as it is; "": its end
};

// The result of an action of /slots/ID.
struct serve_action_result {
    size_t n_tokens;
    uint64_t size; // bytes of the file
    double ms;
};

struct serve_event {
    enum serve_event_kind kind;
    uint32_t choice;                   // the answer's index within its task
    int32_t id;                        // TOKEN, PROMPT; -1: only text, which was held back
    size_t text, text_size;            // TOKEN, VALUES, FAIL: the place in texts
    size_t probs, n_probs;             // TOKEN, PROMPT: the place in probs
    uint32_t slot, n_cached;           // START
    uint32_t done, total;              // PROGRESS; done: QUEUED
    double ms;                         // PROGRESS: since the start
    enum glinfer_status status;        // FAIL
    struct glinfer_stats stats;        // END
    struct serve_action_result result; // END of an action
};

// Events with the texts and log-probabilities that they refer to.
struct serve_events {
    struct serve_event *items; // owned
    size_t count, capacity;
    struct cli_bytes texts;
    struct {
        struct glinfer_prob *items; // owned
        size_t count, capacity;
    } probs;
};

void serve_events_finish(struct serve_events *events);

struct serve_mailbox {
    pthread_mutex_t lock;
    struct serve_events events;
    bool is_waiting;          // the connection wants to be woken
    void (*wake)(void *user); // called with the lock held
    void *user;
};

void serve_mailbox_init(struct serve_mailbox *mailbox);
void serve_mailbox_finish(struct serve_mailbox *mailbox);

// Copies an event with its text (text_size bytes) and probs (n_probs), and wakes the connection.
void serve_mailbox_send(struct serve_mailbox *mailbox, const struct serve_event *event,
                        const char *text, const struct glinfer_prob *probs);
// Moves all events into *events, which is empty. Returns false without events.
bool serve_mailbox_take(struct serve_mailbox *mailbox, struct serve_events *events);
// Without events, calls rest, arranges one call of wake_up at the next event, and returns true.
// Both get user; rest may be NULL.
bool serve_mailbox_wait(struct serve_mailbox *mailbox, void (*rest)(void *user),
                        void (*wake_up)(void *user), void *user);
// Wakes the connection without an event.
void serve_mailbox_wake(struct serve_mailbox *mailbox);
// Cancels the call of wake_up.
void serve_mailbox_leave(struct serve_mailbox *mailbox);
