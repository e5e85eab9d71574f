#include "gpu/dispatch/timer.h"

#include "base/clock.h"
#include "gpu/device/gpu_private.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct gi_timer {
    struct gi_gpu *gpu; // borrowed
    bool is_waiting;    // the host's clock around a wait, no queries
    uint32_t capacity, n_ranges;
    uint32_t n_ready; // ranges known to be over
    uint64_t since;   // of a range that waits
    uint64_t *ns;     // capacity, of ranges that waited
    GLuint *queries;  // capacity
};

static struct gi_timer *create_timer(struct gi_gpu *gpu, uint32_t capacity, bool is_waiting,
                                     struct glinfer_error *err)
{
    const size_t size = capacity * (is_waiting ? sizeof(uint64_t) : sizeof(GLuint));
    struct gi_timer *timer = calloc(1, sizeof(*timer));
    void *ranges = calloc(1, size + 1);
    if (!timer || !ranges) {
        gi_error_no_memory(err, sizeof(*timer) + size, "timers");
        free(timer);
        free(ranges);
        return NULL;
    }
    timer->gpu = gpu;
    timer->capacity = capacity;
    timer->is_waiting = is_waiting;
    timer->ns = is_waiting ? ranges : NULL;
    timer->queries = is_waiting ? NULL : ranges;
    return timer;
}

struct gi_timer *gi_timer_create(struct gi_gpu *gpu, uint32_t capacity, struct glinfer_error *err)
{
    if (!gpu->limits.has_timer_query) {
        gi_error_set(err, GLINFER_STATUS_UNSUPPORTED, "%s has no EXT_disjoint_timer_query",
                     gi_gpu_platform(gpu)->renderer);
        return NULL;
    }
    struct gi_timer *timer = create_timer(gpu, capacity, false, err);
    if (!timer) {
        return NULL;
    }
    gpu->ext.gen_queries((GLsizei)capacity, timer->queries);
    if (!gi_gpu_check(gpu, "making timer queries", err)) {
        gi_timer_destroy(timer);
        return NULL;
    }
    gi_timer_reset(timer);
    return timer;
}

struct gi_timer *gi_timer_create_waiting(struct gi_gpu *gpu, uint32_t capacity,
                                         struct glinfer_error *err)
{
    return create_timer(gpu, capacity, true, err);
}

void gi_timer_destroy(struct gi_timer *timer)
{
    if (timer) {
        if (timer->queries) {
            timer->gpu->ext.delete_queries((GLsizei)timer->capacity, timer->queries);
        }
        free(timer->queries);
        free(timer->ns);
        free(timer);
    }
}

// Returns true if the clock jumped since the last call: GL resets the flag when it is read.
static bool is_disjoint(void)
{
    GLint disjoint = GL_FALSE;
    glGetIntegerv(GL_GPU_DISJOINT_EXT, &disjoint);
    return disjoint != GL_FALSE;
}

void gi_timer_reset(struct gi_timer *timer)
{
    timer->n_ranges = 0;
    timer->n_ready = 0;
    if (!timer->is_waiting) {
        is_disjoint();
    }
}

void gi_timer_begin(struct gi_timer *timer)
{
    assert(timer->n_ranges < timer->capacity);
    if (timer->is_waiting) {
        if (timer->n_ranges == 0) {
            gi_gpu_finish(timer->gpu, NULL);
        }
        timer->since = gi_clock_ns();
        return;
    }
    timer->gpu->ext.begin_query(GL_TIME_ELAPSED_EXT, timer->queries[timer->n_ranges]);
}

void gi_timer_end(struct gi_timer *timer)
{
    if (timer->is_waiting) {
        gi_gpu_finish(timer->gpu, NULL);
        timer->ns[timer->n_ranges] = gi_clock_ns() - timer->since;
    } else {
        timer->gpu->ext.end_query(GL_TIME_ELAPSED_EXT);
    }
    timer->n_ranges++;
}

static bool is_ready(const struct gi_timer *timer, uint32_t range)
{
    GLuint is_available = GL_FALSE;
    timer->gpu->ext.get_query_uint(timer->queries[range], GL_QUERY_RESULT_AVAILABLE_EXT,
                                   &is_available);
    return is_available != GL_FALSE;
}

enum gi_timer_status gi_timer_results(struct gi_timer *timer, uint64_t *ns)
{
    if (timer->is_waiting) {
        memcpy(ns, timer->ns, timer->n_ranges * sizeof(ns[0]));
        return GI_TIMER_STATUS_READY;
    }
    while (timer->n_ready < timer->n_ranges && is_ready(timer, timer->n_ready)) {
        timer->n_ready++;
    }
    if (timer->n_ready < timer->n_ranges) {
        return GI_TIMER_STATUS_PENDING;
    }
    for (uint32_t i = 0; i < timer->n_ranges; i++) {
        GLuint64 value = 0;
        timer->gpu->ext.get_query_uint64(timer->queries[i], GL_QUERY_RESULT_EXT, &value);
        ns[i] = value;
    }
    return is_disjoint() ? GI_TIMER_STATUS_DISJOINT : GI_TIMER_STATUS_READY;
}

enum gi_timer_status gi_timer_await(struct gi_timer *timer, uint64_t *ns)
{
    const struct timespec pause = {.tv_nsec = 200000};
    const uint64_t give_up = gi_clock_ns() + 1000000000ull;
    enum gi_timer_status status = gi_timer_results(timer, ns);
    while (status == GI_TIMER_STATUS_PENDING && gi_clock_ns() < give_up) {
        nanosleep(&pause, NULL);
        status = gi_timer_results(timer, ns);
    }
    return status;
}
