// Tests frames of a sound that arrives in pieces: they are those of the whole sound.
#include "speech/stream/sound.h"
#include "tests/unit/cmocka_test.h"

#include <stdlib.h>

enum { N_BAND = 3, N_SAMPLES = 5000, N_FRAME = 40 };

static float samples[N_SAMPLES], whole[N_FRAME][N_BAND];
static struct gi_mel *mel;

static int prepare(void **state)
{
    (void)state;
    float filters[N_BAND * GI_MEL_N_BINS];
    uint32_t random = 3;
    for (int i = 0; i < N_BAND * GI_MEL_N_BINS; i++) {
        filters[i] = (float)(i % 5) / 10;
    }
    for (int i = 0; i < N_SAMPLES; i++) {
        random = random * 1664525 + 1013904223;
        samples[i] = ((float)(random >> 8) / (1 << 24) - 0.5F) / (float)(1 + i % 300);
    }
    mel = gi_mel_create(filters, N_BAND, NULL);
    return mel ? 0 : 1;
}

static int finish(void **state)
{
    (void)state;
    gi_mel_destroy(mel);
    return 0;
}

// Scales all frames of the first n samples, and silence after them.
static void find_whole(size_t n)
{
    float loudest = -10;
    gi_mel_frames(mel, samples, n, 0, N_FRAME, whole[0]);
    for (int i = 0; i < N_FRAME; i++) {
        for (int band = 0; band < N_BAND; band++) {
            loudest = whole[i][band] > loudest ? whole[i][band] : loudest;
        }
    }
    gi_mel_scale(whole[0], (size_t)N_FRAME * N_BAND, loudest);
}

TEST(frames_of_pieces_are_those_of_the_whole)
{
    static const size_t sizes[] = {0, 1, 150, 199, 200, 360, 1000, N_SAMPLES};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (size_t piece = 1; piece <= N_SAMPLES; piece = piece * 3 + 1) {
            struct gi_sound sound = {.mel = mel, .n_band = N_BAND};
            float window[N_FRAME][N_BAND];
            find_whole(sizes[i]);
            for (size_t at = 0; at < sizes[i]; at += piece) {
                const size_t left = sizes[i] - at;
                assert_true(gi_sound_push(&sound, samples + at, left < piece ? left : piece, NULL));
            }
            assert_int_equal(sound.n_frame, gi_mel_frame_count(sizes[i]));
            gi_sound_window(&sound, 0, N_FRAME, true, window[0]);
            assert_memory_equal(window, whole, sizeof(whole));
            gi_sound_window(&sound, 0, N_FRAME, false, window[0]);
            assert_memory_equal(window, whole, sizeof(whole));
            gi_sound_finish(&sound);
        }
    }
}

TEST(dropped_frames_are_not_needed)
{
    struct gi_sound sound = {.mel = mel, .n_band = N_BAND};
    float window[N_FRAME][N_BAND];
    find_whole(N_SAMPLES);
    for (size_t at = 0; at < N_SAMPLES; at += 500) {
        assert_true(gi_sound_push(&sound, samples + at, 500, NULL));
        gi_sound_drop(&sound, 7);
    }
    gi_sound_drop(&sound, 3);
    gi_sound_window(&sound, 7, N_FRAME - 7, true, window[0]);
    assert_memory_equal(window, whole[7], sizeof(float) * (N_FRAME - 7) * N_BAND);
    gi_sound_drop(&sound, 1000); // past its end
    assert_true(gi_sound_push(&sound, samples, 500, NULL));
    gi_sound_reset(&sound);
    assert_int_equal(sound.n_frame, 0);
    assert_true(gi_sound_push(&sound, samples, N_SAMPLES, NULL));
    gi_sound_window(&sound, 0, N_FRAME, true, window[0]);
    assert_memory_equal(window, whole, sizeof(whole));
    gi_sound_finish(&sound);
}

RUN_TESTS(prepare, finish)
