// The spectrogram equals the formula, written as a plain sum over a plain transform.
#include "speech/mel.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/failing_alloc.h"

#include <math.h>

enum { N_BAND = 5, N_SAMPLES = 1000 };

static float filters[N_BAND][GI_MEL_N_BINS];
static float samples[N_SAMPLES];

static void fill(void)
{
    uint32_t state = 7;
    for (int i = 0; i < N_SAMPLES; i++) {
        state = state * 1664525 + 1013904223;
        samples[i] = (float)(state >> 8) / (1 << 23) - 1 + sinf(0.3F * (float)i);
    }
    for (int band = 1; band < N_BAND; band++) { // the first band has no bin
        for (int k = 40 * band; k < 40 * band + 41 && k < GI_MEL_N_BINS; k++) {
            filters[band][k] = (float)(k % 7) / 100;
        }
    }
}

static double level(int band, int64_t frame, int64_t n_samples)
{
    const double pi = acos(-1.0);
    double sum = 0;
    for (int k = 0; k < GI_MEL_N_BINS; k++) {
        double re = 0, im = 0;
        for (int i = 0; i < GI_MEL_WINDOW; i++) {
            int64_t place = frame * GI_MEL_HOP + i - GI_MEL_WINDOW / 2;
            place = place < 0 ? -place : place;
            const double x = place < n_samples ? samples[place] : 0;
            const double windowed = x * (0.5 - 0.5 * cos(2 * pi * i / GI_MEL_WINDOW));
            re += windowed * cos(2 * pi * k * i / GI_MEL_WINDOW);
            im -= windowed * sin(2 * pi * k * i / GI_MEL_WINDOW);
        }
        sum += (double)filters[band][k] * (re * re + im * im);
    }
    return log10(fmax(sum, 1e-10));
}

static void expect_frames(size_t n_samples, size_t first, size_t n)
{
    struct gi_mel *mel = must_do(gi_mel_create(filters[0], N_BAND, &err));
    float out[16][N_BAND];
    gi_mel_frames(mel, samples, n_samples, first, n, out[0]);
    for (size_t i = 0; i < n; i++) {
        for (int band = 0; band < N_BAND; band++) {
            assert_float_equal(out[i][band], level(band, (int64_t)(first + i), (int64_t)n_samples),
                               1e-6);
        }
    }
    gi_mel_destroy(mel);
}

TEST(frames_equal_the_formula)
{
    fill();
    expect_frames(N_SAMPLES, 0, 10); // the first is mirrored, the last is past the sound
    expect_frames(N_SAMPLES, 3, 2);
    expect_frames(1, 0, 2);
    expect_frames(0, 0, 1);
    expect_frames(150, 0, 3); // shorter than the mirror
}

TEST(samples_that_are_not_finite_count_as_zero)
{
    static const float wrong[] = {NAN, INFINITY, -INFINITY};
    fill();
    for (int i = 0; i < 3; i++) {
        samples[200] = 0;
        float expected[4][N_BAND], found[4][N_BAND];
        struct gi_mel *mel = gi_mel_create(filters[0], N_BAND, NULL);
        assert_non_null(mel);
        gi_mel_frames(mel, samples, N_SAMPLES, 0, 4, expected[0]);
        samples[200] = wrong[i];
        gi_mel_frames(mel, samples, N_SAMPLES, 0, 4, found[0]);
        assert_memory_equal(found, expected, sizeof(found));
        gi_mel_destroy(mel);
    }
}

TEST(frames_of_a_sound_are_counted)
{
    assert_int_equal(gi_mel_frame_count(0), 0);
    assert_int_equal(gi_mel_frame_count(199), 0);
    assert_int_equal(gi_mel_frame_count(200), 1);
    assert_int_equal(gi_mel_frame_count(359), 1);
    assert_int_equal(gi_mel_frame_count(360), 2);
    assert_int_equal(gi_mel_frame_count(480000), 2999);
}

TEST(every_failed_allocation_is_told)
{
    for (long n = 0; n < 3; n++) { // the spectrogram, its filters, their limits
        struct glinfer_error err = {0};
        fail_allocations_after(n);
        struct gi_mel *mel = gi_mel_create(filters[0], N_BAND, &err);
        fail_allocations_after(-1);
        assert_null(mel);
        assert_int_equal(err.status, GLINFER_STATUS_NO_MEMORY);
    }
}

TEST(values_are_scaled_from_the_loudest)
{
    float values[] = {2, -5.5F, -6, -10};
    gi_mel_scale(values, 4, 2);
    assert_float_equal(values[0], 1.5, 0);
    assert_float_equal(values[1], -0.375, 0);
    assert_float_equal(values[2], -0.5, 0);
    assert_float_equal(values[3], -0.5, 0);
}

RUN_TESTS(NULL, NULL)
