#include "persistent/persistent_check.h"

#include "base/clock.h"

#include <assert.h>
#include <string.h>

enum {
    SAME_STEPS = 4,      // steps to compare tokens of
    N_ROUND = 3,         // rounds of timing; the fastest one counts
    ROUND_NS = 10000000, // duration of a round
    WARM_NS = 300000000, // after which the clock is what it is in a long answer
};

//-- steps -----------------------------------------------------------------------------------------

// Submits n steps from the check's token on and waits for them; tokens, n of them, may be NULL.
static bool run(const struct gi_persistent_check *check, struct gi_executor *executor, uint32_t n,
                uint32_t *tokens, struct glinfer_error *err)
{
    const struct gi_step_state state = {.token = check->token,
                                        .n_past = check->n_past,
                                        .n_tokens = 1,
                                        .max_steps = UINT32_MAX,
                                        .ban_stop = 1,
                                        .temperature = 1.0f,
                                        .top_k = 40,
                                        .top_p = 0.95f};
    const struct gi_chain chain = {.n_past = check->n_past, .n_tokens = 1, .n_steps = n};
    struct gi_landing landing;
    if (!gi_runner_begin(check->runner, err) || !gi_runner_write(check->runner, &state, err) ||
        !gi_runner_submit(check->runner, executor, &chain, 0, err) ||
        !gi_runner_take(check->runner, &landing, err)) {
        return false;
    }
    if (landing.is_faulty) {
        return gi_error_set(err, GLINFER_STATUS_GPU_FAULT, "its groups did not run together");
    }
    for (uint32_t i = 0; tokens && i < n; i++) {
        const struct gi_ring_entry *entry = &landing.entries[i];
        tokens[i] = gi_runner_check_entry(check->runner, entry, i, check->n_vocab, NULL)
                        ? entry->token
                        : UINT32_MAX;
    }
    return true;
}

// Sets *best_ns to the time of a step if it is less.
static bool time_steps(const struct gi_persistent_check *check, struct gi_executor *executor,
                       uint32_t n, uint64_t *best_ns, struct glinfer_error *err)
{
    const uint64_t start = gi_clock_ns();
    assert(n > 0);
    if (!run(check, executor, n, NULL, err)) {
        return false;
    }
    const uint64_t step_ns = (gi_clock_ns() - start) / n;
    *best_ns = step_ns < *best_ns ? step_ns : *best_ns;
    return true;
}

// Sets *step_ns to the time of a step by the slower executor.
static bool time_both(const struct gi_persistent_check *check, uint64_t *step_ns,
                      struct glinfer_error *err)
{
    uint64_t multi_ns = UINT64_MAX, persistent_ns = UINT64_MAX;
    const bool ok =
        time_steps(check, check->multi, 1, &multi_ns, err) &&
        time_steps(check, gi_persistent_executor(check->persistent), 1, &persistent_ns, err);
    *step_ns = multi_ns > persistent_ns ? multi_ns : persistent_ns;
    return ok;
}

static bool has_time(const struct gi_persistent_check *check, struct glinfer_error *err)
{
    return check->end_ns == 0 || gi_clock_ns() < check->end_ns ||
           gi_error_set(err, GLINFER_STATUS_UNSUPPORTED, "trying it out takes too long");
}

// Returns how many of `wanted` steps fit the cache, one dispatch and the time that is left.
static uint32_t count_steps(const struct gi_persistent_check *check, uint64_t step_ns,
                            uint32_t wanted)
{
    const uint64_t now = gi_clock_ns(), left = check->end_ns > now ? check->end_ns - now : 0;
    const uint64_t budget_ns = check->runner->budget_ns;
    const uint32_t most = gi_persistent_max_steps(
        check->persistent, step_ns, check->end_ns && left < budget_ns ? left : budget_ns);
    const uint32_t n = check->n_free < wanted ? check->n_free : wanted;
    return n < most ? n : most;
}

//-- the same tokens -------------------------------------------------------------------------------

static bool compare_steps(const struct gi_persistent_check *check, uint32_t n, bool *are_same,
                          struct glinfer_error *err)
{
    uint32_t expected[SAME_STEPS], found[SAME_STEPS];
    if (!run(check, check->multi, n, expected, err) ||
        !run(check, gi_persistent_executor(check->persistent), n, found, err)) {
        return false;
    }
    *are_same = memcmp(expected, found, n * sizeof(found[0])) == 0;
    return true;
}

// Sums that are rounded otherwise choose another token now and then, where two are all but equally
// likely: after one difference two more texts must show none.
bool gi_persistent_check_tokens(const struct gi_persistent_check *check, struct gi_verdict *verdict,
                                struct glinfer_error *err)
{
    struct gi_persistent_check text = *check;
    bool are_same = false, has_differed = false;
    uint64_t step_ns;
    if (!time_both(check, &step_ns, err)) {
        return false;
    }
    const uint32_t n = count_steps(check, step_ns, SAME_STEPS);
    for (int i = 0; i < (has_differed ? 3 : 1); i++) {
        if (!has_time(check, err) || !compare_steps(&text, n, &are_same, err)) {
            return false;
        }
        if (!are_same && has_differed) {
            break;
        }
        has_differed = has_differed || !are_same;
        text.token = (text.token * 31 + 17) % check->n_vocab;
    }
    *verdict = (struct gi_verdict){.kind = are_same ? GI_VERDICT_FASTER : GI_VERDICT_WRONG};
    return true;
}

//-- which is faster -------------------------------------------------------------------------------

static bool warm_up(const struct gi_persistent_check *check, struct glinfer_error *err)
{
    const uint64_t end_ns = gi_clock_ns() + WARM_NS;
    uint64_t step_ns = 0;
    while (gi_clock_ns() < end_ns) {
        if (!time_steps(check, check->multi, 1, &step_ns, err)) {
            return false;
        }
    }
    return true;
}

// A model that is large enough reads its weights faster by many dispatches.
static bool check_speed(const struct gi_persistent_check *check, struct gi_verdict *verdict,
                        struct glinfer_error *err)
{
    struct gi_executor *persistent = gi_persistent_executor(check->persistent);
    uint64_t step_ns;
    verdict->multi_ns = verdict->persistent_ns = UINT64_MAX;
    if ((check->is_cold && !warm_up(check, err)) || !time_both(check, &step_ns, err)) {
        return false;
    }
    const uint64_t fit = ROUND_NS / (step_ns > 0 ? step_ns : 1);
    const uint32_t wanted = fit < 2                           ? 2
                            : fit > GI_PERSISTENT_TRIED_STEPS ? GI_PERSISTENT_TRIED_STEPS
                                                              : (uint32_t)fit;
    const uint32_t n = count_steps(check, step_ns, wanted);
    for (int i = 0; i < N_ROUND && (i == 0 || has_time(check, NULL)); i++) {
        if (!has_time(check, err) || !time_steps(check, check->multi, n, &verdict->multi_ns, err) ||
            !time_steps(check, persistent, n, &verdict->persistent_ns, err)) {
            return false;
        }
    }
    const bool is_faster = verdict->persistent_ns < verdict->multi_ns;
    verdict->kind = is_faster ? GI_VERDICT_FASTER : GI_VERDICT_SLOWER;
    return true;
}

bool gi_persistent_check(const struct gi_persistent_check *check, struct gi_verdict *verdict,
                         struct glinfer_error *err)
{
    struct gi_verdict found;
    if (!gi_persistent_check_tokens(check, &found, err) ||
        (found.kind != GI_VERDICT_WRONG && !check_speed(check, &found, err))) {
        return false;
    }
    *verdict = found;
    return true;
}
