// Tests the way from a stream of samples to the sound that windows are cut from.
#include "speech/stream/speech_stream.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/speech/fake/fake_vad.h"
#include "tests/unit/speech/speech_defaults.h"

enum { RATE = GI_MEL_RATE, N_BAND = 1 };

static struct gi_vad *vad;
static struct gi_mel *mel;

static int prepare(void **state)
{
    static const float filters[N_BAND * GI_MEL_N_BINS] = {1};
    (void)state;
    vad = fake_vad_create();
    mel = gi_mel_create(filters, N_BAND, NULL);
    return mel ? 0 : 1;
}

static int finish(void **state)
{
    (void)state;
    gi_vad_destroy(vad);
    gi_mel_destroy(mel);
    return 0;
}

static struct gi_speech_stream make(bool is_by_stretch)
{
    return (struct gi_speech_stream){
        .listener = {.vad = vad, .voice = {.params = voice_defaults()}},
        .sound = {.mel = mel, .n_band = N_BAND},
        .is_by_stretch = is_by_stretch,
    };
}

// Appends half a second of speech or silence, and listens.
static void push(struct gi_speech_stream *stream, bool is_speech)
{
    float samples[RATE / 2];
    bool has_heard;
    for (size_t i = 0; i < RATE / 2; i++) {
        samples[i] = is_speech ? 0.5F : 0;
    }
    must_do(gi_listener_push(&stream->listener, samples, RATE / 2, &err));
    must_do(gi_stream_hear(stream, SIZE_MAX, &has_heard, &err));
}

static bool take(struct gi_speech_stream *stream)
{
    bool has_taken;
    must_do(gi_stream_take(stream, &has_taken, &err));
    return has_taken;
}

TEST(silence_is_not_kept)
{
    struct gi_speech_stream stream = make(true);
    for (int i = 0; i < 60; i++) {
        push(&stream, false);
        assert_false(take(&stream));
        assert_in_range(stream.listener.samples.count, 0, RATE);
    }
    gi_stream_finish(&stream);
}

TEST(stretches_wait_for_their_turn)
{
    struct gi_speech_stream stream = make(true);
    for (int i = 0; i < 12; i++) {
        push(&stream, i == 1 || i == 4 || i == 5);
        gi_stream_find_stretch(&stream);
    }
    assert_true(take(&stream));
    assert_in_range(stream.sound.n_samples, RATE / 2, RATE / 2 + 2 * 480 + 2 * GI_VAD_WINDOW);
    assert_false(take(&stream)); // until the first is done with
    stream.has_sound = false;
    assert_true(take(&stream));
    assert_in_range(stream.sound.n_samples, RATE, RATE + 2 * 480 + 2 * GI_VAD_WINDOW);
    assert_in_range(gi_time_map_ms(&stream.map, 0, false, 0), 1900, 2000);
    stream.has_sound = false;
    assert_false(take(&stream));
    for (int i = 0; i < 20; i++) {
        push(&stream, false);
    }
    assert_in_range(stream.listener.samples.count, 0, RATE);
    gi_stream_finish(&stream);
}

// Joins two stretches with n_pause half seconds of silence between them.
static void join(size_t n_pause, bool is_cut)
{
    struct gi_speech_stream stream = make(false);
    push(&stream, false);
    push(&stream, true);
    for (size_t i = 0; i < n_pause; i++) {
        push(&stream, false);
    }
    push(&stream, true);
    push(&stream, true);
    for (int i = 0; i < 6; i++) {
        push(&stream, false);
    }
    assert_false(gi_stream_is_final(&stream));
    assert_true(take(&stream));
    const uint64_t n_first = stream.sound.n_samples;
    assert_true(take(&stream));
    assert_int_equal(stream.map.count, 2);
    const struct gi_time_piece *pieces = stream.map.data;
    const uint64_t gap = pieces[1].begin - pieces[0].begin - pieces[0].size;
    const uint64_t most = GI_STREAM_TAIL + GI_STREAM_SILENCE;
    assert_int_equal(gap > most, is_cut);
    assert_int_equal(pieces[1].at, n_first + (is_cut ? most : gap));
    assert_int_equal(stream.sound.n_samples, pieces[1].at + pieces[1].size);
    assert_in_range(pieces[1].size, RATE, RATE + 2 * 480 + 2 * GI_VAD_WINDOW);
    stream.listener.is_ended = true;
    push(&stream, false);
    assert_true(gi_stream_is_final(&stream));
    gi_stream_finish(&stream);
}

TEST(stretches_are_joined_by_their_pause_up_to_a_second)
{
    join(1, false);
    join(2, false);
    join(3, true);
    join(20, true);
}

RUN_TESTS(prepare, finish)
