#include "engine/session_persistent.h"

#include "base/clock.h"

#include <string.h>

// The self-check: steps from an empty cache, the first token of which is CHECK_TOKEN.
enum {
    CHECK_STEPS = 4,
    CHECK_TOKEN = 1,
    TIMED_STEPS = 8,
};

static struct gi_gpu *gpu_of(const struct glinfer_session *session)
{
    return session->model->device->gpu;
}

//-- making ----------------------------------------------------------------------------------------

// Programs are described, not built: their texts become stages.
static struct gi_persistent *make(struct glinfer_session *session,
                                  struct gi_program_table *programs, int end,
                                  struct glinfer_error *err)
{
    struct gi_gpu *gpu = gpu_of(session);
    const struct gi_persistent_params params = gi_gpu_persistent(gpu)->params;
    const struct gi_dispatch_table_params table_params = {.state = session->step_buffers.state};
    struct gi_dispatch_table *table = gi_dispatch_table_create(gpu, programs, &table_params, err);
    const struct gi_recorder recorder = {.gpu = gpu,
                                         .programs = programs,
                                         .table = table,
                                         .group_size = params.group_size,
                                         .n_groups = params.n_groups};
    struct gi_persistent *persistent = NULL;
    if (table && gi_session_record_with(session, recorder, end, err)) {
        persistent = gi_persistent_create(gpu, table, programs, &params, err);
    }
    gi_dispatch_table_destroy(table);
    if (persistent && !gi_persistent_build(persistent, NULL, NULL, err)) {
        gi_persistent_destroy(persistent);
        return NULL;
    }
    return persistent;
}

static bool make_all(struct glinfer_session *session, struct glinfer_error *err)
{
    struct gi_program_table *programs = gi_program_table_create(gpu_of(session), err);
    bool ok = programs != NULL;
    for (int end = 0; ok && end < GI_STEP_END_SAMPLE_ALL; end++) {
        session->persistent[end] = make(session, programs, end, err);
        ok = session->persistent[end] != NULL;
    }
    gi_program_table_destroy(programs);
    return ok;
}

//-- the self-check --------------------------------------------------------------------------------

static bool write_state(struct glinfer_session *session, struct glinfer_error *err)
{
    const struct gi_range *range = &session->ranges[GI_SESSION_STATE];
    const struct gi_step_state state = {.token = CHECK_TOKEN,
                                        .n_tokens = 1,
                                        .epoch = ++session->epoch,
                                        .max_steps = UINT32_MAX,
                                        .ban_stop = 1,
                                        .temperature = 1.0f,
                                        .top_k = 40,
                                        .top_p = 0.95f};
    return gi_buffer_write((struct gi_buffer *)range->buffer, gpu_of(session), range->offset,
                           &state, sizeof(state), err);
}

static bool read_tokens(const struct glinfer_session *session, uint32_t n,
                        uint32_t tokens[CHECK_STEPS], struct glinfer_error *err)
{
    const struct gi_range *ring = &session->ranges[GI_SESSION_RING];
    for (uint32_t i = 0; i < n; i++) {
        uint32_t entry[4];
        if (!gi_buffer_read(ring->buffer, gpu_of(session),
                            ring->offset + i * sizeof(struct gi_ring_entry), entry, sizeof(entry),
                            err)) {
            return false;
        }
        tokens[i] =
            entry[2] == session->epoch && entry[3] == GI_RING_STATUS_OK ? entry[0] : UINT32_MAX;
    }
    return true;
}

// Submits n steps from an empty cache.
static bool run_ordinary(struct glinfer_session *session, int end, uint32_t n,
                         struct glinfer_error *err)
{
    if (!gi_dispatch_table_prime(session->step[end], 0, 1, err) || !write_state(session, err)) {
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct gi_replay replay = {.n_past = i, .n_tokens = 1};
        gi_dispatch_table_replay(session->step[end], &replay);
    }
    return true;
}

static bool run_persistent(struct glinfer_session *session, int end, uint32_t n,
                           struct glinfer_error *err)
{
    if (!write_state(session, err)) {
        return false;
    }
    gi_persistent_replay(session->persistent[end], n);
    return true;
}

// Time of an ordinary step, in ns: what tells how many fit in a dispatch.
static bool time_step(struct glinfer_session *session, int end, uint64_t *step_ns,
                      struct glinfer_error *err)
{
    const uint64_t start = gi_clock_ns();
    if (!run_ordinary(session, end, 1, err) || !gi_gpu_finish(gpu_of(session), err)) {
        return false;
    }
    *step_ns = gi_clock_ns() - start;
    return true;
}

static uint32_t count_steps(const struct glinfer_session *session, int end, uint64_t step_ns,
                            uint32_t wanted)
{
    const uint32_t most =
        gi_persistent_max_steps(session->persistent[end], step_ns, session->budget_ns);
    const uint32_t n = session->n_ctx < wanted ? session->n_ctx : wanted;
    return n < most ? n : most;
}

static bool check_tokens(struct glinfer_session *session, int end, struct glinfer_error *err)
{
    uint32_t expected[CHECK_STEPS], found[CHECK_STEPS];
    uint64_t step_ns;
    if (!time_step(session, end, &step_ns, err)) {
        return false;
    }
    const uint32_t n = count_steps(session, end, step_ns, CHECK_STEPS);
    if (!run_ordinary(session, end, n, err) || !read_tokens(session, n, expected, err) ||
        !run_persistent(session, end, n, err) || !read_tokens(session, n, found, err)) {
        return false;
    }
    return memcmp(expected, found, n * sizeof(found[0])) == 0 ||
           gi_error_set(err, GLINFER_STATUS_GPU_FAULT, "its tokens are not the ordinary ones");
}

//-- which is faster -------------------------------------------------------------------------------

static bool time_steps(struct glinfer_session *session, uint32_t n, bool is_persistent,
                       uint64_t *best, struct glinfer_error *err)
{
    const int end = GI_STEP_END_ARGMAX;
    const uint64_t start = gi_clock_ns();
    if (!(is_persistent ? run_persistent : run_ordinary)(session, end, n, err) ||
        !gi_gpu_finish(gpu_of(session), err)) {
        return false;
    }
    const uint64_t time = gi_clock_ns() - start;
    *best = time < *best ? time : *best;
    return true;
}

// A model that is large enough reads its weights faster by ordinary dispatches.
static bool check_speed(struct glinfer_session *session, struct glinfer_error *err)
{
    uint64_t ordinary = UINT64_MAX, persistent = UINT64_MAX, step_ns;
    if (!time_step(session, GI_STEP_END_ARGMAX, &step_ns, err)) {
        return false;
    }
    const uint32_t n = count_steps(session, GI_STEP_END_ARGMAX, step_ns, TIMED_STEPS);
    for (int i = 0; i < 3; i++) {
        if (!time_steps(session, n, false, &ordinary, err) ||
            !time_steps(session, n, true, &persistent, err)) {
            return false;
        }
    }
    gi_log_write(gi_gpu_log(gpu_of(session)), GLINFER_LOG_DEBUG,
                 "%u steps took %.2f ms as ordinary dispatches, %.2f ms as one", n,
                 (double)ordinary / 1e6, (double)persistent / 1e6);
    return persistent < ordinary ||
           gi_error_set(err, GLINFER_STATUS_UNSUPPORTED, "many are faster here");
}

//-- life ------------------------------------------------------------------------------------------

bool gi_session_open_persistent(struct glinfer_session *session, struct glinfer_error *err)
{
    struct gi_gpu *gpu = gpu_of(session);
    const struct gi_gpu_persistent *wish = gi_gpu_persistent(gpu);
    struct glinfer_error why = {0};
    if (!wish->is_wanted) {
        return true;
    }
    bool ok = make_all(session, &why);
    for (int end = 0; ok && !wish->is_unchecked && end < GI_STEP_END_SAMPLE_ALL; end++) {
        ok = check_tokens(session, end, &why);
    }
    ok = ok && (wish->is_asked || check_speed(session, &why));
    if (ok) {
        gi_log_write(gi_gpu_log(gpu), GLINFER_LOG_INFO,
                     "a chain of steps is one dispatch of %u groups",
                     gi_persistent_groups(session->persistent[0]));
        return true;
    }
    gi_session_drop_persistent(session);
    gi_log_write(gi_gpu_log(gpu), wish->is_asked ? GLINFER_LOG_WARN : GLINFER_LOG_INFO,
                 "a chain of steps cannot be one dispatch, and is replayed as many: %s",
                 why.message);
    return gi_gpu_check(gpu, "preparing persistent steps", err);
}

void gi_session_drop_persistent(struct glinfer_session *session)
{
    for (int end = 0; end < GI_STEP_END_COUNT; end++) {
        gi_persistent_destroy(session->persistent[end]);
        session->persistent[end] = NULL;
    }
}
