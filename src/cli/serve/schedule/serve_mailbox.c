#include "cli/serve/schedule/serve_mailbox.h"

#include <stdlib.h>
#include <string.h>

void serve_events_finish(struct serve_events *events)
{
    free(events->items);
    cli_bytes_finish(&events->texts);
    free(events->probs.items);
    memset(events, 0, sizeof(*events));
}

void serve_mailbox_init(struct serve_mailbox *mailbox)
{
    memset(mailbox, 0, sizeof(*mailbox));
    pthread_mutex_init(&mailbox->lock, NULL);
}

void serve_mailbox_finish(struct serve_mailbox *mailbox)
{
    serve_events_finish(&mailbox->events);
    pthread_mutex_destroy(&mailbox->lock);
}

static void append(struct serve_events *events, const struct serve_event *event, const char *text,
                   const struct glinfer_prob *probs)
{
    struct serve_event *own = CLI_APPEND(events);
    *own = *event;
    own->text = events->texts.size;
    cli_bytes_append(&events->texts, text, event->text_size);
    own->probs = events->probs.count;
    for (size_t i = 0; i < event->n_probs; i++) {
        *CLI_APPEND(&events->probs) = probs[i];
    }
}

// Wakes the connection if it waits; the lock is held.
static void wake(struct serve_mailbox *mailbox)
{
    if (mailbox->is_waiting) {
        mailbox->is_waiting = false;
        mailbox->wake(mailbox->user);
    }
}

void serve_mailbox_send(struct serve_mailbox *mailbox, const struct serve_event *event,
                        const char *text, const struct glinfer_prob *probs)
{
    pthread_mutex_lock(&mailbox->lock);
    append(&mailbox->events, event, text, probs);
    wake(mailbox);
    pthread_mutex_unlock(&mailbox->lock);
}

bool serve_mailbox_take(struct serve_mailbox *mailbox, struct serve_events *events)
{
    pthread_mutex_lock(&mailbox->lock);
    const bool has_any = mailbox->events.count > 0;
    if (has_any) {
        *events = mailbox->events;
        memset(&mailbox->events, 0, sizeof(mailbox->events));
    }
    pthread_mutex_unlock(&mailbox->lock);
    return has_any;
}

bool serve_mailbox_wait(struct serve_mailbox *mailbox, void (*rest)(void *user),
                        void (*wake_up)(void *user), void *user)
{
    pthread_mutex_lock(&mailbox->lock);
    const bool is_empty = mailbox->events.count == 0;
    if (is_empty) {
        if (rest) {
            rest(user);
        }
        mailbox->wake = wake_up;
        mailbox->user = user;
        mailbox->is_waiting = true;
    }
    pthread_mutex_unlock(&mailbox->lock);
    return is_empty;
}

void serve_mailbox_wake(struct serve_mailbox *mailbox)
{
    pthread_mutex_lock(&mailbox->lock);
    wake(mailbox);
    pthread_mutex_unlock(&mailbox->lock);
}

void serve_mailbox_leave(struct serve_mailbox *mailbox)
{
    pthread_mutex_lock(&mailbox->lock);
    mailbox->is_waiting = false;
    pthread_mutex_unlock(&mailbox->lock);
}
