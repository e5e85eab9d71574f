// A bounded queue of answers that wait for a slot. Any thread may call.
#pragma once

#include "cli/serve/schedule/serve_task.h"

struct serve_queue {
    pthread_mutex_t lock;
    struct serve_job *first, *last;
    uint32_t count;            // answers
    uint32_t n_used, capacity; // places; all inputs of a request for embeddings use one
    bool is_closed;            // refuses new answers
};

enum serve_queued {
    SERVE_QUEUED,
    SERVE_QUEUE_FULL,
    SERVE_QUEUE_CLOSED,
};

void serve_queue_init(struct serve_queue *queue, uint32_t capacity);
// Drops all waiting answers.
void serve_queue_finish(struct serve_queue *queue);

// Adds all answers of a task, each with a reference to it, or none of them. The queue has n_idle
// places beyond its capacity, since that many answers get a slot at once.
enum serve_queued serve_queue_push(struct serve_queue *queue, struct serve_task *task,
                                   uint32_t n_idle);
// Removes and returns the first answer that `suits` accepts (NULL: accepts any) or that was
// cancelled; NULL if there is no such answer.
struct serve_job *serve_queue_pop(struct serve_queue *queue,
                                  bool (*suits)(void *user, const struct serve_job *job),
                                  void *user);
// Sends their new places in the queue to answers of tasks with progress.
void serve_queue_tell(struct serve_queue *queue);
void serve_queue_close(struct serve_queue *queue);
uint32_t serve_queue_count(struct serve_queue *queue);
