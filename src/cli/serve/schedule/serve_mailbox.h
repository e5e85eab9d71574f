// Carries what happens to answers from the thread of the GPU to that of the connection. The
// scheduler sends events, which costs it a copy of a token; a connection takes all that there are
// and makes them JSON in its own time. A connection that has nothing to take asks to be woken.
#ifndef SERVE_MAILBOX_H
#define SERVE_MAILBOX_H

#include "cli/common/cli_memory.h"
#include "cli/serve/schedule/serve_action.h"
#include "glinfer.h"

#include <pthread.h>

enum serve_event_kind {
    SERVE_EVENT_QUEUED,   // the answer waits for a slot, and `done` others come before it
    SERVE_EVENT_PROMPT,   // a token of a prompt that is echoed, with its probs; the first has none
    SERVE_EVENT_START,    // the answer has a slot; n_cached tokens of its prompt were there already
    SERVE_EVENT_PROGRESS, // done of total tokens of the prompt were submitted
    SERVE_EVENT_TOKEN,
    SERVE_EVENT_VALUES, // an embedding: its text is the bytes of its floats
    SERVE_EVENT_END,    // the last of an answer: stats hold
    SERVE_EVENT_FAIL,   // the last of one that failed: status and text hold
};

struct serve_event {
    enum serve_event_kind kind;
    uint32_t choice;                   // the answer's index within its task
    int32_t id;                        // TOKEN, PROMPT; -1: text that was held back
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
    bool is_waiting;          // somebody wants to be woken
    void (*wake)(void *user); // called with the lock held
    void *user;
};

void serve_mailbox_init(struct serve_mailbox *mailbox);
void serve_mailbox_finish(struct serve_mailbox *mailbox);

// Copies an event; text (text_size bytes) and probs (n_probs) are those that it refers to.
void serve_mailbox_send(struct serve_mailbox *mailbox, const struct serve_event *event,
                        const char *text, const struct glinfer_prob *probs);
// Moves all events into *events, which is empty; false if there are none.
bool serve_mailbox_take(struct serve_mailbox *mailbox, struct serve_events *events);
// Calls rest and returns true if there are no events: wake_up is called with the next one, once.
// Both get user.
bool serve_mailbox_wait(struct serve_mailbox *mailbox, void (*rest)(void *user),
                        void (*wake_up)(void *user), void *user);
// Wakes whoever waits without an event.
void serve_mailbox_wake(struct serve_mailbox *mailbox);
// Forgets whom to wake.
void serve_mailbox_leave(struct serve_mailbox *mailbox);

#endif
