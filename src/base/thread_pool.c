#include "base/thread_pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_THREADS = 7 };

struct gi_thread_pool {
    pthread_t threads[MAX_THREADS];
    uint32_t n_threads;
    gi_thread_pool_fn fn;
    void *user;
    uint32_t n_items;
    _Atomic uint32_t next; // first item that no thread has taken
    // Guarded by the mutex:
    pthread_mutex_t mutex;
    pthread_cond_t has_job, has_ended;
    uint32_t n_jobs; // begun so far
    uint32_t n_busy; // threads that still work on the last one
    bool is_over;
};

static void take_items(struct gi_thread_pool *pool)
{
    for (uint32_t i; (i = atomic_fetch_add(&pool->next, 1)) < pool->n_items;) {
        pool->fn(pool->user, i);
    }
}

static void *work(void *user)
{
    struct gi_thread_pool *pool = user;
    uint32_t n_done = 0;
    pthread_mutex_lock(&pool->mutex);
    while (!pool->is_over) {
        if (n_done == pool->n_jobs) {
            pthread_cond_wait(&pool->has_job, &pool->mutex);
            continue;
        }
        n_done = pool->n_jobs;
        pthread_mutex_unlock(&pool->mutex);
        take_items(pool);
        pthread_mutex_lock(&pool->mutex);
        if (--pool->n_busy == 0) {
            pthread_cond_signal(&pool->has_ended);
        }
    }
    pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

static uint32_t count_threads(uint32_t wanted)
{
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    const uint32_t most = wanted > 0 ? wanted : n > 1 ? (uint32_t)n - 1 : 0;
    return most < MAX_THREADS ? most : MAX_THREADS;
}

struct gi_thread_pool *gi_thread_pool_create(uint32_t n_threads)
{
    struct gi_thread_pool *pool = calloc(1, sizeof(*pool));
    sigset_t all, before;
    if (!pool) {
        return NULL;
    }
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->has_job, NULL);
    pthread_cond_init(&pool->has_ended, NULL);
    const uint32_t wanted = count_threads(n_threads);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); // threads inherit it
    while (pool->n_threads < wanted &&
           pthread_create(&pool->threads[pool->n_threads], NULL, work, pool) == 0) {
        pool->n_threads++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pool;
}

void gi_thread_pool_destroy(struct gi_thread_pool *pool)
{
    if (!pool) {
        return;
    }
    pthread_mutex_lock(&pool->mutex);
    pool->is_over = true;
    pthread_cond_broadcast(&pool->has_job);
    pthread_mutex_unlock(&pool->mutex);
    for (uint32_t i = 0; i < pool->n_threads; i++) {
        pthread_join(pool->threads[i], NULL);
    }
    pthread_cond_destroy(&pool->has_ended);
    pthread_cond_destroy(&pool->has_job);
    pthread_mutex_destroy(&pool->mutex);
    free(pool);
}

void gi_thread_pool_begin(struct gi_thread_pool *pool, gi_thread_pool_fn fn, void *user,
                          uint32_t n_items)
{
    pthread_mutex_lock(&pool->mutex);
    pool->fn = fn;
    pool->user = user;
    pool->n_items = n_items;
    atomic_store(&pool->next, 0);
    pool->n_busy = pool->n_threads;
    pool->n_jobs++;
    pthread_cond_broadcast(&pool->has_job);
    pthread_mutex_unlock(&pool->mutex);
}

void gi_thread_pool_end(struct gi_thread_pool *pool)
{
    take_items(pool);
    pthread_mutex_lock(&pool->mutex);
    while (pool->n_busy > 0) {
        pthread_cond_wait(&pool->has_ended, &pool->mutex);
    }
    pthread_mutex_unlock(&pool->mutex);
}
