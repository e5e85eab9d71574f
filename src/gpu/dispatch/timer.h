// Measures the GPU time of ranges of the command stream with EXT_disjoint_timer_query, without
// blocking: results are polled. Where queries are missing or useless, it waits for the GPU at the
// end of each range, which adds the latency of a submission to each. Ranges follow each other; they
// neither nest nor overlap.
#pragma once

#include "gpu/device/gpu.h"

struct gi_timer;

// Makes a timer with room for capacity ranges. Fails with UNSUPPORTED where limits.has_timer_query
// is false, DRIVER, NO_MEMORY.
struct gi_timer *gi_timer_create(struct gi_gpu *gpu, uint32_t capacity, struct glinfer_error *err);
// Makes one that waits: gi_timer_end blocks, and results are there at once. Fails with NO_MEMORY.
struct gi_timer *gi_timer_create_waiting(struct gi_gpu *gpu, uint32_t capacity,
                                         struct glinfer_error *err);
void gi_timer_destroy(struct gi_timer *timer);

// Starts a new set of ranges. The results of the last set are lost.
void gi_timer_reset(struct gi_timer *timer);
// Marks a range. The first range is number 0 of the results, and so on.
void gi_timer_begin(struct gi_timer *timer);
void gi_timer_end(struct gi_timer *timer);

enum gi_timer_status {
    GI_TIMER_STATUS_PENDING,  // some range is not over yet; on some drivers it never is: give up
    GI_TIMER_STATUS_READY,    // ns is filled
    GI_TIMER_STATUS_DISJOINT, // the clock jumped (a change of frequency, sleep): measure again
};
// Writes the time of each range of the set, in order, to ns (as many as there are ranges).
enum gi_timer_status gi_timer_results(struct gi_timer *timer, uint64_t *ns);
// Waits up to a second for the results of finished work: later ones never come.
enum gi_timer_status gi_timer_await(struct gi_timer *timer, uint64_t *ns);
