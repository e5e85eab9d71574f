// Tests that a transcription goes on after its device was lost and recovered, wherever that is, as
// if nothing had happened. Exits 77 without a device.
#include "engine/speech/speech_transcription.h"
#include "tests/golden/fixture/random_whisper.h"
#include "tests/golden/fixture/tiny_model.h"
#include "tests/unit/cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_SAMPLES = 2 * GLINFER_SPEECH_RATE, N_LOSS = 6 };

static struct random_whisper file;
static struct glinfer_device *device;
static struct glinfer_model *model;
static bool has_wrong_kernel; // of joint steps, after a recovery

static int open_model(void **state)
{
    struct glinfer_error err;
    (void)state;
    const struct glinfer_device_params params = PARAMS(device, .allow_software = true);
    device = glinfer_device_create(&params, &err);
    if (!device) {
        printf("skipped: %s\n", err.message);
        exit(77);
    }
    file = random_whisper_write();
    const struct glinfer_model_params load = PARAMS(model, .source = &file.source);
    model = glinfer_model_load(device, &load, &err);
    return model ? 0 : -1;
}

static int close_model(void **state)
{
    (void)state;
    glinfer_model_destroy(&model);
    glinfer_device_destroy(&device);
    free(file.data);
    return 0;
}

// Makes the n-th dispatch from now on lose the device; 0: no dispatch does.
static void set_fault(uint32_t n)
{
    char text[64];
    snprintf(text, sizeof(text), "lost:*:%u", gi_gpu_counts(device->gpu)->n_faults + n);
    assert_true(gi_settings_set(&device->settings, "GLINFER_FAULT", n > 0 ? text : NULL));
}

static struct glinfer_transcription *begin(uint32_t n_beam)
{
    static float samples[N_SAMPLES];
    struct glinfer_transcription_params params;
    glinfer_transcription_params_init(&params);
    params.temperature_step = 0;
    params.has_words = n_beam == 1;
    params.beam_size = n_beam;
    struct glinfer_transcription *t = must_do(glinfer_transcription_create(model, &params, &err));
    random_whisper_sound(samples, N_SAMPLES);
    must_do(glinfer_transcription_feed(t, samples, N_SAMPLES, &err));
    glinfer_transcription_end(t);
    return t;
}

// Hears the sound to its end with n_beam beams. Recovers the device when a step says that it is
// lost, and after step n_step. Returns the number of recoveries.
static uint32_t hear(uint32_t n_beam, uint32_t budget_us, uint32_t n_step, char *text,
                     size_t capacity)
{
    struct glinfer_transcription *t = begin(n_beam);
    enum glinfer_transcription_state state = GLINFER_TRANSCRIPTION_WORKS;
    struct glinfer_transcript_event event;
    struct glinfer_error err;
    size_t size = 0;
    uint32_t n = 0, n_lost = 0;
    while (state == GLINFER_TRANSCRIPTION_WORKS) {
        const bool ok = glinfer_transcription_step(t, budget_us, &state, &err);
        if (!ok) {
            assert_int_equal(err.status, GLINFER_STATUS_GPU_LOST);
        }
        if (!ok || ++n == n_step) {
            set_fault(0);
            must(glinfer_device_recover(device, NULL, NULL, &err), &err);
            n_lost++;
            if (has_wrong_kernel) {
                t->towers.decoders[0]->group->joint.is_refused = true;
            }
        }
        while (glinfer_transcription_poll(t, &event)) {
            size += (size_t)snprintf(text + size, capacity - size, "%llu-%llu %s\n",
                                     (unsigned long long)event.from_ms,
                                     (unsigned long long)event.to_ms, event.text ? event.text : "");
            assert_true(size < capacity);
        }
    }
    assert_int_equal(state, GLINFER_TRANSCRIPTION_DONE);
    glinfer_transcription_destroy(&t);
    return n_lost;
}

TEST(a_lost_window_begins_again)
{
    static char whole[8192], again[8192];
    assert_int_equal(hear(1, 0, 0, whole, sizeof(whole)), 0);
    assert_true(strlen(whole) > 8);
    static const uint32_t places[N_LOSS] = {1, 9, 20, 30, 60, 80}; // of dispatches
    for (size_t i = 0; i < N_LOSS; i++) {
        set_fault(places[i]);
        assert_int_equal(hear(1, i % 2 ? 2000 : 0, 0, again, sizeof(again)), 1);
        assert_string_equal(again, whole);
    }
}

TEST(a_window_of_beams_begins_again)
{
    static char whole[8192], again[8192];
    assert_int_equal(hear(3, 0, 0, whole, sizeof(whole)), 0);
    set_fault(60); // in a step of all beams
    assert_int_equal(hear(3, 2000, 0, again, sizeof(again)), 1);
    assert_string_equal(again, whole);
}

TEST(beams_are_decoded_one_after_another_if_a_recovered_device_refuses_joint_steps)
{
    static char whole[8192], again[8192];
    assert_int_equal(hear(3, 0, 0, whole, sizeof(whole)), 0);
    has_wrong_kernel = true;
    set_fault(60);
    assert_int_equal(hear(3, 2000, 0, again, sizeof(again)), 1);
    has_wrong_kernel = false;
    assert_string_equal(again, whole);
}

// Another user of the device finds the loss, and recovers it between two steps.
TEST(a_window_begins_again_after_the_recovery_of_another)
{
    static char whole[8192], again[8192];
    hear(1, 0, 0, whole, sizeof(whole));
    for (uint32_t n = 1; n <= 12; n += 4) {
        assert_int_equal(hear(1, 1000, n, again, sizeof(again)), 1);
        assert_string_equal(again, whole);
    }
}

RUN_TESTS(open_model, close_model)
