// Tests who may call, and when: calls back are refused, what a callback destroys ends with the
// call, a forked child is refused, parents end with their last child. Runs on a tiny model; exits
// 77 without a device.
#include "tests/data/test_data.h"
#include "tests/golden/fixture/session_fixture.h"
#include "tests/unit/cmocka_test.h"

#include <sys/wait.h>
#include <unistd.h>

//-- callbacks -------------------------------------------------------------------------------------

static struct glinfer_session *called;
static struct tiny_model *tiny;
static uint32_t n_refused;

static void expect_no_call(bool is_done, const struct glinfer_error *err)
{
    assert_false(is_done);
    assert_int_equal(err->status, GLINFER_STATUS_INVALID_ARGUMENT);
    assert_says(err->message, "callback");
    n_refused++;
}

static void ignore_tested(void *user, const struct glinfer_tested *tested)
{
    (void)user, (void)tested;
}

// Calls all that needs the device, of which nothing may happen.
static void call_all(void)
{
    struct glinfer_generate_params params = ask(prompt, N_PROMPT, 2, NULL);
    struct glinfer_device_rates rates = {.struct_size = sizeof(rates)};
    struct glinfer_profile_params profile;
    struct glinfer_tune_params tune;
    struct glinfer_error err = {0};
    float logprobs[N_PROMPT];
    struct glinfer_event event = {.struct_size = sizeof(event)};
    size_t size;
    params.on_token = NULL;
    glinfer_profile_params_init(&profile);
    profile.n_prompt = 2;
    glinfer_tune_params_init(&tune);
    const struct glinfer_model_params model =
        PARAMS(model, .path = test_data("data/models/tiny-q4_0.gguf"));
    if (called) {
        expect_no_call(glinfer_generate(called, &params, NULL, &err), &err);
        expect_no_call(glinfer_session_prepare(called, &params, NULL, &err), &err);
        expect_no_call(glinfer_score(called, prompt, N_PROMPT, logprobs, &err), &err);
        expect_no_call(glinfer_profile(called, &profile, NULL, &err), &err);
        expect_no_call(glinfer_tune(called, &tune, NULL, &err), &err);
        expect_no_call(glinfer_session_save_memory(called, NULL, 0, &size, &err), &err);
        expect_no_call(glinfer_selftest(called, ignore_tested, NULL, &err), &err);
        glinfer_session_reset(called);
        assert_true(glinfer_session_rewind(called, 0) > 0);
    }
    expect_no_call(glinfer_session_create(tiny->model, NULL, &err), &err);
    expect_no_call(glinfer_model_load(tiny->device, &model, &err), &err);
    expect_no_call(glinfer_device_measure(tiny->device, &rates, &err), &err);
    expect_no_call(glinfer_step(tiny->device, 1000, &event, &err), &err);
    expect_no_call(glinfer_device_recover(tiny->device, NULL, NULL, &err), &err);
}

static bool call_back(void *user, const struct glinfer_token *token)
{
    struct answer *answer = user;
    call_all();
    answer->ids[answer->n++] = token->id;
    return true;
}

static bool call_back_from_progress(void *user, enum glinfer_phase phase, uint64_t done,
                                    uint64_t total)
{
    (void)user, (void)phase, (void)done, (void)total;
    call_all();
    return true;
}

static bool destroy_session(void *user, const struct glinfer_token *token)
{
    (void)user, (void)token;
    glinfer_session_destroy(&called);
    return true;
}

TEST(a_callback_does_not_call_back)
{
    struct answer wanted = {0}, found = {0};
    tiny = *state;
    called = open_session(tiny, 1, 64, 0);
    answer_more(called, prompt, N_PROMPT, 3, &wanted);
    glinfer_session_reset(called);
    n_refused = 0;
    struct glinfer_generate_params params = ask(prompt, N_PROMPT, 3, &found);
    params.on_token = call_back;
    must_generate(called, &params);
    assert_int_equal(n_refused, 3 * 12);
    assert_int_equal(found.n, 3);
    assert_memory_equal(found.ids, wanted.ids, 3 * sizeof(found.ids[0]));
    glinfer_session_destroy(&called);
}

TEST(progress_of_loading_does_not_call_back)
{
    tiny = *state;
    n_refused = 0;
    const struct glinfer_model_params params =
        PARAMS(model, .path = test_data("data/models/tiny-q4_0.gguf"),
               .progress = call_back_from_progress);
    struct glinfer_model *model = must_do(glinfer_model_load(tiny->device, &params, &err));
    assert_true(n_refused >= 4);
    glinfer_model_destroy(&model);
}

static bool destroy_model(void *user, const struct glinfer_token *token)
{
    (void)token;
    glinfer_model_destroy(user);
    return true;
}

TEST(a_model_destroyed_in_a_callback_ends_with_the_call)
{
    struct tiny_model *f = *state;
    SESSION *session = open_session(f, 1, 64, 0);
    struct glinfer_generate_params params = ask(prompt, N_PROMPT, 3, NULL);
    const struct glinfer_model_params other =
        PARAMS(model, .path = test_data("data/models/tiny-q8_0.gguf"));
    struct glinfer_model *model = must_do(glinfer_model_load(f->device, &other, &err));
    params.on_token = destroy_model;
    params.token_user = &model;
    must_generate(session, &params);
    assert_null(model);
}

static bool destroy_device_and_cancel(void *user, enum glinfer_phase phase, uint64_t done,
                                      uint64_t total)
{
    (void)phase, (void)done, (void)total;
    glinfer_device_destroy(user);
    return false;
}

TEST(a_device_destroyed_in_a_load_that_fails_ends_with_the_call)
{
    const struct glinfer_device_params device_params = PARAMS(device, .allow_software = true);
    struct glinfer_device *device = must_do(glinfer_device_create(&device_params, &err));
    const struct glinfer_model_params params =
        PARAMS(model, .path = test_data("data/models/tiny-q8_0.gguf"),
               .progress = destroy_device_and_cancel, .progress_user = &device);
    must_fail(glinfer_model_load(device, &params, &err), CANCELLED, "");
    assert_null(device);
}

//-- a fork ----------------------------------------------------------------------------------------

// Does what a child may, which ends at once; returns its status: the line that failed.
static int be_a_child(struct tiny_model *f, struct glinfer_session *session)
{
    struct glinfer_error err = {0};
    struct glinfer_generate_params params = ask(prompt, N_PROMPT, 2, NULL);
    params.on_token = NULL;
    alarm(20); // a call into the driver waits for threads that a child does not have
    if (glinfer_generate(session, &params, NULL, &err) ||
        err.status != GLINFER_STATUS_INVALID_ARGUMENT || !strstr(err.message, "forked")) {
        return 1;
    }
    if (glinfer_session_create(f->model, NULL, &err) || !strstr(err.message, "forked")) {
        return 2;
    }
    if (glinfer_device_recover(f->device, NULL, NULL, &err) || !strstr(err.message, "forked")) {
        return 3;
    }
    glinfer_session_destroy(&session);
    tiny_model_close(f);
    const struct glinfer_device_params device = PARAMS(device, .allow_software = true);
    if (glinfer_device_create(&device, &err) || err.status != GLINFER_STATUS_NO_DEVICE ||
        !strstr(err.message, "forked")) {
        return 4;
    }
    return 0;
}

TEST(a_forked_child_is_refused_and_its_parent_goes_on)
{
    struct answer wanted = {0}, found = {0};
    struct tiny_model *f = *state;
    SESSION *session = open_session(f, 4, 64, 0);
    struct glinfer_generate_params params = ask(prompt, N_PROMPT, 8, &wanted);
    int status = -1;
    must_generate(session, &params);
    glinfer_session_reset(session);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(be_a_child(f, session));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    answer_more(session, prompt, N_PROMPT, 8, &found);
    assert_same(&wanted, &found);
}

TEST(a_session_destroyed_in_a_callback_ends_with_the_call)
{
    struct glinfer_session *session = open_session(*state, 1, 64, 0);
    struct glinfer_generate_params params = ask(prompt, N_PROMPT, 30, NULL);
    called = session;
    params.on_token = destroy_session;
    must_fail(glinfer_generate(session, &params, NULL, &err), CANCELLED, "");
    assert_null(called);
}

//-- lines whose callback destroys -----------------------------------------------------------------

static struct glinfer_device *destroyed;

static void destroy_device(void *user, enum glinfer_log_level level, const char *message)
{
    (void)user, (void)level, (void)message;
    glinfer_device_destroy(&destroyed);
}

static struct glinfer_device *open_device(glinfer_log_fn log)
{
    const struct glinfer_device_params params =
        PARAMS(device, .allow_software = true, .cache_dir = "", .log = log);
    struct glinfer_device *device = glinfer_device_create(&params, NULL);
    assert_non_null(device);
    return device;
}

// Compiling the programs that measure writes lines.
TEST(a_device_destroyed_while_it_is_measured_ends_with_the_call)
{
    struct glinfer_device_rates rates = {.struct_size = sizeof(rates)};
    struct glinfer_device *device = open_device(destroy_device);
    destroyed = device;
    must_do(glinfer_device_measure(device, &rates, &err));
    assert_null(destroyed);
    assert_true(rates.copy_gb_per_s > 0);
}

// A device without models, which writes lines when it is opened.
TEST(a_device_destroyed_while_it_recovers_ends_with_the_call)
{
    struct glinfer_device *device = open_device(destroy_device);
    destroyed = device;
    must_do(glinfer_device_recover(device, NULL, NULL, &err));
    assert_null(destroyed);
}

static struct glinfer_model *owner;

static void destroy_model_from_log(void *user, enum glinfer_log_level level, const char *message)
{
    (void)user, (void)level, (void)message;
    glinfer_model_destroy(&owner);
    glinfer_session_destroy(&called);
    glinfer_device_destroy(&destroyed);
}

// A session that cannot be created, whose warning ends all that it would stand on.
TEST(a_model_destroyed_while_a_session_is_created_ends_with_the_call)
{
    struct tiny_model own = {0};
    struct glinfer_error err = {0};
    assert_true(tiny_model_open_on(&own, open_device(destroy_model_from_log),
                                   test_data("data/models/tiny-q4_0.gguf"), NULL));
    const struct glinfer_session_params params = PARAMS(session, .n_ctx = 1u << 24);
    owner = own.model;
    destroyed = own.device;
    assert_null(glinfer_session_create(own.model, &params, &err));
    assert_null(owner);
    assert_null(destroyed);
}

// Lines come while sessions are put back, too.
TEST(what_is_destroyed_while_a_device_recovers_ends_with_the_call)
{
    struct tiny_model own = {0};
    assert_true(tiny_model_open_on(&own, open_device(destroy_model_from_log),
                                   test_data("data/models/tiny-q4_0.gguf"), NULL));
    called = open_session(&own, 1, 64, 0);
    owner = own.model;
    destroyed = own.device;
    must_do(glinfer_device_recover(own.device, NULL, NULL, &err));
    assert_true(!owner && !called && !destroyed);
}

static void destroy_tested(void *user, const struct glinfer_tested *tested)
{
    (void)user, (void)tested;
    glinfer_session_destroy(&called);
}

TEST(a_session_destroyed_by_its_self_test_ends_with_the_call)
{
    struct tiny_model own = {0};
    struct glinfer_error err = {0};
    assert_true(tiny_model_open(&own, test_data("data/models/tiny-q4_0.gguf"), NULL));
    struct glinfer_session *session = open_session(&own, 1, 64, 0);
    called = session;
    glinfer_selftest(session, destroy_tested, NULL, &err);
    assert_null(called);
    tiny_model_close(&own);
}

TEST(parents_end_with_their_last_child)
{
    struct tiny_model own = {0};
    struct answer answer = {0};
    assert_true(tiny_model_open(&own, test_data("data/models/tiny-q4_0.gguf"), NULL));
    SESSION *session = open_session(&own, 1, 64, 0);
    glinfer_device_destroy(&own.device);
    glinfer_model_destroy(&own.model);
    assert_null(own.model);
    answer_more(session, prompt, N_PROMPT, 3, &answer);
    assert_int_equal(answer.n, 3);
}

RUN_TESTS(open_tiny_model, close_tiny_model)
