// Answers that wait for a slot: in order, bounded. Any thread.
#ifndef SERVE_QUEUE_H
#define SERVE_QUEUE_H

#include "cli/serve/schedule/serve_task.h"

struct serve_queue {
    pthread_mutex_t lock;
    struct serve_job *first, *last;
    uint32_t count, capacity;
    bool is_closed; // nothing is taken in any more
};

enum serve_queued {
    SERVE_QUEUED,
    SERVE_QUEUE_FULL,
    SERVE_QUEUE_CLOSED,
};

void serve_queue_init(struct serve_queue *queue, uint32_t capacity);
// Drops all that wait.
void serve_queue_finish(struct serve_queue *queue);

// Takes all answers of a task in, or none of them; each has a reference to the task then. n_idle
// answers beyond the capacity are taken in: those that have a slot and need not wait.
enum serve_queued serve_queue_push(struct serve_queue *queue, struct serve_task *task,
                                   uint32_t n_idle);
// Returns the first that `suits` accepts or that was cancelled, taken out; NULL if there is none.
struct serve_job *serve_queue_pop(struct serve_queue *queue,
                                  bool (*suits)(void *user, const struct serve_job *job),
                                  void *user);
// Sends tasks with progress the places of their answers in the queue that have changed.
void serve_queue_tell(struct serve_queue *queue);
void serve_queue_close(struct serve_queue *queue);
uint32_t serve_queue_count(struct serve_queue *queue);

#endif
