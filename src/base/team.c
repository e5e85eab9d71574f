#include "base/team.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_THREADS = 7 };

struct gi_team {
    pthread_t threads[MAX_THREADS];
    uint32_t n_threads;
    gi_team_fn fn;
    void *user;
    uint32_t n_items;
    _Atomic uint32_t next; // item that nobody took yet
    // Guarded by the mutex:
    pthread_mutex_t mutex;
    pthread_cond_t has_job, has_ended;
    uint32_t n_jobs; // begun so far
    uint32_t n_busy; // threads that have not left the last one
    bool is_over;
};

static void take_items(struct gi_team *team)
{
    for (uint32_t i; (i = atomic_fetch_add(&team->next, 1)) < team->n_items;) {
        team->fn(team->user, i);
    }
}

static void *work(void *user)
{
    struct gi_team *team = user;
    uint32_t n_done = 0;
    pthread_mutex_lock(&team->mutex);
    while (!team->is_over) {
        if (n_done == team->n_jobs) {
            pthread_cond_wait(&team->has_job, &team->mutex);
            continue;
        }
        n_done = team->n_jobs;
        pthread_mutex_unlock(&team->mutex);
        take_items(team);
        pthread_mutex_lock(&team->mutex);
        if (--team->n_busy == 0) {
            pthread_cond_signal(&team->has_ended);
        }
    }
    pthread_mutex_unlock(&team->mutex);
    return NULL;
}

static uint32_t count_threads(uint32_t wanted)
{
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    const uint32_t most = wanted > 0 ? wanted : n > 1 ? (uint32_t)n - 1 : 0;
    return most < MAX_THREADS ? most : MAX_THREADS;
}

struct gi_team *gi_team_create(uint32_t n_threads)
{
    struct gi_team *team = calloc(1, sizeof(*team));
    sigset_t all, before;
    if (!team) {
        return NULL;
    }
    pthread_mutex_init(&team->mutex, NULL);
    pthread_cond_init(&team->has_job, NULL);
    pthread_cond_init(&team->has_ended, NULL);
    const uint32_t wanted = count_threads(n_threads);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); // threads inherit it
    while (team->n_threads < wanted &&
           pthread_create(&team->threads[team->n_threads], NULL, work, team) == 0) {
        team->n_threads++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return team;
}

void gi_team_destroy(struct gi_team *team)
{
    if (!team) {
        return;
    }
    pthread_mutex_lock(&team->mutex);
    team->is_over = true;
    pthread_cond_broadcast(&team->has_job);
    pthread_mutex_unlock(&team->mutex);
    for (uint32_t i = 0; i < team->n_threads; i++) {
        pthread_join(team->threads[i], NULL);
    }
    pthread_cond_destroy(&team->has_ended);
    pthread_cond_destroy(&team->has_job);
    pthread_mutex_destroy(&team->mutex);
    free(team);
}

void gi_team_begin(struct gi_team *team, gi_team_fn fn, void *user, uint32_t n_items)
{
    pthread_mutex_lock(&team->mutex);
    team->fn = fn;
    team->user = user;
    team->n_items = n_items;
    atomic_store(&team->next, 0);
    team->n_busy = team->n_threads;
    team->n_jobs++;
    pthread_cond_broadcast(&team->has_job);
    pthread_mutex_unlock(&team->mutex);
}

void gi_team_end(struct gi_team *team)
{
    take_items(team);
    pthread_mutex_lock(&team->mutex);
    while (team->n_busy > 0) {
        pthread_cond_wait(&team->has_ended, &team->mutex);
    }
    pthread_mutex_unlock(&team->mutex);
}
