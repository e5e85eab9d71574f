// Runs the same tables that glinfer_generate replays, with a timer around each
// dispatch. Wall and host times come from runs without the timer, which costs time of its own.
#include "engine/measure/profile.h"

#include "base/clock.h"
#include "base/round.h"
#include "engine/measure/profile_plan.h"
#include "engine/measure/profile_sums.h"
#include "engine/session/step_executors.h"
#include "gpu/dispatch/dispatch_replay.h"
#include "gpu/dispatch/multi_executor.h"

#include <stdlib.h>
#include <string.h>

enum {
    DEFAULT_STEPS = 16,
    STEPS_A_SET = 8,    // that are timed together: bounds the queries
    STEPS_A_CHAIN = 64, // that are waited for together without a timer
    WARM_TOKENS = 16,   // at least, of a prompt that only wakes the device
    PROMPT_FLUSH = 9,   // dispatches between flushes
    MOST_REPEATS = 4,   // of a set whose clock jumped
};

struct profile {
    struct glinfer_session *session;
    struct glinfer_profile_params params;
    struct glinfer_profile_stats stats;
    struct glinfer_error *err;
    struct gi_timer *timer;
    struct gi_span *spans;
    uint64_t *ns, *first_ns; // of spans: the last set, the first run
    uint32_t n_spans, capacity;
    uint32_t spans_a_run;
    uint32_t *tokens; // of a prompt
    struct gi_kernel_sums sums;
    uint64_t run_ns; // a guess at a run's time
};

//-- submitting a set ------------------------------------------------------------------------------

static bool write_state(const struct profile *profile, struct glinfer_session *session,
                        uint32_t n_past, uint32_t n_tokens)
{
    struct gi_runner *runner = &session->runner;
    const struct gi_step_state state = {
        .n_past = n_past, .n_tokens = n_tokens, .max_steps = UINT32_MAX, .top_p = 1.0F};
    return gi_runner_begin(runner, profile->err) && gi_runner_write(runner, &state, profile->err);
}

static void add_spans(struct profile *profile, const struct gi_executor *executor,
                      const struct gi_chain *chain)
{
    const struct gi_dispatch_table *table = gi_multi_executor_list(executor);
    const uint32_t count = gi_dispatch_table_count(table);
    for (uint32_t i = 0; i < count * chain->n_steps && profile->n_spans < profile->capacity; i++) {
        profile->spans[profile->n_spans++] =
            (struct gi_span){gi_dispatch_table_at(table, i % count),
                             chain->n_past + i / count * chain->n_tokens, chain->n_tokens};
    }
}

// Submits with the timer, or without one adds the time of submitting to the stats.
static bool submit_chain(struct profile *profile, struct glinfer_session *session,
                         struct gi_executor *executor, struct gi_chain chain,
                         struct gi_timer *timer)
{
    const struct gi_selection selection = {.timer = timer};
    const uint64_t begin = gi_clock_ns();
    chain.selection = &selection;
    if (!executor || !gi_runner_run(&session->runner, executor, &chain, profile->err)) {
        return false;
    }
    if (timer) {
        add_spans(profile, executor, &chain);
    } else {
        profile->stats.host_ns += (double)(gi_clock_ns() - begin);
    }
    return true;
}

// Returns the executor of a greedy step, which is ready.
static struct gi_executor *step_executor(const struct profile *profile)
{
    return gi_tables_find(&profile->session->tables, GI_LIST_STEP + GI_STEP_END_GREEDY,
                          profile->err);
}

// Returns the executor of a prompt's end, which is ready.
static struct gi_executor *prompt_end_executor(const struct profile *profile)
{
    return gi_tables_find(&profile->session->tables, GI_LIST_PROMPT_END + GI_STEP_END_GREEDY,
                          profile->err);
}

static uint32_t count_entries(const struct gi_executor *executor)
{
    return executor ? gi_dispatch_table_count(gi_multi_executor_list(executor)) : 0;
}

static bool submit_steps(struct profile *profile, uint32_t n_steps, struct gi_timer *timer)
{
    const uint32_t depth = profile->params.depth;
    const struct gi_chain chain = {.n_past = depth, .n_tokens = 1, .n_steps = n_steps};
    return write_state(profile, profile->session, depth, 1) &&
           submit_chain(profile, profile->session, step_executor(profile), chain, timer);
}

// Returns the number of tokens in the batch after the first `done` tokens of a prompt.
static uint32_t next_batch(const struct profile *profile, uint32_t n_tokens, uint32_t done)
{
    const uint32_t most = profile->session->tables.n_batch;
    return n_tokens - done < most ? n_tokens - done : most;
}

// Submits what an encoder does with a sound of n positions.
static bool submit_sound(struct profile *profile, uint32_t n, struct gi_timer *timer)
{
    struct glinfer_session *encoder = profile->session->encoder;
    bool ok = true;
    for (uint32_t i = 0; ok && i < GI_SOUND_LISTS; i++) {
        const struct gi_sound_list *list = &gi_sound_lists[i];
        const struct gi_chain chain = {
            .n_tokens = list->n_rows * n, .n_steps = 1, .flush_interval = PROMPT_FLUSH};
        ok = write_state(profile, encoder, 0, chain.n_tokens) &&
             submit_chain(profile, encoder,
                          gi_tables_find(&encoder->tables, list->list, profile->err), chain, timer);
    }
    return ok;
}

static bool submit_prompt(struct profile *profile, uint32_t n_tokens, struct gi_timer *timer)
{
    struct glinfer_session *session = profile->session;
    uint32_t count = 0;
    for (uint32_t done = 0; done < n_tokens; done += count) {
        count = next_batch(profile, n_tokens, done);
        const struct gi_chain chain = {.n_past = profile->params.depth + done,
                                       .n_tokens = count,
                                       .n_steps = 1,
                                       .flush_interval = PROMPT_FLUSH};
        if (!gi_runner_fill(&session->runner, &session->tables.ranges[GI_SESSION_TOKENS],
                            profile->tokens + done, count * sizeof(profile->tokens[0]),
                            profile->err) ||
            !write_state(profile, session, chain.n_past, count) ||
            !submit_chain(profile, session, gi_tables_prompt(&session->tables, count, profile->err),
                          chain, timer)) {
            return false;
        }
    }
    const struct gi_chain end = {.n_past = profile->params.depth, .n_tokens = 1, .n_steps = 1};
    return submit_chain(profile, session, prompt_end_executor(profile), end, timer);
}

// Runs n steps, or a prompt of n tokens, and waits for them; *ns is the host's time of it all.
static bool run_set(struct profile *profile, bool is_prompt, uint32_t n, struct gi_timer *timer,
                    uint64_t *ns)
{
    const uint64_t begin = gi_clock_ns();
    profile->n_spans = 0;
    if (timer) {
        gi_timer_reset(timer);
    }
    struct glinfer_session *session = profile->session;
    const bool is_sound = is_prompt && session->encoder;
    const bool ok =
        gi_session_check_cancel(session, "the profile", profile->err) &&
        (is_sound    ? submit_sound(profile, n, timer)
         : is_prompt ? submit_prompt(profile, n, timer)
                     : submit_steps(profile, n, timer)) &&
        gi_runner_wait(is_sound ? &session->encoder->runner : &session->runner, profile->err);
    *ns = gi_clock_ns() - begin;
    return ok;
}

//-- without a timer -------------------------------------------------------------------------------

// Compiles what drivers compile late, wakes the device and learns what a run takes.
static bool warm_up(struct profile *profile)
{
    enum { WARM_NS = 50000000, MOST = 64 };
    const struct gi_tables *tables = &profile->session->tables;
    const uint32_t n_prompt = profile->params.n_prompt;
    const uint32_t list = gi_tables_prompt_list(tables, n_prompt);
    const uint32_t n_before = list > 0 ? tables->n_most[list - 1] : 0; // by other kernels
    const uint32_t most = gi_max_u32(WARM_TOKENS, n_before + 1);
    const uint32_t n = n_prompt > most ? most : n_prompt > 0 ? n_prompt : 1;
    uint64_t total = 0, ns = 0;
    if (!run_set(profile, n_prompt > 0, n, NULL, &ns)) {
        return false;
    }
    for (int i = 0; i < MOST && total < WARM_NS; i++, total += ns) {
        if (!run_set(profile, n_prompt > 0, n, NULL, &ns)) {
            return false;
        }
    }
    profile->run_ns = n_prompt > 0 ? ns * n_prompt / n : ns;
    return true;
}

// Steps, at most `most`, that keep a submission to the session's budget.
static uint32_t choose_steps(const struct profile *profile, uint32_t left, uint32_t most)
{
    const uint64_t fit = profile->session->runner.budget_ns / (profile->run_ns + 1);
    const uint32_t n = fit < 1 ? 1 : fit < most ? (uint32_t)fit : most;
    return n < left ? n : left;
}

static bool measure_wall(struct profile *profile)
{
    const uint32_t n_prompt = profile->params.n_prompt, n_runs = profile->params.n_runs;
    uint64_t ns = 0;
    profile->stats.host_ns = 0;
    for (uint32_t done = 0; done < n_runs;) {
        const uint32_t n = n_prompt > 0 ? 1 : choose_steps(profile, n_runs - done, STEPS_A_CHAIN);
        if (!run_set(profile, n_prompt > 0, n_prompt > 0 ? n_prompt : n, NULL, &ns)) {
            return false;
        }
        profile->stats.wall_ns += (double)ns / n_runs;
        done += n;
    }
    profile->stats.host_ns /= n_runs;
    return true;
}

//-- with a timer ----------------------------------------------------------------------------------

static uint64_t sum(const uint64_t *ns, uint32_t n)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < n; i++) {
        total += ns[i];
    }
    return total;
}

static bool use_waits(struct profile *profile)
{
    gi_timer_destroy(profile->timer);
    profile->timer =
        gi_timer_create_waiting(gi_session_gpu(profile->session), profile->capacity, profile->err);
    profile->stats.clock = GLINFER_PROFILE_WAIT;
    return profile->timer != NULL;
}

// Takes queries where they account for a good part of a step's time. llvmpipe has them too, but
// they say a nanosecond.
static bool choose_clock(struct profile *profile)
{
    enum { LEAST_SHARE = 20 };
    uint64_t ns = 0;
    if (!gi_gpu_limits(gi_session_gpu(profile->session))->has_timer_query) {
        return use_waits(profile);
    }
    profile->timer =
        gi_timer_create(gi_session_gpu(profile->session), profile->capacity, profile->err);
    for (int i = 0; profile->timer && i < MOST_REPEATS; i++) {
        if (!run_set(profile, false, 1, profile->timer, &ns)) {
            return false;
        }
        const enum gi_timer_status status = gi_timer_await(profile->timer, profile->ns);
        if (status == GI_TIMER_STATUS_PENDING) {
            break;
        }
        if (status == GI_TIMER_STATUS_READY) {
            const bool is_useful = sum(profile->ns, profile->n_spans) * LEAST_SHARE > ns;
            return is_useful || use_waits(profile);
        }
    }
    return profile->timer && use_waits(profile);
}

// Runs a set until its clock did not jump.
static bool time_set(struct profile *profile, uint32_t n)
{
    const bool is_prompt = profile->params.n_prompt > 0;
    uint64_t ns = 0;
    for (uint32_t i = 0; i <= MOST_REPEATS; i++) {
        if (i == MOST_REPEATS && !use_waits(profile)) {
            return false;
        }
        if (!run_set(profile, is_prompt, n, profile->timer, &ns)) {
            return false;
        }
        if (gi_timer_await(profile->timer, profile->ns) == GI_TIMER_STATUS_READY) {
            return true;
        }
        profile->stats.n_repeated += is_prompt ? 1 : n;
    }
    return gi_error_set(profile->err, GLINFER_STATUS_DRIVER, "the driver's timers gave no result");
}

static bool measure_kernels(struct profile *profile)
{
    const uint32_t n_prompt = profile->params.n_prompt, n_runs = profile->params.n_runs;
    for (uint32_t done = 0; done < n_runs;) {
        const uint32_t n = n_prompt > 0 ? 1 : choose_steps(profile, n_runs - done, STEPS_A_SET);
        if (!time_set(profile, n_prompt > 0 ? n_prompt : n)) {
            return false;
        }
        if (done == 0) {
            memcpy(profile->first_ns, profile->ns, profile->spans_a_run * sizeof(profile->ns[0]));
        }
        gi_kernel_sums_add(&profile->sums, profile->spans, profile->ns, profile->n_spans);
        done += n;
    }
    gi_kernel_sums_finish(&profile->sums, n_runs, &profile->stats);
    return true;
}

//-- the whole -------------------------------------------------------------------------------------

static void report(const struct profile *profile)
{
    const struct glinfer_profile_params *params = &profile->params;
    for (uint32_t i = 0; params->on_kernel && i < profile->sums.n; i++) {
        params->on_kernel(params->user, &profile->sums.kernels[i]);
    }
    uint64_t begin_ns = 0;
    for (uint32_t i = 0; params->on_dispatch && i < profile->spans_a_run; i++) {
        const struct gi_span *span = &profile->spans[i]; // every set begins with the same run
        const struct glinfer_profile_dispatch dispatch = {
            .label = span->dispatch->label,
            .program = gi_span_program(span, profile->sums.programs),
            .begin_ns = begin_ns,
            .ns = profile->first_ns[i],
            .bytes = gi_span_bytes(span),
            .flops = gi_span_flops(span),
        };
        params->on_dispatch(params->user, &dispatch);
        begin_ns += profile->first_ns[i];
    }
}

// Returns the dispatches of a sound; 0 on failure.
static uint32_t count_sound(const struct profile *profile)
{
    struct gi_tables *tables = &profile->session->encoder->tables;
    uint32_t sum = 0, n = 1;
    for (uint32_t i = 0; n > 0 && i < GI_SOUND_LISTS; i++) {
        n = count_entries(gi_tables_find(tables, gi_sound_lists[i].list, profile->err));
        sum += n;
    }
    return n > 0 ? sum : 0;
}

// Returns the dispatches of a prompt; 0 on failure.
static uint32_t count_prompt(const struct profile *profile)
{
    struct gi_tables *tables = &profile->session->tables;
    if (profile->session->encoder) {
        return count_sound(profile);
    }
    const uint32_t n_tokens = profile->params.n_prompt;
    uint32_t n = count_entries(prompt_end_executor(profile));
    for (uint32_t done = 0; done < n_tokens; done += tables->n_batch) {
        const struct gi_executor *batch =
            gi_tables_prompt(tables, next_batch(profile, n_tokens, done), profile->err);
        if (!batch) {
            return 0;
        }
        n += count_entries(batch);
    }
    return n;
}

// Prepares the lists and counts their dispatches, allocates what they fill, and makes up a prompt.
static bool begin(struct profile *profile)
{
    struct gi_tables *tables = &profile->session->tables;
    const uint32_t n_prompt = profile->params.n_prompt;
    const uint32_t n_vocab = profile->session->model->hparams.n_vocab;
    uint32_t lists = gi_tables_choose(tables, GI_STEP_END_GREEDY, 1, true), random = 1;
    struct glinfer_session *encoder = profile->session->encoder;
    if (n_prompt > 0 && !encoder) { // of one token as of two: no step here
        lists |= gi_tables_choose(tables, GI_STEP_END_GREEDY, n_prompt > 1 ? n_prompt : 2, true);
    }
    if (!gi_tables_prepare(tables, lists, NULL, NULL, profile->err) ||
        (encoder &&
         !gi_session_set_keys(profile->session, encoder->sequence.n_ctx, 1, profile->err))) {
        return false;
    }
    const uint32_t a_step = count_entries(step_executor(profile));
    profile->spans_a_run = n_prompt > 0 ? count_prompt(profile) : a_step;
    if (profile->spans_a_run == 0) {
        return false;
    }
    const uint32_t n =
        gi_max_u32(a_step, n_prompt > 0 ? profile->spans_a_run : a_step * STEPS_A_SET);
    profile->capacity = n;
    profile->spans = calloc(n, sizeof(profile->spans[0]));
    profile->ns = calloc(n, sizeof(profile->ns[0]));
    profile->first_ns = calloc(n, sizeof(profile->ns[0]));
    profile->sums.kernels = calloc(n, sizeof(profile->sums.kernels[0]));
    profile->tokens = calloc((size_t)n_prompt + 1, sizeof(profile->tokens[0]));
    if (!profile->spans || !profile->ns || !profile->first_ns || !profile->sums.kernels ||
        !profile->tokens) {
        return gi_error_no_memory(profile->err, n * sizeof(profile->sums.kernels[0]), "a profile");
    }
    for (uint32_t i = 0; i < n_prompt; i++) {
        random = random * 1664525u + 1013904223u;
        profile->tokens[i] = (random >> 8) % n_vocab;
    }
    return true;
}

static bool run_profile(struct profile *profile)
{
    const bool ok = begin(profile) && warm_up(profile) && measure_wall(profile) &&
                    choose_clock(profile) && measure_kernels(profile) &&
                    gi_gpu_check(gi_session_gpu(profile->session), "profiling", profile->err);
    if (ok) {
        profile->stats.n_runs = profile->params.n_runs;
        profile->stats.n_dispatches = profile->spans_a_run;
        profile->stats.dispatch =
            gi_step_executors_recall(profile->session, GI_STEP_END_GREEDY, profile->stats.step_ns);
        report(profile);
    }
    gi_timer_destroy(profile->timer);
    free(profile->spans);
    free(profile->ns);
    free(profile->first_ns);
    free(profile->sums.kernels);
    free(profile->tokens);
    return ok;
}

bool gi_profile(struct glinfer_session *session, const struct glinfer_profile_params *params,
                struct glinfer_profile_stats *stats, struct glinfer_error *err)
{
    struct profile profile = {.session = session,
                              .params = *params,
                              .sums.programs = session->model->device->programs,
                              .err = err};
    if (profile.params.n_runs == 0) {
        profile.params.n_runs = params->n_prompt > 0 ? 1 : DEFAULT_STEPS;
    }
    const bool is_sound = session->encoder && params->n_prompt > 0;
    const uint32_t n_ctx = is_sound ? session->encoder->sequence.n_ctx : session->sequence.n_ctx;
    const uint64_t n = params->n_prompt > 0 ? params->n_prompt : profile.params.n_runs;
    profile.params.depth = is_sound ? 0 : params->depth;
    if (profile.params.depth + n > n_ctx) {
        return gi_error_set(err, GLINFER_STATUS_CONTEXT_FULL,
                            "%llu tokens at a depth of %u do not fit the context of %u",
                            (unsigned long long)n, profile.params.depth, n_ctx);
    }
    gi_session_reset(session);
    const bool ok =
        params->on_planned ? gi_profile_plan(session, &profile.params, err) : run_profile(&profile);
    *stats = profile.stats;
    return ok;
}
