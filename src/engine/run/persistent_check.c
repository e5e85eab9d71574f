#include "engine/run/persistent_check.h"

#include "base/clock.h"
#include "engine/run/session_persistent.h"

#include <assert.h>
#include <string.h>

enum {
    SAME_STEPS = 4,      // whose tokens are compared
    N_ROUND = 3,         // of timing, the best of which counts
    ROUND_NS = 10000000, // that show a difference, and that nobody notices
};

static struct gi_gpu *gpu_of(const struct glinfer_session *session)
{
    return session->model->device->gpu;
}

//-- steps -----------------------------------------------------------------------------------------

static bool write_state(struct glinfer_session *session, const struct gi_persistent_check *check,
                        struct glinfer_error *err)
{
    const struct gi_range *range = &session->ranges[GI_SESSION_STATE];
    const struct gi_step_state state = {.token = check->token,
                                        .n_past = check->n_past,
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

static bool run_ordinary(struct glinfer_session *session, const struct gi_persistent_check *check,
                         uint32_t n, struct glinfer_error *err)
{
    struct gi_dispatch_table *table = gi_session_step(session, check->end, err);
    if (!table || !gi_dispatch_table_prime(table, check->n_past, 1, err) ||
        !write_state(session, check, err)) {
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct gi_replay replay = {.n_past = check->n_past + i, .n_tokens = 1};
        gi_dispatch_table_replay(table, &replay);
    }
    return true;
}

static bool run_persistent(struct glinfer_session *session, const struct gi_persistent_check *check,
                           uint32_t n, struct glinfer_error *err)
{
    if (!write_state(session, check, err)) {
        return false;
    }
    gi_session_replay_persistent(session, check->end, n);
    return true;
}

static bool expect_no_fault(const struct glinfer_session *session,
                            const struct gi_persistent_check *check, struct glinfer_error *err)
{
    const struct gi_range range = gi_persistent_fault(check->persistent);
    uint32_t fault = 0;
    return gi_buffer_read(range.buffer, gpu_of(session), range.offset, &fault, sizeof(fault),
                          err) &&
           (fault == 0 ||
            gi_error_set(err, GLINFER_STATUS_GPU_FAULT, "its groups did not run together"));
}

static bool read_tokens(const struct glinfer_session *session, uint32_t n, uint32_t *tokens,
                        struct glinfer_error *err)
{
    const struct gi_range *ring = &session->ranges[GI_SESSION_RING];
    for (uint32_t i = 0; i < n; i++) {
        struct gi_ring_entry entry;
        if (!gi_buffer_read(ring->buffer, gpu_of(session), ring->offset + i * sizeof(entry), &entry,
                            sizeof(entry), err)) {
            return false;
        }
        const bool is_sound = entry.epoch == session->epoch && entry.status == GI_RING_STATUS_OK;
        tokens[i] = is_sound ? entry.token : UINT32_MAX;
    }
    return true;
}

// Time of an ordinary step, in ns: what tells how many fit in a dispatch.
static bool time_step(struct glinfer_session *session, const struct gi_persistent_check *check,
                      uint64_t *step_ns, struct glinfer_error *err)
{
    const uint64_t start = gi_clock_ns();
    if (!run_ordinary(session, check, 1, err) || !gi_gpu_finish(gpu_of(session), err)) {
        return false;
    }
    *step_ns = gi_clock_ns() - start;
    return true;
}

static uint32_t count_steps(const struct glinfer_session *session,
                            const struct gi_persistent_check *check, uint64_t step_ns,
                            uint32_t wanted)
{
    const uint32_t most = gi_persistent_max_steps(check->persistent, step_ns, session->budget_ns);
    const uint32_t room = session->n_ctx - check->n_past;
    const uint32_t n = room < wanted ? room : wanted;
    return n < most ? n : most;
}

//-- the same tokens -------------------------------------------------------------------------------

// Whether n steps from the check's token give the same tokens.
static bool compare_steps(struct glinfer_session *session, const struct gi_persistent_check *check,
                          uint32_t n, bool *are_same, struct glinfer_error *err)
{
    uint32_t expected[SAME_STEPS], found[SAME_STEPS];
    if (!run_ordinary(session, check, n, err) || !read_tokens(session, n, expected, err) ||
        !run_persistent(session, check, n, err) || !expect_no_fault(session, check, err) ||
        !read_tokens(session, n, found, err)) {
        return false;
    }
    *are_same = memcmp(expected, found, n * sizeof(found[0])) == 0;
    return true;
}

// Sums that are rounded otherwise choose another token now and then, where two are all but equally likely: after one
// difference two more texts must show none.
bool gi_persistent_check_tokens(struct glinfer_session *session,
                                const struct gi_persistent_check *check, struct gi_verdict *verdict,
                                struct glinfer_error *err)
{
    struct gi_persistent_check text = *check;
    bool are_same = false, has_differed = false;
    uint64_t step_ns;
    if (!time_step(session, check, &step_ns, err)) {
        return false;
    }
    const uint32_t n = count_steps(session, check, step_ns, SAME_STEPS);
    for (int i = 0; i < (has_differed ? 3 : 1); i++) {
        if (!compare_steps(session, &text, n, &are_same, err)) {
            return false;
        }
        if (!are_same && has_differed) {
            break;
        }
        has_differed = has_differed || !are_same;
        text.token = (text.token * 31 + 17) % session->model->hparams.n_vocab;
    }
    *verdict = (struct gi_verdict){.kind = are_same ? GI_VERDICT_FASTER : GI_VERDICT_WRONG};
    return true;
}

//-- which is faster -------------------------------------------------------------------------------

typedef bool (*run_fn)(struct glinfer_session *session, const struct gi_persistent_check *check,
                       uint32_t n, struct glinfer_error *err);

static bool time_steps(struct glinfer_session *session, const struct gi_persistent_check *check,
                       run_fn run, uint32_t n, uint64_t *best_ns, struct glinfer_error *err)
{
    const uint64_t start = gi_clock_ns();
    assert(n > 0);
    if (!run(session, check, n, err) || !gi_gpu_finish(gpu_of(session), err)) {
        return false;
    }
    const uint64_t step_ns = (gi_clock_ns() - start) / n;
    *best_ns = step_ns < *best_ns ? step_ns : *best_ns;
    return true;
}

// How many fit into a time: at least `least`, at most as many as there are places for.
static uint32_t fit_steps(uint64_t time_ns, uint64_t step_ns, uint32_t least)
{
    const uint64_t fit = step_ns > 0 ? time_ns / step_ns : 1;
    return fit < least                       ? least
           : fit > GI_PERSISTENT_TRIED_STEPS ? GI_PERSISTENT_TRIED_STEPS
                                             : (uint32_t)fit;
}

// Keeps a GPU busy until its clock is what it is in a long answer.
static bool warm_up(struct glinfer_session *session, const struct gi_persistent_check *check,
                    struct glinfer_error *err)
{
    const uint64_t end_ns = gi_clock_ns() + 300000000;
    while (gi_clock_ns() < end_ns) {
        if (!run_ordinary(session, check, 1, err) || !gi_gpu_finish(gpu_of(session), err)) {
            return false;
        }
    }
    return true;
}

// A model that is large enough reads its weights faster by ordinary dispatches.
static bool check_speed(struct glinfer_session *session, const struct gi_persistent_check *check,
                        struct gi_verdict *verdict, struct glinfer_error *err)
{
    uint64_t step_ns;
    verdict->ordinary_ns = verdict->persistent_ns = UINT64_MAX;
    if ((check->is_cold && !warm_up(session, check, err)) ||
        !time_step(session, check, &step_ns, err)) {
        return false;
    }
    const uint32_t n = count_steps(session, check, step_ns, fit_steps(ROUND_NS, step_ns, 2));
    for (int i = 0; i < N_ROUND; i++) {
        if (!time_steps(session, check, run_ordinary, n, &verdict->ordinary_ns, err) ||
            !time_steps(session, check, run_persistent, n, &verdict->persistent_ns, err)) {
            return false;
        }
    }
    const bool is_faster = verdict->persistent_ns < verdict->ordinary_ns;
    verdict->kind = is_faster ? GI_VERDICT_FASTER : GI_VERDICT_SLOWER;
    return expect_no_fault(session, check, err);
}

bool gi_persistent_check(struct glinfer_session *session, const struct gi_persistent_check *check,
                         struct gi_verdict *verdict, struct glinfer_error *err)
{
    struct gi_verdict found;
    if (!gi_persistent_check_tokens(session, check, &found, err) ||
        (found.kind != GI_VERDICT_WRONG && !check_speed(session, check, &found, err))) {
        return false;
    }
    *verdict = found;
    return true;
}
