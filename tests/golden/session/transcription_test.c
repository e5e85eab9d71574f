// Transcriptions through glinfer.h, of a Whisper model of random weights whose text means nothing:
// steps, events, their repetition, the end of objects, refusals. Exits 77 without a device.
#include "tests/data/test_data.h"
#include "tests/golden/fixture/random_whisper.h"
#include "tests/golden/fixture/session_fixture.h"
#include "tests/unit/cmocka_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_SAMPLES = 5 * GLINFER_SPEECH_RATE };
enum { N_LISTS = 10 }; // dispatches of the encoder, at least

static struct random_whisper file;
static struct tiny_model tiny;

static int open_speech_model(void **state)
{
    struct glinfer_error err;
    (void)state;
    file = random_whisper_write();
    const struct glinfer_device_params device = PARAMS(device, .allow_software = true);
    tiny.device = glinfer_device_create(&device, &err);
    if (!tiny.device) {
        printf("skipped: %s\n", err.message);
        exit(77);
    }
    const struct glinfer_model_params params = PARAMS(model, .source = &file.source);
    tiny.model = glinfer_model_load(tiny.device, &params, &err);
    if (!tiny.model) {
        printf("%s\n", err.message);
    }
    return tiny.model ? 0 : -1;
}

static int close_speech_model(void **state)
{
    (void)state;
    tiny_model_close(&tiny);
    free(file.data);
    return 0;
}

//-- transcriptions --------------------------------------------------------------------------------

#define TRANSCRIPTION                                                                              \
    __attribute__((cleanup(glinfer_transcription_destroy))) struct glinfer_transcription

// The events of a transcription.
struct told {
    char text[4096];
    size_t size;
    uint32_t n_segment, n_step;
    uint64_t sum_ms; // of the ends of words, each times its place
    bool is_done, is_cancelled;
};

static struct glinfer_transcription_params plain(void)
{
    struct glinfer_transcription_params params;
    glinfer_transcription_params_init(&params);
    params.temperature_step = 0;
    return params;
}

static void feed_sound(struct glinfer_transcription *t)
{
    static float samples[N_SAMPLES];
    random_whisper_sound(samples, N_SAMPLES);
    samples[7] = NAN; // silence
    for (size_t done = 0; done < N_SAMPLES; done += 16000) {
        must_do(glinfer_transcription_feed(t, samples + done, 16000, &err));
    }
    glinfer_transcription_end(t);
}

// Begins a transcription of the sound.
static struct glinfer_transcription *begin(const struct glinfer_transcription_params *params)
{
    struct glinfer_error err = {GLINFER_STATUS_OK, ""};
    struct glinfer_transcription *t = glinfer_transcription_create(tiny.model, params, &err);
    must(t, &err);
    feed_sound(t);
    return t;
}

// Begins the sound again.
static void restart(struct glinfer_transcription *t)
{
    glinfer_transcription_reset(t);
    feed_sound(t);
}

// Takes n steps, which end inside the encoder.
static void step_in_encoder(struct glinfer_transcription *t, uint32_t n)
{
    struct glinfer_error err = {GLINFER_STATUS_OK, ""};
    enum glinfer_transcription_state progress;
    for (uint32_t i = 0; i < n; i++) {
        must(glinfer_transcription_step(t, 1, &progress, &err), &err);
        assert_int_equal(progress, GLINFER_TRANSCRIPTION_WORKS);
    }
}

static void note(struct told *told, const struct glinfer_transcript_event *event)
{
    assert_false(told->is_done);
    if (event->kind == GLINFER_TRANSCRIPT_SEGMENT) {
        assert_true(event->from_ms <= event->to_ms);
        assert_int_equal(strlen(event->text), event->size);
        assert_true(event->n_token > 0);
        told->n_segment++;
        told->size += (size_t)snprintf(told->text + told->size, sizeof(told->text) - told->size,
                                       "%s\n", event->text);
        assert_true(told->size < sizeof(told->text));
        for (size_t i = 0; i < event->n_word; i++) {
            const struct glinfer_transcript_word *word = &event->words[i];
            assert_true(word->from_ms <= word->to_ms);
            told->sum_ms += (i + 1) * word->to_ms;
        }
    }
    told->is_done = event->kind == GLINFER_TRANSCRIPT_DONE;
    told->is_cancelled = event->is_cancelled;
}

static struct told hear(struct glinfer_transcription *t, uint32_t budget_us)
{
    struct told told = {0};
    struct glinfer_transcript_event event;
    enum glinfer_transcription_state state = GLINFER_TRANSCRIPTION_WORKS;
    while (state == GLINFER_TRANSCRIPTION_WORKS) {
        must_do(glinfer_transcription_step(t, budget_us, &state, &err));
        while (glinfer_transcription_poll(t, &event)) {
            note(&told, &event);
        }
        told.n_step++;
    }
    assert_int_equal(state, GLINFER_TRANSCRIPTION_DONE);
    assert_true(told.is_done);
    return told;
}

TEST(steps_of_any_budget_tell_the_same_text)
{
    struct glinfer_transcription_params params = plain();
    params.has_words = true;
    TRANSCRIPTION *t = begin(&params);
    const struct told whole = hear(t, 0);
    assert_int_equal(whole.n_step, 1);
    assert_true(whole.n_segment > 0);
    restart(t);
    const struct told stepped = hear(t, 500);
    assert_true(stepped.n_step > 2 * N_LISTS);
    assert_string_equal(stepped.text, whole.text);
    assert_true(whole.sum_ms > 0);
    assert_int_equal(stepped.sum_ms, whole.sum_ms);
    assert_true(glinfer_transcription_time(t) > 4900); // the last 100 ms have no text
}

TEST(beams_and_attempts_use_several_texts)
{
    struct glinfer_transcription_params params = plain();
    params.beam_size = 3;
    params.has_words = true;
    TRANSCRIPTION *t = begin(&params);
    const struct told first = hear(t, 0);
    restart(t);
    const struct told second = hear(t, 500);
    assert_true(first.n_segment > 0);
    assert_string_equal(first.text, second.text);
}

// A step that ends inside the encoder leaves nothing that the next window would take for its own.
TEST(a_window_is_dropped_inside_the_encoder)
{
    struct glinfer_transcription_params params = plain();
    TRANSCRIPTION *t = begin(&params);
    const struct told whole = hear(t, 0);
    for (uint32_t n_step = 2; n_step < 2 * N_LISTS; n_step += 9) {
        restart(t);
        step_in_encoder(t, n_step);
        restart(t);
        assert_string_equal(hear(t, 0).text, whole.text);
    }
}

TEST(a_cancelled_transcription_ends)
{
    struct glinfer_transcription_params params = plain();
    TRANSCRIPTION *t = begin(&params);
    step_in_encoder(t, 1);
    glinfer_transcription_cancel(t);
    assert_true(hear(t, 0).is_cancelled);
}

TEST(no_sound_has_no_text)
{
    struct glinfer_transcription_params params = plain();
    TRANSCRIPTION *t = must_do(glinfer_transcription_create(tiny.model, &params, &err));
    glinfer_transcription_end(t);
    assert_int_equal(hear(t, 0).n_segment, 0);
    must_fail(glinfer_transcription_feed(t, (float[]){0}, 1, &err), INVALID_ARGUMENT, "");
}

static void expect_refusal(struct glinfer_transcription_params params, const char *says)
{
    must_fail(glinfer_transcription_create(tiny.model, &params, &err), INVALID_ARGUMENT, says);
}

TEST(wrong_params_are_refused)
{
    struct glinfer_transcription_params params = plain();
    params.language = "xx";
    expect_refusal(params, "invalid language \"xx\"");
    params = plain();
    params.suppress = "(";
    expect_refusal(params, "regular expression");
    params = plain();
    params.language = "german"; // to a model that knows English alone
    expect_refusal(params, "invalid language german");
    params = plain();
    params.translate = true; // by a model that knows English alone
    expect_refusal(params, "English");
    params = plain();
    params.temperature = -1;
    expect_refusal(params, "temperature");
    params = plain();
    params.best_of = 0;
    expect_refusal(params, "invalid best_of 0: expected 1 to 16");
    params = plain();
    params.entropy_least = NAN;
    expect_refusal(params, "invalid entropy_least");
}

TEST(speech_and_text_differ)
{
    struct glinfer_model_info info = {.struct_size = sizeof(info)};
    assert_true(glinfer_model_hears(tiny.model));
    glinfer_model_describe(tiny.model, &info);
    assert_true(info.is_speech);
    assert_null(glinfer_model_tokenizer(tiny.model));
    assert_int_equal(info.n_language, 1);
    assert_int_equal(info.file_type, 0);
    must_fail(glinfer_session_create(tiny.model, NULL, &err), UNSUPPORTED, "");
    const struct glinfer_model_params text =
        PARAMS(model, .path = test_data("data/models/tiny-q4_0.gguf"));
    struct glinfer_model *model = must_do(glinfer_model_load(tiny.device, &text, &err));
    assert_false(glinfer_model_hears(model));
    must_fail(glinfer_transcription_create(model, NULL, &err), UNSUPPORTED, "");
    glinfer_model_destroy(&model);
    assert_string_equal(glinfer_speech_language(0), "en");
    assert_string_equal(glinfer_speech_language_name(0), "english");
    assert_null(glinfer_speech_language(1000));
}

//-- measuring -------------------------------------------------------------------------------------

#define SESSION __attribute__((cleanup(glinfer_session_destroy))) struct glinfer_session

static struct glinfer_session *measured_session(void)
{
    struct glinfer_error err = {GLINFER_STATUS_OK, ""};
    const struct glinfer_session_params params = PARAMS(session, .allows_speech = true);
    struct glinfer_session *session = glinfer_session_create(tiny.model, &params, &err);
    must(session, &err);
    return session;
}

// Counts the dispatches of kernels with a label.
struct counted {
    const char *label;
    uint32_t n;
};

static void count_kernel(void *user, const struct glinfer_profile_kernel *kernel)
{
    struct counted *counted = user;
    counted->n += strcmp(kernel->label, counted->label) == 0 ? kernel->n_dispatches : 0;
}

static void expect_dispatches(struct glinfer_session *session, uint32_t n_prompt, const char *label,
                              uint32_t n)
{
    struct counted counted = {.label = label};
    struct glinfer_profile_params params;
    struct glinfer_profile_stats stats = {.struct_size = sizeof(stats)};
    struct glinfer_error err = {GLINFER_STATUS_OK, ""};
    glinfer_profile_params_init(&params);
    params.n_runs = 1;
    params.n_prompt = n_prompt;
    params.on_kernel = count_kernel;
    params.user = &counted;
    must(glinfer_profile(session, &params, &stats, &err), &err);
    assert_int_equal(counted.n, n);
    assert_true(stats.wall_ns > 0 && stats.kernel_ns > 0);
}

TEST(a_profile_is_of_either_tower)
{
    SESSION *session = measured_session();
    struct glinfer_profile_params params;
    expect_dispatches(session, 64, "conv1", 2); // with its activation
    expect_dispatches(session, 64, "output", 0);
    expect_dispatches(session, 0, "conv1", 0);
    expect_dispatches(session, 0, "output", 1);
    glinfer_profile_params_init(&params);
    params.n_prompt = N_AUDIO + 1;
    must_fail(glinfer_profile(session, &params, NULL, &err), CONTEXT_FULL, "");
}

static void note_tested(void *user, const struct glinfer_tested *tested)
{
    uint32_t *n = user;
    assert_true(tested->result == GLINFER_TEST_RIGHT || tested->result == GLINFER_TEST_NONE);
    n[0] += strstr(tested->program, "attention") != NULL;
    n[1]++;
}

TEST(a_self_test_is_of_both_towers)
{
    SESSION *session = measured_session();
    struct glinfer_error err = {GLINFER_STATUS_OK, ""};
    uint32_t n[2] = {0};
    must(glinfer_selftest(session, note_tested, n, &err), &err);
    assert_true(n[0] >= 3); // attention of the encoder, of prompts and of steps
    assert_true(n[1] > 12);
}

TEST(a_session_that_measures_has_no_text)
{
    SESSION *session = measured_session();
    struct glinfer_session *pair[2];
    float vector[WIDTH];
    size_t n;
    const struct glinfer_generate_params params =
        PARAMS(generate, .n_predict = -1, .prompt = prompt, .n_prompt = 2);
    must_fail(glinfer_generate(session, &params, NULL, &err), UNSUPPORTED, "");
    must_fail(glinfer_begin(session, &params, &err), UNSUPPORTED, "");
    must_fail(glinfer_session_prepare(session, &params, NULL, &err), UNSUPPORTED, "");
    must_fail(glinfer_embed(session, prompt, 2, NULL, vector, WIDTH, &n, &err), UNSUPPORTED, "");
    const struct glinfer_session_params several = PARAMS(session, .allows_speech = true);
    must_fail(glinfer_sessions_create(tiny.model, &several, 2, pair, &err), UNSUPPORTED, "");
}

TEST(the_towers_of_a_transcription_are_measured)
{
    struct glinfer_error err = {GLINFER_STATUS_OK, ""};
    struct glinfer_speech_times times = {.struct_size = sizeof(times)};
    const struct glinfer_transcription_params params = plain();
    TRANSCRIPTION *t = glinfer_transcription_create(tiny.model, &params, &err);
    must(glinfer_transcription_measure(t, 64, 3, &times, &err), &err);
    assert_true(times.encode_ms > 0 && times.decode_ms > 0);
    feed_sound(t);
    hear(t, 500); // steps of a budget, which does not cut the next call short
    must(glinfer_transcription_measure(t, 64, 3, &times, &err), &err);
    must(glinfer_transcription_measure(t, 0, 2, &times, &err), &err);
    assert_true(times.encode_ms == 0 && times.decode_ms > 0);
    assert_fails(glinfer_transcription_measure(t, N_AUDIO + 1, 0, &times, &err), err, CONTEXT_FULL,
                 "");
    assert_fails(glinfer_transcription_measure(t, 64, N_TEXT, &times, &err), err, CONTEXT_FULL, "");
}

TEST(the_sizes_of_both_towers_are_told)
{
    struct glinfer_model_info info = {.struct_size = sizeof(info)};
    glinfer_model_describe(tiny.model, &info);
    assert_int_equal(info.n_layer, N_LAYER);
    assert_int_equal(info.n_encoder_layer, N_LAYER);
    assert_int_equal(info.n_encoder_ctx, N_AUDIO);
    assert_int_equal(info.n_mel, N_MEL);
}

// The weights are of f32, so that keys and values are too.
static void expect_fit(uint32_t n_text)
{
    struct glinfer_model_info info = {.struct_size = sizeof(info)};
    struct glinfer_transcription_params params = plain();
    struct glinfer_model_params limited =
        PARAMS(model, .source = &file.source, .n_ctx = 9999, .n_sessions = n_text);
    must_do(glinfer_model_inspect(&limited, &info, &err));
    limited.mem_budget = info.weights + info.kv_cache + info.scratch;
    params.beam_size = n_text;
    __attribute__((cleanup(glinfer_model_destroy))) struct glinfer_model *model =
        must_do(glinfer_model_load(tiny.device, &limited, &err));
    TRANSCRIPTION *t = must_do(glinfer_transcription_create(model, &params, &err));
    assert_non_null(t);
    params.beam_size = n_text + 1;
    must_fail(glinfer_transcription_create(model, &params, &err), OVER_BUDGET, "");
}

TEST(a_transcription_fits_the_memory_that_its_model_estimates)
{
    expect_fit(1);
    expect_fit(3);
}

RUN_TESTS(open_speech_model, close_speech_model)
