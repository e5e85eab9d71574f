#include "cli/serve/schedule/serve_queue.h"

#include <string.h>

void serve_queue_init(struct serve_queue *queue, uint32_t capacity)
{
    memset(queue, 0, sizeof(*queue));
    queue->capacity = capacity;
    pthread_mutex_init(&queue->lock, NULL);
}

void serve_queue_finish(struct serve_queue *queue)
{
    while (queue->first) {
        struct serve_job *job = queue->first;
        queue->first = job->next;
        serve_task_unref(job->task);
    }
    pthread_mutex_destroy(&queue->lock);
}

// Returns true for an answer that uses a place in the queue.
static bool has_place(const struct serve_job *job)
{
    return !job->task->is_embedding || job->choice + 1 == job->task->n_jobs;
}

enum serve_queued serve_queue_push(struct serve_queue *queue, struct serve_task *task,
                                   uint32_t n_idle)
{
    enum serve_queued queued = SERVE_QUEUED;
    const uint32_t n_places = task->is_embedding ? 1 : task->n_jobs;
    pthread_mutex_lock(&queue->lock);
    if (queue->is_closed) {
        queued = SERVE_QUEUE_CLOSED;
    } else if (queue->n_used + n_places > queue->capacity + n_idle) {
        queued = SERVE_QUEUE_FULL;
    }
    for (uint32_t i = 0; queued == SERVE_QUEUED && i < task->n_jobs; i++) {
        struct serve_job *job = &task->jobs[i];
        serve_task_ref(task);
        job->next = NULL;
        *(queue->last ? &queue->last->next : &queue->first) = job;
        queue->last = job;
        queue->count++;
        queue->n_used += has_place(job);
    }
    pthread_mutex_unlock(&queue->lock);
    return queued;
}

struct serve_job *serve_queue_pop(struct serve_queue *queue,
                                  bool (*suits)(void *user, const struct serve_job *job),
                                  void *user)
{
    pthread_mutex_lock(&queue->lock);
    struct serve_job *before = NULL, *job = queue->first;
    while (job && !atomic_load(&job->task->is_cancelled) && suits && !suits(user, job)) {
        before = job;
        job = job->next;
    }
    if (job) {
        *(before ? &before->next : &queue->first) = job->next;
        queue->last = queue->last == job ? before : queue->last;
        queue->count--;
        queue->n_used -= has_place(job);
    }
    pthread_mutex_unlock(&queue->lock);
    return job;
}

void serve_queue_tell(struct serve_queue *queue)
{
    uint32_t n_before = 0;
    pthread_mutex_lock(&queue->lock);
    for (struct serve_job *job = queue->first; job; job = job->next) {
        if (job->task->has_progress && job->n_before != n_before) {
            const struct serve_event event = {
                .kind = SERVE_EVENT_QUEUED, .choice = job->choice, .done = n_before};
            serve_mailbox_send(&job->task->mailbox, &event, NULL, NULL);
            job->n_before = n_before;
        }
        n_before++;
    }
    pthread_mutex_unlock(&queue->lock);
}

void serve_queue_close(struct serve_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->is_closed = true;
    pthread_mutex_unlock(&queue->lock);
}

uint32_t serve_queue_count(struct serve_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    const uint32_t count = queue->count;
    pthread_mutex_unlock(&queue->lock);
    return count;
}
