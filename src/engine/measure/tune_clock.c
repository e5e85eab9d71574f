#include "engine/measure/tune_clock.h"

#include "base/clock.h"
#include "gpu/dispatch/dispatch_replay.h"
#include "ops/record/rate.h"

enum {
    MOST_REPEATS = 4,
    PROMPT_FLUSH = 9,
    BURST_NS = 1000000,
    MOST_BURSTS = 32,
};

//-- arithmetic ------------------------------------------------------------------------------------

// Sized so that one dispatch takes a small GPU a millisecond and a large one some 100 us.
static bool record_burst(struct gi_tune_clock *clock)
{
    enum { N_ROUND = 64 };
    const uint64_t size = gi_gpu_class(gi_session_gpu(clock->session))->burst_bytes;
    const struct gi_dispatch_table_params params = {0};
    const struct gi_arena_request request = {.sizes = &size, .n = 1, .label = "burst"};
    struct gi_range range;
    struct gi_recorder recorder = clock->session->tables.recorder;
    if (!gi_arena_place(&clock->arena, gi_session_gpu(clock->session), &request, &range,
                        clock->err)) {
        return false;
    }
    gi_recorder_begin(&recorder, &params, clock->err);
    gi_op_rate_fma(&recorder, range, N_ROUND, 0.9990234375F, 0.0009765625F);
    clock->burst =
        gi_list_build(recorder.programs, gi_recorder_end(&recorder, clock->err), clock->err);
    return clock->burst != NULL;
}

// Not by the runner: the executor that it ran last is the one that is timed next.
static bool submit_burst(const struct gi_tune_clock *clock, uint64_t n)
{
    const struct gi_chain chain = {.n_tokens = 1, .n_steps = (uint32_t)(n * clock->n_burst)};
    return !clock->burst || gi_executor_submit(clock->burst, &chain, clock->err);
}

static bool time_burst(const struct gi_tune_clock *clock, uint64_t *ns)
{
    const uint64_t begin = gi_clock_ns();
    const bool ok = submit_burst(clock, 1) && gi_runner_wait(&clock->session->runner, clock->err);
    *ns = gi_clock_ns() - begin + 1;
    return ok;
}

bool gi_tune_clock_warm(struct gi_tune_clock *clock)
{
    enum { MOST_NS = 500000000, MOST_BURST = 256, STEADY = 4 };
    const uint64_t begin = gi_clock_ns();
    uint64_t best = UINT64_MAX, ns = 0;
    for (int n_steady = 0; clock->burst && n_steady < STEADY && gi_clock_ns() - begin < MOST_NS;) {
        if (!time_burst(clock, &ns)) {
            return false;
        }
        if (ns < BURST_NS && clock->n_burst < MOST_BURST) {
            clock->n_burst *= 2;
            best = UINT64_MAX;
            continue;
        }
        n_steady = ns < best - best / 32 ? 0 : n_steady + 1;
        best = ns < best ? ns : best;
    }
    return true;
}

//-- life ------------------------------------------------------------------------------------------

static bool use_waits(struct gi_tune_clock *clock)
{
    gi_timer_destroy(clock->timer);
    clock->timer = gi_timer_create_waiting(gi_session_gpu(clock->session), 1, clock->err);
    clock->is_waiting = true;
    return clock->timer != NULL;
}

bool gi_tune_clock_init(struct gi_tune_clock *clock, struct glinfer_session *session,
                        struct glinfer_error *err)
{
    *clock = (struct gi_tune_clock){.session = session, .n_burst = 1, .err = err};
    const bool is_software = gi_gpu_platform(gi_session_gpu(clock->session))->is_software;
    if (!is_software && !record_burst(clock)) {
        return false;
    }
    if (!gi_gpu_limits(gi_session_gpu(clock->session))->has_timer_query) {
        return use_waits(clock);
    }
    clock->timer = gi_timer_create(gi_session_gpu(clock->session), 1, clock->err);
    return clock->timer != NULL;
}

void gi_tune_clock_finish(struct gi_tune_clock *clock)
{
    if (clock->session) {
        gi_timer_destroy(clock->timer);
        gi_executor_destroy(clock->burst);
        gi_arena_finish(&clock->arena, gi_session_gpu(clock->session));
    }
}

//-- measuring -------------------------------------------------------------------------------------

// Writes the inputs of the run; the grids, too, before anything is timed.
static bool write_state(struct gi_tune_clock *clock, const struct gi_tune_run *run)
{
    struct gi_runner *runner = run->runner;
    const struct gi_step_state state = {
        .n_past = run->n_past, .n_tokens = run->n_tokens, .max_steps = UINT32_MAX, .top_p = 1.0F};
    const struct gi_chain nothing = {.n_past = run->n_past, .n_tokens = run->n_tokens};
    clock->executor = gi_multi_executor_of(run->table);
    return gi_runner_begin(runner, clock->err) && gi_runner_write(runner, &state, clock->err) &&
           gi_runner_run(runner, &clock->executor.base, &nothing, clock->err);
}

// Submits the replays of a run: consecutive steps, or the same batch repeatedly.
static bool submit(struct gi_tune_clock *clock, const struct gi_tune_run *run)
{
    const struct gi_selection selection = {.site = run->site, .skipped_site = run->skipped_site};
    const bool is_step = run->n_tokens == 1;
    const struct gi_chain chain = {.n_past = run->n_past,
                                   .n_tokens = run->n_tokens,
                                   .n_steps = is_step ? run->n : 1,
                                   .flush_interval = is_step ? 0 : PROMPT_FLUSH,
                                   .selection = &selection};
    bool ok = true;
    for (uint32_t done = 0; ok && done < run->n; done += chain.n_steps) {
        ok = gi_runner_run(run->runner, &clock->executor.base, &chain, clock->err);
    }
    return ok;
}

// The burst outlasts the submission of what is timed: the GPU never waits for the host in it.
static bool run_once(struct gi_tune_clock *clock, const struct gi_tune_run *run, uint64_t *ns,
                     enum gi_timer_status *status)
{
    if (!gi_session_check_cancel(clock->session, "tuning", clock->err) ||
        !write_state(clock, run)) {
        return false;
    }
    gi_timer_reset(clock->timer);
    const uint64_t n_burst = clock->is_waiting ? 1 : 1 + 2 * clock->submit_ns / BURST_NS;
    if (!submit_burst(clock, n_burst < MOST_BURSTS ? n_burst : MOST_BURSTS)) {
        return false;
    }
    gi_timer_begin(clock->timer);
    const uint64_t begin = gi_clock_ns();
    const bool ok = submit(clock, run);
    clock->submit_ns = gi_clock_ns() - begin;
    gi_timer_end(clock->timer);
    if (!ok || !gi_runner_wait(run->runner, clock->err)) {
        return false;
    }
    *status = gi_timer_await(clock->timer, ns);
    return true;
}

bool gi_tune_clock_measure(struct gi_tune_clock *clock, const struct gi_tune_run *run, double *ns)
{
    enum gi_timer_status status = GI_TIMER_STATUS_DISJOINT;
    uint64_t total = 0;
    for (int i = 0; i <= MOST_REPEATS && status != GI_TIMER_STATUS_READY; i++) {
        if (i == MOST_REPEATS && !use_waits(clock)) {
            return false;
        }
        if (!run_once(clock, run, &total, &status)) {
            return false;
        }
    }
    *ns = (double)total / run->n;
    return true;
}

bool gi_tune_clock_choose(struct gi_tune_clock *clock, const struct gi_tune_run *step)
{
    enum { LEAST_SHARE = 20 };
    enum gi_timer_status status = GI_TIMER_STATUS_DISJOINT;
    uint64_t ns = 0;
    for (int i = 0; i < MOST_REPEATS && !clock->is_waiting; i++) {
        const uint64_t begin = gi_clock_ns();
        clock->submit_ns = 0; // a long burst would not be the step's time
        if (!run_once(clock, step, &ns, &status)) {
            return false;
        }
        const uint64_t wall = gi_clock_ns() - begin;
        if (status == GI_TIMER_STATUS_READY && ns * LEAST_SHARE > wall) {
            return true;
        }
        if (status != GI_TIMER_STATUS_DISJOINT) {
            break;
        }
    }
    return clock->is_waiting || use_waits(clock);
}

bool gi_tune_clock_wall(struct gi_tune_clock *clock, const struct gi_tune_run *run, double *ns)
{
    struct gi_runner *runner = run->runner;
    if (!submit_burst(clock, 1) || !gi_session_check_cancel(clock->session, "tuning", clock->err) ||
        !gi_runner_wait(runner, clock->err)) {
        return false;
    }
    const uint64_t begin = gi_clock_ns();
    const bool ok =
        write_state(clock, run) && submit(clock, run) && gi_runner_wait(runner, clock->err);
    *ns = (double)(gi_clock_ns() - begin) / run->n;
    return ok;
}
