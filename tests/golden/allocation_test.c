// Tests that every allocating function of glinfer.h survives a failed allocation: it fails with
// NO_MEMORY or continues without, keeps its state and works again afterwards. Runs on a tiny model;
// exits 77 without a device. -DGLINFER_SANITIZE=address also finds leaks.
#include "tests/data/test_data.h"
#include "tests/golden/fixture/random_whisper.h"
#include "tests/golden/fixture/session_fixture.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/failing_alloc.h"

#include <stdlib.h>

// For a call, and for a slow one; where it allocates more often, they are spread evenly.
enum { MAX_TRIES = 150, MAX_SLOW_TRIES = 25 };

static bool try_call(try_fn call, struct tiny_model *f, void (*refuse)(long), long n)
{
    struct glinfer_error err = {GLINFER_STATUS_OK, ""};
    refuse(n);
    const bool is_done = call(f, &err);
    fail_allocations_after(-1);
    if (!is_done && err.status != GLINFER_STATUS_NO_MEMORY) {
        fail_msg("allocation %ld: %d, %s", n, (int)err.status, err.message);
    }
    return is_done;
}

// Refuses one allocation after the other, alone and with all that follow.
static void survive_tries(try_fn call, struct tiny_model *f, long max_tries)
{
    fail_allocations_after(-1);
    must_do(call(f, &err));
    const long n = count_allocations(), step = n / max_tries + 1;
    assert_false(try_call(call, f, fail_allocations_after, 0));
    for (long i = 0; i < n; i += step) {
        try_call(call, f, fail_one_allocation, i);
        try_call(call, f, fail_allocations_after, i);
    }
    must_do(call(f, &err));
}

static void survive(try_fn call, struct tiny_model *f)
{
    survive_tries(call, f, MAX_TRIES);
}

//-- devices ---------------------------------------------------------------------------------------

TEST(opening_a_device_survives)
{
    survive(try_open_device, *state);
}

//-- files -----------------------------------------------------------------------------------------

static struct glinfer_model_params file_params(void)
{
    const struct glinfer_model_params params =
        PARAMS(model, .path = test_data("data/models/tiny-chat.gguf"));
    return params;
}

static bool inspect(struct tiny_model *f, struct glinfer_error *err)
{
    (void)f;
    const struct glinfer_model_params params = file_params();
    struct glinfer_model_info info = {.struct_size = sizeof(info)};
    return glinfer_model_inspect(&params, &info, err);
}

TEST(inspecting_survives)
{
    survive(inspect, *state);
}

static bool tokenize(struct tiny_model *f, struct glinfer_error *err)
{
    (void)f;
    static const struct glinfer_message messages[] = {
        {"system", "be"},
        {"user", "he"},
    };
    struct glinfer_tokenizer *tokenizer =
        glinfer_tokenizer_load(test_data("data/models/tiny-chat.gguf"), err);
    int32_t ids[256];
    size_t n = 0;
    const bool ok = tokenizer &&
                    glinfer_tokenize(tokenizer, "Hello, world", 12, 0, ids, 256, &n, err) &&
                    glinfer_chat_tokenize(tokenizer, messages, 2, ids, 256, &n, err);
    glinfer_tokenizer_destroy(&tokenizer);
    return ok;
}

TEST(tokenizing_survives)
{
    survive(tokenize, *state);
}

//-- the GPU ---------------------------------------------------------------------------------------

TEST(loading_survives)
{
    survive(try_load, *state);
}

static bool create_session(struct tiny_model *f, struct glinfer_error *err)
{
    const struct glinfer_session_params params = PARAMS(session, .n_ctx = 64);
    struct glinfer_session *session = glinfer_session_create(f->model, &params, err);
    const bool ok = session != NULL;
    glinfer_session_destroy(&session);
    return ok;
}

TEST(creating_a_session_survives)
{
    survive(create_session, *state);
}

static bool generate(struct tiny_model *f, struct glinfer_error *err)
{
    struct answer answer = {0};
    const struct glinfer_session_params params = PARAMS(session, .n_ctx = 64, .chain_length = 4);
    const struct glinfer_generate_params asked = ask(prompt, N_PROMPT, 6, &answer);
    struct glinfer_session *session = glinfer_session_create(f->model, &params, err);
    const bool ok = session && glinfer_generate(session, &asked, NULL, err);
    glinfer_session_destroy(&session);
    return ok;
}

TEST(generating_survives)
{
    survive(generate, *state);
}

//-- speech ----------------------------------------------------------------------------------------

static struct glinfer_model *speech_model;

// Decodes beams together, and finds the times of words. A step that fails can be repeated.
static bool transcribe(struct tiny_model *f, struct glinfer_error *err)
{
    static float samples[GLINFER_SPEECH_RATE / 2];
    struct glinfer_transcription_params params;
    (void)f;
    glinfer_transcription_params_init(&params);
    params.beam_size = 2;
    params.has_words = true;
    params.temperature_step = 0;
    random_whisper_sound(samples, GLINFER_SPEECH_RATE / 2);
    struct glinfer_transcription *t = glinfer_transcription_create(speech_model, &params, err);
    bool ok = t && glinfer_transcription_feed(t, samples, GLINFER_SPEECH_RATE / 2, err);
    enum glinfer_transcription_state state;
    glinfer_transcription_end(t);
    ok = ok && (glinfer_transcription_step(t, 0, &state, err) ||
                glinfer_transcription_step(t, 0, &state, err));
    assert_true(!ok || state == GLINFER_TRANSCRIPTION_DONE);
    glinfer_transcription_destroy(&t);
    return ok;
}

TEST(transcribing_survives)
{
    struct tiny_model *f = *state;
    const struct random_whisper file = random_whisper_write();
    const struct glinfer_model_params params = PARAMS(model, .source = &file.source);
    speech_model = must_do(glinfer_model_load(f->device, &params, &err));
    survive_tries(transcribe, f, MAX_SLOW_TRIES);
    glinfer_model_destroy(&speech_model);
    free(file.data);
}

RUN_TESTS(open_tiny_model, close_tiny_model)
