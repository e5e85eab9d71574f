// Answers that decode together on a driver that computes a program wrong (GLINFER_FAULT): the
// self-test of joint steps finds it, another takes its place or the answers take turns, and their
// tokens are the right ones; in f16 (GLINFER_HALF=yes); and where a joint step is one dispatch.
// Exits with 77 without a device.
#include "base/clock.h"
#include "engine/answer/joint_run.h"
#include "engine/api/call.h"
#include "engine/session/joint_times.h"
#include "engine/session/step_executors.h"
#include "tests/data/test_data.h"
#include "tests/kernel/fixture/joint_group.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/temp_folder.h"
#include "tests/unit/wrap.h"

#include <math.h>
#include <string.h>

//-- programs that are wrong -----------------------------------------------------------------------

// Opens a group on a device with a fault as in GLINFER_FAULT; NULL: without a fault. The device has
// no cache, since a cache keeps the self-test's findings of devices without the fault.
static struct group open_faulty(struct tiny_model *own, const char *fault)
{
    struct gi_settings settings;
    const struct glinfer_device_params params =
        PARAMS(device, .allow_software = true, .cache_dir = "");
    gi_settings_read(&settings, &(struct gi_log){0});
    assert_true(!fault || gi_settings_set(&settings, "GLINFER_FAULT", fault));
    struct glinfer_device *device = must_do(gi_device_create(&params, &settings, &err));
    assert_true(tiny_model_open_on(own, device, test_data("data/models/tiny-q4_0.gguf"), NULL));
    // Several ranges of keys.
    const struct glinfer_session_params session =
        PARAMS(session, .n_ctx = 320, .precision = GLINFER_PRECISION_F32);
    return open_group_with(own, &session);
}

// Another program takes the place of a wrong one, or the answers take turns; also those under way.
TEST(wrong_programs_change_no_answer)
{
    static const struct {
        const char *fault;
        bool is_refused;
        uint32_t refuse_after;
    } cases[] = {
        {NULL, false, 0},
        {"wrong:LOGIT_ROWS", true, 0}, // that a step alone does without
        {"compile:LOGIT_ROWS", true, 0},
        {"wrong:ATTENTION_ROW", false, 0},
        {"wrong:GEMM_ROW*", false, 0},
        {NULL, true, 4},
    };
    struct outcome right[N_SLOTS] = {0};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct outcome outcomes[N_SLOTS] = {0};
        const struct job jobs[N_SLOTS] = {
            {.n_prompt = N_PROMPT},
            {.n_prompt = 11, .begin_at = 4, .refuse_after = cases[i].refuse_after}};
        struct tiny_model own = {0};
        struct group group = open_faulty(&own, cases[i].fault);
        run_jobs(&group, 0, jobs, 3, i == 0 ? right : outcomes);
        assert_int_equal(group.sessions[0]->group->joint.is_refused, cases[i].is_refused);
        for (int k = 0; i > 0 && k < 2; k++) {
            assert_int_equal(outcomes[k].n, N_ANSWER);
            assert_alike(&outcomes[k], &right[k]);
        }
        close_group(&group);
        tiny_model_close(&own);
    }
}

struct found {
    uint32_t n_wrong, n_joint;
    bool is_named;
};

static void note_tested(void *user, const struct glinfer_tested *tested)
{
    struct found *found = user;
    const bool is_wrong = tested->result == GLINFER_TEST_WRONG;
    found->n_wrong += is_wrong;
    found->n_joint += tested->result == GLINFER_TEST_RIGHT && strstr(tested->program, "ROWS=5");
    found->is_named = found->is_named || (is_wrong && strstr(tested->program, "logit_rows.comp"));
}

TEST(a_report_has_the_programs_of_joint_steps)
{
    for (int is_wrong = 0; is_wrong < 2; is_wrong++) {
        struct found found = {0};
        struct tiny_model own = {0};
        struct group group = open_faulty(&own, is_wrong ? "wrong:LOGIT_ROWS" : NULL);
        must_do(glinfer_selftest(group.sessions[1], note_tested, &found, &err));
        assert_int_equal(found.n_wrong, is_wrong);
        assert_int_equal(found.is_named, is_wrong);
        assert_true(is_wrong || found.n_joint >= 3); // embedding, RoPE, attention
        close_group(&group);
        tiny_model_close(&own);
    }
}

//-- halves ----------------------------------------------------------------------------------------

// Opens sessions in f16; skips the test if the device has no products in f16.
static struct group open_half(struct tiny_model *f, uint32_t chain_length)
{
    const struct glinfer_session_params params = PARAMS(
        session, .n_ctx = N_CTX, .chain_length = chain_length, .precision = GLINFER_PRECISION_F16);
    struct group group = open_group_with(f, &params);
    if (!group.sessions[0]->tables.recorder.is_half) {
        close_group(&group);
        skip();
    }
    return group;
}

// Sets whether the device is a software renderer, which has one chain in flight. Returns whether it
// was.
static bool set_software(const struct group *group, bool is_software)
{
    struct gi_platform_info *platform =
        (struct gi_platform_info *)gi_gpu_platform(gi_session_gpu(group->sessions[0]));
    const bool was_software = platform->is_software;
    platform->is_software = is_software;
    return was_software;
}

// An answer with a grammar takes steps in two pieces where it is alone, logits and choice, and
// joint ones beside others. Wherever it changes, its logits are those that it has alone.
TEST(logits_in_f16_are_the_same_where_another_joins)
{
    static const double tolerance = 0.02; // of a log-probability, by kernels that round otherwise
    struct job jobs[N_SLOTS] = {{.n_prompt = N_PROMPT,
                                 .n_predict = 60,
                                 .n_probs = 1,
                                 .gbnf = "root ::= \"abcdefghabcdefghabcdefgh\""},
                                {.n_prompt = N_PROMPT, .n_predict = 4, .n_probs = 1}};
    struct outcome alone[N_SLOTS] = {0};
    struct group group = open_half(*state, 0);
    run_jobs(&group, 0, jobs, 1, alone);
    assert_true(alone[0].n > 8);
    for (uint32_t n = 1; n < alone[0].n - 2; n++) {
        struct outcome joined[N_SLOTS] = {0};
        jobs[1].begin_at = n;
        run_jobs(&group, 0, jobs, 3, joined);
        assert_int_equal(joined[0].n, alone[0].n);
        assert_memory_equal(joined[0].ids, alone[0].ids, alone[0].n * sizeof(int32_t));
        for (uint32_t i = 0; i < alone[0].n; i++) {
            const double found = joined[0].logprobs[i], expected = alone[0].logprobs[i];
            if (fabs(found - expected) > tolerance) {
                fail_msg("joined after %u, token %u: %g, alone %g", n, i, found, expected);
            }
        }
    }
    close_group(&group);
}

static bool is_next_cancelled; // of the chains that are taken
static uint32_t n_lone;        // joint ones of a single answer
static bool looks_early;       // the host looks for the first time when a chain is taken
static uint32_t n_short;       // that had ended by then

WRAP(bool, gi_runner_take, struct gi_runner *runner, struct gi_landing *landing,
     struct glinfer_error *err)
{
    const bool is_cancelled = is_next_cancelled;
    is_next_cancelled = false;
    if (is_cancelled) {
        return gi_error_set(err, GLINFER_STATUS_CANCELLED, "cancelled by the test");
    }
    if (looks_early) {
        runner->polls = (struct gi_polls){.early_ns = gi_clock_ns(), .is_used = true};
    }
    const bool ok = __real_gi_runner_take(runner, landing, err);
    n_short += ok && landing->time.is_short;
    n_lone += ok && landing->joint.live > 0 && gi_joint_is_lone(landing->joint.live);
    return ok;
}

// A chain that had ended when the host looked early takes less than is known.
TEST(chains_that_ended_early_are_short)
{
    static const struct job jobs[N_SLOTS] = {{.n_prompt = N_PROMPT, .n_predict = 8}};
    for (int is_early = 0; is_early < 2; is_early++) {
        struct outcome outcomes[N_SLOTS] = {0};
        struct group group = open_group(*state, 0, 100);
        looks_early = is_early;
        n_short = 0;
        run_jobs(&group, 0, jobs, 1, outcomes);
        looks_early = false;
        close_group(&group);
        assert_int_equal(n_short > 0, is_early);
    }
}

static const struct gi_runner *slow_runner;
static uint32_t n_slow; // looks of the host that its chains are not over yet

WRAP(bool, gi_runner_poll, struct gi_runner *runner, bool *is_ready, struct glinfer_error *err)
{
    const bool ok = __real_gi_runner_poll(runner, is_ready, err);
    if (runner == slow_runner && n_slow > 0) {
        n_slow--;
        *is_ready = false;
    }
    return ok;
}

// Begins two answers at once, with two chains in flight, as on a GPU. The first token of one takes
// longer, and the other, which could go on, waits for it.
TEST(joint_steps_in_f16_wait_for_an_answer_that_joins)
{
    static const struct job jobs[N_SLOTS] = {{.n_prompt = N_PROMPT, .n_predict = 40},
                                             {.n_prompt = N_PROMPT, .n_predict = 40}};
    struct outcome outcomes[N_SLOTS] = {0};
    struct group group = open_half(*state, 0);
    const bool was_software = set_software(&group, false);
    n_lone = 0;
    n_slow = 40;
    slow_runner = &group.sessions[0]->runner;
    begin(&group, &jobs[0], 0);
    begin(&group, &jobs[1], 1);
    while (!outcomes[0].is_over && !outcomes[1].is_over) {
        step(&group, 0, jobs, outcomes);
    }
    set_software(&group, was_software);
    slow_runner = NULL;
    close_group(&group);
    assert_int_equal(n_slow, 0);
    assert_int_equal(n_lone, 0);
}

// With two chains in flight, as on a GPU, an answer that others have left ends its joint chains.
TEST(steps_in_f16_are_not_joint_where_others_have_left)
{
    static const struct job jobs[N_SLOTS] = {{.n_prompt = N_PROMPT, .n_predict = 60},
                                             {.n_prompt = N_PROMPT, .n_predict = 20}};
    struct outcome outcomes[N_SLOTS] = {0};
    struct group group = open_half(*state, 2);
    struct glinfer_session *session = group.sessions[0];
    const bool was_software = set_software(&group, false);
    begin(&group, &jobs[0], 0);
    begin(&group, &jobs[1], 1);
    uint32_t n_joint = 0, n_left = 0;
    while (!outcomes[0].is_over) {
        const bool is_alone = outcomes[1].is_over;
        step(&group, 0, jobs, outcomes);
        const bool is_joint = session->answer && gi_joint_run_suits(session->answer);
        n_joint += is_joint && !is_alone;
        n_left += is_joint && is_alone;
    }
    set_software(&group, was_software);
    close_group(&group);
    assert_true(n_joint > 0);
    if (n_left > 12) { // the tokens of two chains and what was not delivered
        fail_msg("%u steps are joint", n_left);
    }
}

//-- joint steps as one dispatch -------------------------------------------------------------------

enum { N_ONE = 3 }; // slots

// Lines of the log on joint steps.
struct said {
    bool is_one, is_compiled;
    uint32_t n_given_up;
};

static void note_line(void *user, enum glinfer_log_level level, const char *message)
{
    struct said *said = user;
    (void)level;
    said->is_compiled = said->is_compiled || strstr(message, "compiling persistent");
    said->is_one = said->is_one || strstr(message, "is one dispatch of 1 groups (joint, ");
    said->n_given_up += strstr(message, "a joint step in one dispatch was given up") != NULL;
}

// Begins an answer that is cancelled during the trial of the program, whose chain stays in flight.
static void cancel_a_trial(struct group *group)
{
    const struct glinfer_generate_params params = ask(prompt, N_PROMPT, N_ANSWER, NULL);
    struct glinfer_error err;
    is_next_cancelled = true;
    assert_false(glinfer_begin(group->sessions[1], &params, &err));
    assert_int_equal(err.status, GLINFER_STATUS_CANCELLED);
}

// Opens a group of sessions of n_ctx tokens on a device of the class that has such steps, with
// GLINFER_DISPATCH. Sessions have no steps of one dispatch of their own, which would be taken in
// turns.
static struct group open_one(struct tiny_model *own, const char *dispatch, uint32_t n_ctx,
                             struct said *said)
{
    const char *const values[][2] = {{"GLINFER_CLASS", "NVIDIA"},
                                     {"GLINFER_QUIRKS", "=shared-shuffles"},
                                     {"GLINFER_HALF", "yes"},
                                     {"GLINFER_DISPATCH", dispatch}};
    const struct glinfer_session_params session =
        PARAMS(session, .n_ctx = n_ctx, .precision = GLINFER_PRECISION_F16);
    const struct glinfer_device_params params =
        PARAMS(device, .allow_software = true, .cache_dir = temp_folder, .log = note_line,
               .log_user = said);
    struct gi_settings settings;
    gi_settings_read(&settings, &(struct gi_log){0});
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        assert_true(gi_settings_set(&settings, values[i][0], values[i][1]));
    }
    struct glinfer_device *device = must_do(gi_device_create(&params, &settings, &err));
    assert_true(tiny_model_open_on(own, device, test_data("data/models/tiny-q4_0.gguf"), NULL));
    struct group group = {.f = own};
    must_do(glinfer_sessions_create(own->model, &session, N_ONE, group.sessions, &err));
    assert_true(group.sessions[0]->tables.recorder.is_half);
    for (int i = 0; i < N_ONE; i++) {
        struct gi_gpu *gpu = gi_session_gpu(group.sessions[i]);
        struct gi_platform_saved saved;
        must_do(gi_gpu_enter(gpu, &saved, &err));
        must_do(gi_step_executors_settle(group.sessions[i], true, &err));
        gi_gpu_leave(gpu, &saved);
    }
    return group;
}

// The first group never polls while it waits: its first joint chain is given up, and answers go on
// by many dispatches, whatever their ends. A second one, with another context but the same program,
// gets the same answers by one. A text that a grammar forces has the same log-probabilities; others
// have as many tokens, of which some may be all but equally likely.
TEST(steps_as_one_dispatch_give_the_same_answers)
{
    static const double tolerance = 0.05; // where an answer is alone, by other kernels
    static const char *const dispatches[] = {"persistent:1:256:0", "persistent:1:256"};
    static const char *const forced = "root ::= \"abcdefghabcdefghabcdefgh\"";
    const struct job jobs[N_ONE] = {
        {.n_prompt = N_PROMPT, .n_probs = 1, .gbnf = forced},
        {.n_prompt = 11, .cancel_after = 9},
        {.n_prompt = 5, .begin_at = 8, .temperature = 0.9f, .top_k = 20}};
    struct outcome outcomes[2][N_SLOTS] = {0};
    assert_int_equal(make_temp_folder(NULL), 0);
    for (int i = 0; i < 2; i++) {
        struct said said = {0};
        struct tiny_model own = {0};
        struct group group = open_one(&own, dispatches[i], (uint32_t)(i + 1) * N_CTX, &said);
        if (i == 1) {
            cancel_a_trial(&group);
        }
        run_jobs(&group, 0, jobs, (1u << N_ONE) - 1, outcomes[i]);
        close_group(&group);
        tiny_model_close(&own);
        assert_true(said.is_one);
        assert_int_equal(said.is_compiled, i == 0);
        assert_int_equal(said.n_given_up, i == 0);
    }
    remove_temp_folder(NULL);
    for (int i = 0; i < N_ONE; i++) {
        const struct outcome *found = &outcomes[1][i], *expected = &outcomes[0][i];
        assert_true(found->n > 0);
        assert_int_equal(found->n, expected->n);
        assert_int_equal(found->status, expected->status);
        assert_int_equal(found->stop, expected->stop);
        for (uint32_t k = 0; jobs[i].gbnf && k < found->n; k++) {
            assert_int_equal(found->ids[k], expected->ids[k]);
            assert_true(fabs((double)found->logprobs[k] - expected->logprobs[k]) < tolerance);
        }
    }
}

RUN_TESTS(open_tiny_model, close_tiny_model)
