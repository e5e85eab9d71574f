// Answers that decode together on a driver that computes a program wrong (GLINFER_FAULT): the
// self-test of joint steps finds it, another takes its place or the answers take turns, and their
// tokens are the right ones. Exit status 77 where there is no device.
#include "engine/api/call.h"
#include "engine/session/session.h"
#include "gpu/program/quarantine.h"
#include "tests/data/test_data.h"
#include "tests/golden/fixture/session_fixture.h"
#include "tests/unit/cmocka_test.h"

#include <string.h>

enum { N_SLOTS = 2, N_ANSWER = 16, MAX_STEPS = 100000 };

struct outcome {
    int32_t ids[N_SLOTS][N_ANSWER];
    uint32_t n[N_SLOTS];
    bool is_refused;
};

struct found {
    uint32_t n_wrong, n_joint;
    bool is_named;
};

static struct tiny_model tiny;
static struct glinfer_session *sessions[N_SLOTS];

// Findings of other tests tell nothing here: there is no cache.
static void open_group(const char *fault)
{
    struct glinfer_session_params session_params;
    struct gi_settings settings;
    struct glinfer_error err = {0};
    const struct glinfer_device_params params =
        PARAMS(device, .allow_software = true, .cache_dir = "");
    gi_settings_read(&settings, &(struct gi_log){0});
    assert_true(!fault || gi_settings_set(&settings, "GLINFER_FAULT", fault));
    struct glinfer_device *device = gi_device_create(&params, &settings, &err);
    assert_true(tiny_model_open_on(&tiny, device, test_data("data/models/tiny-q4_0.gguf"), &err));
    glinfer_session_params_init(&session_params);
    session_params.n_ctx = 320; // several ranges of keys
    session_params.precision = GLINFER_PRECISION_F32;
    must(glinfer_sessions_create(tiny.model, &session_params, N_SLOTS, sessions, &err), &err);
}

static void close_group(void)
{
    for (int i = 0; i < N_SLOTS; i++) {
        glinfer_session_destroy(&sessions[i]);
    }
    tiny_model_close(&tiny);
}

static void begin(uint32_t slot)
{
    struct glinfer_generate_params params =
        ask(prompt + 3 * slot, N_PROMPT - 3 * slot, N_ANSWER, NULL);
    struct glinfer_error err = {0};
    params.on_token = NULL;
    must(glinfer_begin(sessions[slot], &params, &err), &err);
}

// Answers in both sessions. The second begins after four tokens of the first; is_refused_later
// refuses all joint steps after four tokens of the second.
static struct outcome answer(bool is_refused_later)
{
    struct outcome outcome = {0};
    struct glinfer_event event = {.struct_size = sizeof(event)};
    struct glinfer_error err = {0};
    uint32_t n_over = 0;
    begin(0);
    for (int i = 0; n_over < N_SLOTS; i++) {
        assert_true(i < MAX_STEPS);
        must(glinfer_step(tiny.device, 0, &event, &err), &err);
        const uint32_t slot = event.session == sessions[1];
        n_over += event.kind == GLINFER_EVENT_END;
        if (event.kind != GLINFER_EVENT_TOKEN || event.token->id < 0) {
            continue;
        }
        outcome.ids[slot][outcome.n[slot]++] = event.token->id;
        if (slot == 0 && outcome.n[0] == 4) {
            begin(1);
        }
        if (is_refused_later && slot == 1 && outcome.n[1] == 4) {
            sessions[0]->group->joint.is_refused = true;
        }
    }
    outcome.is_refused = sessions[0]->group->joint.is_refused;
    return outcome;
}

static struct outcome answer_with(const char *fault)
{
    open_group(fault);
    const struct outcome outcome = answer(false);
    close_group();
    return outcome;
}

static void assert_alike(const struct outcome *a, const struct outcome *b)
{
    for (uint32_t i = 0; i < N_SLOTS; i++) {
        assert_int_equal(a->n[i], N_ANSWER);
        assert_int_equal(b->n[i], N_ANSWER);
        assert_memory_equal(a->ids[i], b->ids[i], sizeof(a->ids[i]));
    }
}

TEST(answers_take_turns_where_joint_steps_are_wrong)
{
    const struct outcome right = answer_with(NULL);
    const struct outcome turns = answer_with("wrong:LOGIT_ROWS"); // that a step alone does without
    assert_false(right.is_refused);
    assert_true(turns.is_refused);
    assert_alike(&turns, &right);
    const struct outcome uncompiled = answer_with("compile:LOGIT_ROWS");
    assert_true(uncompiled.is_refused);
    assert_alike(&uncompiled, &right);
}

TEST(another_program_takes_the_place_of_a_wrong_one)
{
    static const char *const faults[] = {"wrong:ATTENTION_ROW", "wrong:GEMM_ROW*"};
    const struct outcome right = answer_with(NULL);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        const struct outcome other = answer_with(faults[i]);
        assert_false(other.is_refused);
        assert_alike(&other, &right);
    }
}

TEST(answers_under_way_go_on_in_turns)
{
    open_group(NULL);
    const struct outcome turns = answer(true);
    close_group();
    const struct outcome right = answer_with(NULL);
    assert_alike(&turns, &right);
}

static void note_tested(void *user, const struct glinfer_tested *tested)
{
    struct found *found = user;
    const bool is_wrong = tested->result == GLINFER_TEST_WRONG;
    found->n_wrong += is_wrong;
    found->n_joint += tested->result == GLINFER_TEST_RIGHT && strstr(tested->program, "ROWS=2");
    found->is_named = found->is_named || (is_wrong && strstr(tested->program, "logit_rows.comp"));
}

TEST(a_report_has_the_programs_of_joint_steps)
{
    for (int is_wrong = 0; is_wrong < 2; is_wrong++) {
        struct found found = {0};
        struct glinfer_error err = {0};
        open_group(is_wrong ? "wrong:LOGIT_ROWS" : NULL);
        assert_true(glinfer_selftest(sessions[1], note_tested, &found, &err));
        assert_int_equal(found.n_wrong, is_wrong);
        assert_int_equal(found.is_named, is_wrong);
        assert_true(is_wrong || found.n_joint >= 3); // embedding, RoPE, attention
        close_group();
    }
}

RUN_TESTS(NULL, NULL)
