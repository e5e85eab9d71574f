// A few threads that share the items of one job at a time with the caller, for work on the CPU
// alone: GL belongs to the caller. They take no signals.
#pragma once

#include <stdint.h>

struct gi_thread_pool;

// Called with every item once, by any thread, in no order.
typedef void (*gi_thread_pool_fn)(void *user, uint32_t item);

// Starts n_threads beside the caller's, 0: one less than there are processors, at most 7, or fewer
// if the system has no more. NULL without memory.
struct gi_thread_pool *gi_thread_pool_create(uint32_t n_threads);
// Accepts NULL. No job is under way.
void gi_thread_pool_destroy(struct gi_thread_pool *pool);

// Begins a job and returns at once; user lives until it has ended. No job is under way.
void gi_thread_pool_begin(struct gi_thread_pool *pool, gi_thread_pool_fn fn, void *user,
                          uint32_t n_items);
// Takes part in the job, if there is one, and returns when it is done.
void gi_thread_pool_end(struct gi_thread_pool *pool);
