// Every function of glinfer.h that needs the driver survives a call of EGL or GL that fails: it
// says so, or does without and computes what it always does; it leaks no object and works
// again afterwards. Runs on a tiny model; exits 77 without a device. Leaks are seen with
// -DGLINFER_SANITIZE=address. GLINFER_TEST_ALL=1 fails every call, else some of each function.
#include "tests/data/test_data.h"
#include "tests/faults/failing_gl.h"
#include "tests/golden/fixture/random_whisper.h"
#include "tests/golden/fixture/session_fixture.h"
#include "tests/unit/cmocka_test.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_TRIES = 15, // of a function; they are spread evenly
    MAX_FENCES = 2, // a device keeps those of its staging buffers
};

static bool is_expected(enum glinfer_status status)
{
    switch (status) {
    case GLINFER_STATUS_NO_DEVICE:
    case GLINFER_STATUS_UNSUPPORTED: // a limit that the driver does not tell
    case GLINFER_STATUS_DRIVER:
    case GLINFER_STATUS_NO_MEMORY:
    case GLINFER_STATUS_GPU_LOST:
    case GLINFER_STATUS_GPU_FAULT:
        return true;
    default:
        return false;
    }
}

// Calls once more without failures, and recovers the device if it says that it is lost: an error
// that comes too late to touch an answer shows the next time. Returns true if it had to.
static bool try_again(try_fn call, struct tiny_model *f, struct glinfer_error *err)
{
    const bool is_lost = f->device && err->status == GLINFER_STATUS_GPU_LOST;
    if (is_lost && !glinfer_device_recover(f->device, NULL, NULL, err)) {
        fail_msg("the device is not recovered: %s", err->message);
    }
    if (call(f, err)) {
        return is_lost;
    }
    if (is_lost || err->status != GLINFER_STATUS_GPU_LOST || !f->device) {
        fail_msg("nothing fails any more, but %s", err->message);
    }
    return try_again(call, f, err);
}

// Objects whose device cannot be entered when they are destroyed stay until it goes; a recovered
// device makes some only when they are needed.
static void try_call(try_fn call, struct tiny_model *f, void (*refuse)(long), long n)
{
    struct glinfer_error err = {GLINFER_STATUS_OK, ""};
    const long n_object = count_objects(), n_context = count_contexts();
    refuse(n);
    const bool is_done = call(f, &err);
    const char *name = first_failed_call();
    fail_calls_after(-1);
    if (getenv("GLINFER_TEST_VERBOSE")) {
        print_message("%ld %s: %s\n", n, name, is_done ? "done" : err.message);
    }
    if (!is_done && (!is_expected(err.status) || !err.message[0])) {
        fail_msg("call %ld, %s: %d, %s", n, name, (int)err.status, err.message);
    }
    const bool was_lost = try_again(call, f, &err);
    if ((count_objects() != n_object && !was_lost && name && strncmp(name, "egl", 3) != 0) ||
        count_fences() > MAX_FENCES || count_contexts() != n_context) {
        fail_msg("call %ld, %s: %ld objects, %ld fences and %ld contexts live, %ld, %ld before", n,
                 name, count_objects(), count_fences(), count_contexts(), n_object, n_context);
    }
}

// Refuses one call after the other, alone and with all that follow.
static void survive(try_fn call, struct tiny_model *f)
{
    fail_calls_after(-1);
    must_do(call(f, &err));
    fail_calls_after(-1);
    must_do(call(f, &err));
    const long n = count_calls();
    const long step = getenv("GLINFER_TEST_ALL") ? 1 : n / MAX_TRIES + 1;
    print_message("%ld calls can fail\n", n);
    for (long i = 0; i < n; i += step) {
        try_call(call, f, fail_one_call, i);
        try_call(call, f, fail_calls_after, i);
    }
}

//-- calls -----------------------------------------------------------------------------------------

TEST(opening_a_device_survives)
{
    struct tiny_model none = {0};
    survive(try_open_device, &none);
}

TEST(loading_survives)
{
    survive(try_load, *state);
}

// The answer, or a score, is what it is without a failure.
static bool answer_in(struct glinfer_session *session, struct glinfer_error *err)
{
    static struct answer whole;
    struct answer own = {0};
    const struct glinfer_generate_params asked = ask(prompt, N_PROMPT, 6, &own);
    const bool ok = glinfer_generate(session, &asked, NULL, err);
    if (whole.n == 0) {
        whole = own;
    }
    assert_true(own.n <= whole.n && (!ok || own.n == whole.n));
    for (int i = 0; i < own.n; i++) {
        assert_int_equal(own.ids[i], whole.ids[i]);
    }
    return ok;
}

static bool answer(struct tiny_model *f, struct glinfer_error *err)
{
    const struct glinfer_session_params params =
        PARAMS(session, .n_ctx = 64, .chain_length = 3, .precision = GLINFER_PRECISION_F32);
    struct glinfer_session *session = glinfer_session_create(f->model, &params, err);
    const bool ok = session && answer_in(session, err);
    glinfer_session_destroy(&session);
    return ok;
}

TEST(answering_survives)
{
    survive(answer, *state);
}

// Opens, compiles and answers without a cache.
static bool compile(struct tiny_model *f, struct glinfer_error *err)
{
    (void)f;
    struct tiny_model own = {0};
    struct glinfer_device_params params;
    struct glinfer_model_params file;
    glinfer_device_params_init(&params);
    glinfer_model_params_init(&file);
    params.allow_software = true;
    params.cache_dir = "";
    file.path = test_data("data/models/tiny-q4_0.gguf");
    own.device = glinfer_device_create(&params, err);
    own.model = own.device ? glinfer_model_load(own.device, &file, err) : NULL;
    const bool ok = own.model && answer(&own, err);
    tiny_model_close(&own);
    return ok;
}

TEST(compiling_survives)
{
    struct tiny_model none = {0};
    survive(compile, &none);
}

static struct glinfer_session *kept;

static bool answer_again(struct tiny_model *f, struct glinfer_error *err)
{
    (void)f;
    glinfer_session_reset(kept);
    return answer_in(kept, err);
}

TEST(a_session_that_failed_goes_on)
{
    kept = open_session(*state, 3, 64, 16);
    survive(answer_again, *state);
    glinfer_session_destroy(&kept);
}

static bool set_scale(float scale, struct glinfer_error *err)
{
    glinfer_session_reset(kept);
    return glinfer_session_set_adapter_scales(kept, &scale, 1, err);
}

static bool switch_off(struct tiny_model *f, struct glinfer_error *err)
{
    (void)f;
    return set_scale(0, err) && answer_in(kept, err);
}

// A failure may leave some copies of a scale as they were; setting it again writes all of them.
TEST(a_scale_is_set_again_after_a_failure)
{
    enum { N_CALL = 25 }; // of EGL and GL, to set a scale
    struct tiny_model adapted = *(struct tiny_model *)*state;
    char *path = strdup(test_data("data/models/tiny-q4_0-4.lora"));
    struct glinfer_source adapter;
    glinfer_source_init(&adapter);
    adapter.path = path;
    const struct glinfer_source *adapters[] = {&adapter};
    const struct glinfer_model_params params =
        PARAMS(model, .path = test_data("data/models/tiny-q4_0.gguf"), .adapters = adapters,
               .n_adapters = 1);
    adapted.model = must_do(glinfer_model_load(adapted.device, &params, &err));
    kept = open_session(&adapted, 3, 64, 16);
    must_do(switch_off(&adapted, &err));
    for (long i = 0; i < N_CALL; i++) {
        must_do(set_scale(1.5f, &err));
        struct glinfer_error err = {GLINFER_STATUS_OK, ""};
        fail_one_call(i);
        set_scale(0, &err);
        fail_calls_after(-1);
        try_again(switch_off, &adapted, &err);
    }
    glinfer_session_destroy(&kept);
    glinfer_model_destroy(&adapted.model);
    free(path);
}

static bool score(struct tiny_model *f, struct glinfer_error *err)
{
    static float whole[N_PROMPT];
    float own[N_PROMPT];
    const struct glinfer_session_params params = PARAMS(session, .n_ctx = 64);
    struct glinfer_session *session = glinfer_session_create(f->model, &params, err);
    const bool ok = session && glinfer_score(session, prompt, N_PROMPT, own, err);
    glinfer_session_destroy(&session);
    for (int i = 0; ok && i + 1 < N_PROMPT; i++) {
        whole[i] = whole[i] == 0 ? own[i] : whole[i];
        if (own[i] != whole[i]) {
            fail_msg("token %d scores %.9g, %.9g before", i, (double)own[i], (double)whole[i]);
        }
    }
    return ok;
}

TEST(scoring_survives)
{
    survive(score, *state);
}

static struct glinfer_model *speech_model;

// Decodes beams together, and finds the times of words.
static bool transcribe(struct tiny_model *f, struct glinfer_error *err)
{
    static float samples[GLINFER_SPEECH_RATE / 2];
    struct glinfer_transcription_params params;
    enum glinfer_transcription_state state;
    (void)f;
    glinfer_transcription_params_init(&params);
    params.beam_size = 2;
    params.has_words = true;
    params.temperature_step = 0;
    random_whisper_sound(samples, GLINFER_SPEECH_RATE / 2);
    struct glinfer_transcription *t = glinfer_transcription_create(speech_model, &params, err);
    bool ok = t && glinfer_transcription_feed(t, samples, GLINFER_SPEECH_RATE / 2, err);
    glinfer_transcription_end(t);
    ok = ok && glinfer_transcription_step(t, 0, &state, err);
    glinfer_transcription_destroy(&t);
    return ok;
}

TEST(transcribing_survives)
{
    struct tiny_model *f = *state;
    const struct random_whisper file = random_whisper_write();
    const struct glinfer_model_params params = PARAMS(model, .source = &file.source);
    speech_model = must_do(glinfer_model_load(f->device, &params, &err));
    survive(transcribe, f);
    glinfer_model_destroy(&speech_model);
    free(file.data);
}

static bool recover(struct tiny_model *f, struct glinfer_error *err)
{
    return glinfer_device_recover(f->device, NULL, NULL, err);
}

TEST(recovering_survives)
{
    survive(recover, *state);
}

RUN_TESTS(open_tiny_model, close_tiny_model)
