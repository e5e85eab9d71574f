#include "gpu/timer.h"

#include "gpu/gpu_private.h"

#include <assert.h>
#include <stdlib.h>

struct gi_timer {
    struct gi_gpu *gpu; // borrowed
    uint32_t capacity, n_ranges;
    uint32_t n_ready; // ranges known to be over
    GLuint queries[]; // capacity
};

struct gi_timer *gi_timer_create(struct gi_gpu *gpu, uint32_t capacity, struct glinfer_error *err)
{
    if (!gpu->limits.has_timer_query) {
        gi_error_set(err, GLINFER_STATUS_UNSUPPORTED, "%s has no EXT_disjoint_timer_query",
                     gi_gpu_platform(gpu)->renderer);
        return NULL;
    }
    size_t size = sizeof(struct gi_timer) + capacity * sizeof(GLuint);
    struct gi_timer *timer = calloc(1, size);
    if (!timer) {
        gi_error_no_memory(err, size, "timer queries");
        return NULL;
    }
    timer->gpu = gpu;
    timer->capacity = capacity;
    gpu->ext.gen_queries((GLsizei)capacity, timer->queries);
    if (!gi_gpu_check(gpu, "making timer queries", err)) {
        gi_timer_destroy(timer);
        return NULL;
    }
    gi_timer_reset(timer);
    return timer;
}

void gi_timer_destroy(struct gi_timer *timer)
{
    if (timer) {
        timer->gpu->ext.delete_queries((GLsizei)timer->capacity, timer->queries);
        free(timer);
    }
}

// Asking resets the flag.
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
    is_disjoint();
}

void gi_timer_begin(struct gi_timer *timer)
{
    assert(timer->n_ranges < timer->capacity);
    timer->gpu->ext.begin_query(GL_TIME_ELAPSED_EXT, timer->queries[timer->n_ranges]);
}

void gi_timer_end(struct gi_timer *timer)
{
    timer->gpu->ext.end_query(GL_TIME_ELAPSED_EXT);
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

uint32_t gi_timer_count(const struct gi_timer *timer)
{
    return timer->n_ranges;
}
