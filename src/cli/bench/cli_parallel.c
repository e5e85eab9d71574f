#include "cli/bench/cli_parallel.h"

#include <poll.h>

// Counts what came of all sequences.
struct course {
    uint32_t n_begun, n_over; // that have their first token, that are over
    uint32_t n_token;         // since all were begun
    double begun;             // time at which that was
    double last;              // time of the latest token
};

bool cli_parallel_open(struct cli_parallel *parallel, struct cli_session *session, uint32_t n)
{
    struct glinfer_session_params params;
    struct glinfer_error err;
    cli_session_fill(session, &params);
    const bool ok = glinfer_sessions_create(session->model, &params, n, parallel->sessions, &err);
    parallel->n = ok ? n : 0;
    return cli_bar_end(&session->bar, ok, &err);
}

void cli_parallel_close(struct cli_parallel *parallel)
{
    cli_set_session(NULL);
    for (uint32_t i = 0; i < parallel->n; i++) {
        glinfer_session_destroy(&parallel->sessions[i]);
    }
    parallel->n = 0;
}

// Waits until an answer can go on.
static void wait_for_device(int fd)
{
    struct pollfd wake = {.fd = fd, .events = POLLIN};
    poll(&wake, 1, 1000);
}

static void note_token(const struct cli_parallel *parallel, struct course *course, bool *has_begun)
{
    course->last = cli_now();
    if (course->n_begun == parallel->n) {
        course->n_token++;
    } else if (!*has_begun) {
        *has_begun = true;
        course->n_begun++;
        course->begun = course->last;
    }
}

// Steps until all answers are over.
static bool step_to_end(const struct cli_parallel *parallel, struct glinfer_device *device,
                        struct course *course, struct glinfer_stats *stats)
{
    enum { BUDGET_US = 100000 };
    bool has_begun[CLI_MAX_PARALLEL] = {false};
    struct glinfer_error err;
    const int fd = glinfer_device_fd(device, &err);
    bool ok = fd >= 0;
    while (ok && course->n_over < parallel->n) {
        struct glinfer_event event = {.struct_size = sizeof(event)};
        uint32_t i = 0;
        ok = cli_check_interrupt(&err) && glinfer_step(device, BUDGET_US, &event, &err);
        while (i + 1 < parallel->n && parallel->sessions[i] != event.session) {
            i++;
        }
        if (ok && event.kind == GLINFER_EVENT_TOKEN) {
            note_token(parallel, course, &has_begun[i]);
        } else if (ok && event.kind == GLINFER_EVENT_END) {
            *stats = *event.stats;
            course->n_over++;
        } else if (ok && event.kind == GLINFER_EVENT_NONE) {
            wait_for_device(fd);
        }
    }
    return ok || cli_fail_error(&err);
}

static bool begin_all(const struct cli_parallel *parallel,
                      const struct glinfer_generate_params *params)
{
    struct glinfer_error err;
    bool ok = true;
    for (uint32_t i = 0; ok && i < parallel->n; i++) {
        ok = glinfer_begin(parallel->sessions[i], params, &err);
    }
    return ok || cli_fail_error(&err);
}

static void end_all(const struct cli_parallel *parallel)
{
    for (uint32_t i = 0; i < parallel->n; i++) {
        glinfer_end(parallel->sessions[i]);
        glinfer_session_reset(parallel->sessions[i]);
    }
}

bool cli_parallel_run(struct cli_parallel *parallel, struct glinfer_device *device,
                      const struct glinfer_generate_params *params, uint32_t n_depth,
                      struct glinfer_stats *stats)
{
    struct glinfer_generate_params first = *params;
    struct course depth = {0}, course = {0};
    first.n_prompt = n_depth;
    first.n_predict = 0;
    end_all(parallel);
    cli_set_session(parallel->sessions[0]);
    bool ok = n_depth == 0 ||
              (begin_all(parallel, &first) && step_to_end(parallel, device, &depth, stats));
    ok = ok && begin_all(parallel, params) && step_to_end(parallel, device, &course, stats);
    end_all(parallel);
    if (ok && course.n_token > 0) {
        const double ms = 1e3 * (course.last - course.begun);
        stats->predicted_ms = ms / course.n_token * (params->n_predict - 1);
    }
    return ok;
}
