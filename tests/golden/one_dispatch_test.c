// Chains of steps in one dispatch, against ordinary ones: the same tokens, a fault in the middle of an
// answer that changes none, a refusal where groups do not run at the same time. On a software renderer a
// single group does all the work; exits 77 without a device.
#include "glinfer.h"
#include "unit/cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef MODELS
#error "MODELS: the folder of the tiny models"
#endif

enum { N_TOKENS = 40, SKIPPED = 77 };

//-- a device and what it says ---------------------------------------------------------------------

struct setup {
    struct glinfer_device *device;
    struct glinfer_model *model;
    struct glinfer_session *session;
    char log[65536];
    size_t log_size;
};

struct answer {
    int32_t ids[N_TOKENS];
    int n;
};

static void keep_log(void *user, enum glinfer_log_level level, const char *message)
{
    struct setup *setup = user;
    const size_t room = sizeof(setup->log) - setup->log_size;
    (void)level;
    const int size = snprintf(setup->log + setup->log_size, room, "%s\n", message);
    if (size > 0 && (size_t)size < room) {
        setup->log_size += (size_t)size;
    }
}

static bool on_token(void *user, const struct glinfer_token *token)
{
    struct answer *answer = user;
    if (token->id >= 0 && answer->n < N_TOKENS) {
        answer->ids[answer->n++] = token->id;
    }
    return true;
}

static void must(bool ok, const struct glinfer_error *err)
{
    if (!ok) {
        fail_msg("%s", err->message);
    }
}

static void open_setup(struct setup *setup, const char *mode)
{
    struct glinfer_device_params device;
    struct glinfer_model_params model;
    struct glinfer_session_params session;
    struct glinfer_error err;
    memset(setup, 0, sizeof(*setup));
    glinfer_device_params_init(&device);
    device.allow_software = true;
    device.log = keep_log;
    device.log_user = setup;
    setenv("GLINFER_DISPATCH", mode, 1);
    setup->device = glinfer_device_create(&device, &err);
    unsetenv("GLINFER_DISPATCH");
    if (!setup->device) {
        printf("skipped: %s\n", err.message);
        exit(SKIPPED);
    }
    glinfer_model_params_init(&model);
    model.path = MODELS "/tiny-q4_0.gguf";
    setup->model = glinfer_model_load(setup->device, &model, &err);
    must(setup->model != NULL, &err);
    glinfer_session_params_init(&session);
    session.n_ctx = 256;
    setup->session = glinfer_session_create(setup->model, &session, &err);
    must(setup->session != NULL, &err);
}

static void close_setup(struct setup *setup)
{
    glinfer_session_destroy(&setup->session);
    glinfer_model_destroy(&setup->model);
    glinfer_device_destroy(&setup->device);
}

static struct glinfer_stats answer_prompt(struct setup *setup, float temperature, bool ignore_eos,
                                          struct answer *answer)
{
    static const int32_t prompt[] = {72, 101, 108, 108, 111, 32, 119, 111};
    struct glinfer_generate_params params;
    struct glinfer_stats stats = {.struct_size = sizeof(stats)};
    struct glinfer_error err;
    memset(answer, 0, sizeof(*answer));
    glinfer_session_reset(setup->session);
    glinfer_generate_params_init(&params);
    params.prompt = prompt;
    params.n_prompt = sizeof(prompt) / sizeof(prompt[0]);
    params.n_predict = N_TOKENS;
    params.ignore_eos = ignore_eos;
    params.temperature = temperature;
    params.top_k = 40;
    params.top_p = 0.95F;
    params.seed = 4711;
    params.on_token = on_token;
    params.token_user = answer;
    must(glinfer_generate(setup->session, &params, &stats, &err), &err);
    return stats;
}

static bool is_software(void)
{
    static struct setup setup;
    struct glinfer_device_info info = {.struct_size = sizeof(info)};
    open_setup(&setup, "direct");
    glinfer_device_describe(setup.device, &info);
    close_setup(&setup);
    return info.is_software;
}

// The tokens of ordinary chains and of those of a mode, greedy and drawn; the mode's log in *setup.
static void expect_same_tokens(struct setup *setup, const char *mode)
{
    struct answer expected[3], found[3];
    struct glinfer_stats stats[2][3];
    for (int i = 0; i < 2; i++) {
        struct answer *answers = i == 0 ? expected : found;
        open_setup(setup, i == 0 ? "direct" : mode);
        stats[i][0] = answer_prompt(setup, 0.0F, true, &answers[0]);
        stats[i][1] = answer_prompt(setup, 1.0F, true, &answers[1]);
        stats[i][2] = answer_prompt(setup, 1.5F, false, &answers[2]); // may end early
        close_setup(setup);
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(found[i].n, expected[i].n);
        assert_memory_equal(found[i].ids, expected[i].ids, sizeof(found[i].ids));
        assert_int_equal(stats[1][i].stop, stats[0][i].stop);
        assert_int_equal(stats[1][i].n_past, stats[0][i].n_past);
    }
}

//-- tests -----------------------------------------------------------------------------------------

static struct setup last;

static void one_dispatch_gives_the_tokens_of_many(void **state)
{
    (void)state;
    expect_same_tokens(&last, is_software() ? "persistent:1" : "persistent");
    assert_non_null(strstr(last.log, "a chain of steps is one dispatch"));
    assert_null(strstr(last.log, "given up"));
}

// A wait of no spins is a fault as soon as a chain begins.
static void a_fault_changes_no_token(void **state)
{
    (void)state;
    expect_same_tokens(&last, "persistent:1:128:0");
    assert_non_null(strstr(last.log, "a chain of steps is one dispatch"));
    assert_non_null(strstr(last.log, "given up"));
}

static void software_refuses_groups_that_wait_for_each_other(void **state)
{
    (void)state;
    if (!is_software()) {
        skip();
    }
    expect_same_tokens(&last, "persistent:2");
    assert_non_null(
        strstr(last.log, "a chain of steps cannot be one dispatch, and is replayed as many"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_dispatch_gives_the_tokens_of_many),
        cmocka_unit_test(a_fault_changes_no_token),
        cmocka_unit_test(software_refuses_groups_that_wait_for_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
