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

// A check under way. The first error ends it: no steps run after that.
struct trial {
    const struct gi_persistent_check *check;
    uint32_t token; // of the first step
    bool has_failed;
    struct glinfer_error *err;
};

// Returns the sequences of a step.
static uint32_t count_sequences(const struct gi_persistent_check *check)
{
    return check->joint ? (uint32_t)(check->slots.size / GI_STEP_STATE_STRIDE) - 1 : 1;
}

//-- steps -----------------------------------------------------------------------------------------

// Writes the states of the slots of joint steps that begin with `state`, each with another token,
// and the list's own.
static bool write_slots(const struct trial *trial, const struct gi_step_state *state)
{
    const struct gi_persistent_check *check = trial->check;
    const uint32_t n_rows = count_sequences(check);
    struct gi_range range = check->slots;
    for (uint32_t i = 0; i < n_rows; i++) {
        struct gi_step_state own = *state;
        own.token = (state->token + i) % check->n_vocab;
        own.n_past = check->joint->n_past[i];
        own.epoch = check->runner->epoch;
        if (!gi_runner_fill(check->runner, &range, &own, sizeof(own), trial->err)) {
            return false;
        }
        range.offset += GI_STEP_STATE_STRIDE;
    }
    const struct gi_step_state all = {.token = check->joint->live, .n_tokens = n_rows};
    return gi_runner_write(check->runner, &all, trial->err);
}

// Copies the tokens of n steps of a slot, or of the only sequence.
static void copy_tokens(const struct trial *trial, const struct gi_landing *landing, uint32_t n,
                        uint32_t *tokens)
{
    const struct gi_persistent_check *check = trial->check;
    for (uint32_t i = 0; landing->entries && i < n; i++) {
        const struct gi_ring_entry *entry = &landing->entries[i];
        tokens[i] = gi_runner_check_entry(check->runner, entry, i, check->n_vocab, NULL)
                        ? entry->token
                        : UINT32_MAX;
    }
}

// Stores the tokens of slot i at tokens + i * n; those of one sequence at tokens.
static bool try_steps(const struct trial *trial, struct gi_executor *executor, uint32_t n,
                      uint32_t *tokens)
{
    const struct gi_persistent_check *check = trial->check;
    const struct gi_step_state state = {.token = trial->token,
                                        .n_past = check->n_past,
                                        .n_tokens = 1,
                                        .max_steps = UINT32_MAX,
                                        .ban_stop = 1,
                                        .temperature = 1.0f,
                                        .top_k = 40,
                                        .top_p = 0.95f};
    const struct gi_chain chain = {.n_past = check->n_past,
                                   .n_tokens = count_sequences(check),
                                   .n_steps = n,
                                   .joint = check->joint};
    struct gi_landing landing;
    if (!gi_runner_begin(check->runner, trial->err) ||
        !(check->joint ? write_slots(trial, &state)
                       : gi_runner_write(check->runner, &state, trial->err)) ||
        !gi_runner_submit(check->runner, executor, &chain, 0, trial->err) ||
        !gi_runner_take(check->runner, &landing, trial->err)) {
        return false;
    }
    if (landing.is_faulty) {
        return gi_error_set(trial->err, GLINFER_STATUS_GPU_FAULT,
                            "its groups did not run together");
    }
    for (uint32_t i = 0; tokens && i < count_sequences(check); i++) {
        const struct gi_landing own = check->joint ? gi_landing_of_slot(&landing, i) : landing;
        copy_tokens(trial, &own, n, tokens + (size_t)i * n);
    }
    return true;
}

// Submits n steps from the trial's token on and waits for them; tokens, n of each sequence, may be
// NULL.
static void run(struct trial *trial, struct gi_executor *executor, uint32_t n, uint32_t *tokens)
{
    trial->has_failed = trial->has_failed || !try_steps(trial, executor, n, tokens);
}

// Returns the time of a step.
static uint64_t time_steps(struct trial *trial, struct gi_executor *executor, uint32_t n)
{
    const uint64_t start = gi_clock_ns();
    assert(n > 0);
    run(trial, executor, n, NULL);
    return (gi_clock_ns() - start) / n;
}

// Returns the time of a step by the slower executor.
static uint64_t time_both(struct trial *trial)
{
    const uint64_t multi_ns = time_steps(trial, trial->check->multi, 1);
    const uint64_t persistent_ns =
        time_steps(trial, gi_persistent_executor(trial->check->persistent), 1);
    return multi_ns > persistent_ns ? multi_ns : persistent_ns;
}

static bool has_time(const struct gi_persistent_check *check)
{
    return check->end_ns == 0 || gi_clock_ns() < check->end_ns;
}

static void expect_time(struct trial *trial)
{
    if (!trial->has_failed && !has_time(trial->check)) {
        trial->has_failed = true;
        gi_error_set(trial->err, GLINFER_STATUS_UNSUPPORTED, "trying it out takes too long");
    }
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

// Returns the bit set of sequences whose tokens differ.
static uint32_t compare_steps(struct trial *trial, uint32_t n)
{
    uint32_t expected[SAME_STEPS * GI_MAX_ROWS] = {0}, found[SAME_STEPS * GI_MAX_ROWS] = {0};
    uint32_t set = 0;
    run(trial, trial->check->multi, n, expected);
    run(trial, gi_persistent_executor(trial->check->persistent), n, found);
    for (uint32_t i = 0; i < count_sequences(trial->check); i++) {
        const size_t at = (size_t)i * n;
        set |= (uint32_t)(memcmp(expected + at, found + at, n * sizeof(found[0])) != 0) << i;
    }
    return set;
}

// Sums that are rounded otherwise choose another token now and then, where two are all but equally
// likely: after differences two more texts must show none in the same sequences.
static enum gi_verdict_kind check_tokens(struct trial *trial)
{
    const uint32_t n = count_steps(trial->check, time_both(trial), SAME_STEPS);
    uint32_t once = 0, twice = 0;
    for (int i = 0; i < (once != 0 ? 3 : 1) && twice == 0 && !trial->has_failed; i++) {
        expect_time(trial);
        const uint32_t set = compare_steps(trial, n);
        twice = once & set;
        once |= set;
        trial->token = (trial->token * 31 + 17) % trial->check->n_vocab;
    }
    trial->token = trial->check->token;
    return twice == 0 ? GI_VERDICT_FASTER : GI_VERDICT_WRONG;
}

//-- which is faster -------------------------------------------------------------------------------

static void warm_up(struct trial *trial)
{
    const uint64_t end_ns = gi_clock_ns() + WARM_NS;
    while (!trial->has_failed && gi_clock_ns() < end_ns) {
        run(trial, trial->check->multi, 1, NULL);
    }
}

static void keep_less(uint64_t *ns, uint64_t found)
{
    *ns = found < *ns ? found : *ns;
}

// A model that is large enough reads its weights faster by many dispatches.
static void check_speed(struct trial *trial, struct gi_verdict *verdict)
{
    const struct gi_persistent_check *check = trial->check;
    struct gi_executor *persistent = gi_persistent_executor(check->persistent);
    if (check->is_cold) {
        warm_up(trial);
    }
    const uint64_t step_ns = time_both(trial), fit = ROUND_NS / (step_ns > 0 ? step_ns : 1);
    const uint32_t wanted = fit < 2                           ? 2
                            : fit > GI_PERSISTENT_TRIED_STEPS ? GI_PERSISTENT_TRIED_STEPS
                                                              : (uint32_t)fit;
    const uint32_t n = count_steps(check, step_ns, wanted);
    verdict->multi_ns = verdict->persistent_ns = UINT64_MAX;
    expect_time(trial);
    for (int i = 0; i < N_ROUND && (i == 0 || has_time(check)) && !trial->has_failed; i++) {
        keep_less(&verdict->multi_ns, time_steps(trial, check->multi, n));
        keep_less(&verdict->persistent_ns, time_steps(trial, persistent, n));
    }
    const bool is_faster = verdict->persistent_ns < verdict->multi_ns;
    verdict->kind = is_faster ? GI_VERDICT_FASTER : GI_VERDICT_SLOWER;
}

bool gi_persistent_check(const struct gi_persistent_check *check, bool is_timed,
                         struct gi_verdict *verdict, struct glinfer_error *err)
{
    struct trial trial = {.check = check, .token = check->token, .err = err};
    struct gi_verdict found = {.kind = check_tokens(&trial)};
    if (is_timed && found.kind != GI_VERDICT_WRONG && !trial.has_failed) {
        check_speed(&trial, &found);
    }
    if (!trial.has_failed) {
        *verdict = found;
    }
    return !trial.has_failed;
}
