// Stretches of speech from probabilities.
#include "speech/voice.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/speech/speech_defaults.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

enum { MAX_STRETCHES = 5 };

// A stream, whose stretches are taken as soon as they are complete, or at its end.
struct stream {
    struct gi_voice voice;
    bool is_eager;
    struct gi_stretch taken[MAX_STRETCHES];
    size_t n_taken;
};

static void take(struct stream *stream)
{
    struct gi_stretch stretch;
    while (gi_voice_take(&stream->voice, &stretch)) {
        assert_true(stream->n_taken < MAX_STRETCHES);
        stream->taken[stream->n_taken++] = stretch;
    }
}

// A letter is the probability of a window of 32 ms, and a number before it repeats it: '.' is
// silence, '~' keeps speech going but does not begin it, '#' is speech, '?' is NaN.
static void push_letters(struct stream *stream, const char *letters)
{
    for (const char *p = letters; *p;) {
        unsigned count = 1;
        int size = 0;
        if (sscanf(p, "%3u%n", &count, &size) == 1) {
            p += size;
        }
        const float probability = *p == '#' ? 0.5F : *p == '~' ? 0.36F : *p == '?' ? NAN : 0.34F;
        for (unsigned i = 0; i < count; i++) {
            must_do(gi_voice_push(&stream->voice, probability, &err));
            if (stream->is_eager) {
                take(stream);
            }
        }
        p++;
    }
}

struct voice_case {
    const char *letters;
    double seconds;                    // of the whole sound; 0: of its windows
    double expected[MAX_STRETCHES][2]; // s, to 10 ms; 0, 0: after the last
    struct gi_voice_params params;     // threshold 0: the defaults
};

static void expect_taken(const struct voice_case *c, bool is_eager)
{
    struct stream stream = {.is_eager = is_eager};
    struct gi_voice *voice = &stream.voice;
    voice->params = c->params.threshold > 0 ? c->params : voice_defaults();
    push_letters(&stream, c->letters);
    const uint64_t n_samples =
        c->seconds > 0 ? (uint64_t)llround(c->seconds * GI_VAD_RATE) : voice->n_samples;
    must_do(gi_voice_end(voice, n_samples, &err));
    take(&stream);
    size_t n = 0;
    for (; n < MAX_STRETCHES && c->expected[n][1] > 0; n++) {
        assert_true(n < stream.n_taken);
        const struct gi_stretch *stretch = &stream.taken[n];
        assert_float_equal((double)stretch->begin / GI_VAD_RATE, c->expected[n][0], 0.0051);
        assert_float_equal((double)stretch->end / GI_VAD_RATE, c->expected[n][1], 0.0051);
    }
    assert_int_equal(stream.n_taken, n);
    gi_voice_finish(voice);
}

static void expect_stretches(const struct voice_case *c)
{
    expect_taken(c, false);
    expect_taken(c, true);
}

// Probabilities and segments of whisper.cpp 1.8.5 with silero-v6.2.0, its default parameters.
TEST(stretches_of_clips_equal_those_of_whisper_cpp)
{
    static const struct voice_case clips[] = {
        {.letters = "10.~97#271.62#6.",
         .seconds = 14.285,
         .expected = {{0.32, 3.49}, {12.1, 14.14}}}, // gap8
        {.letters = "11.59#32.~16#5.~12#32.69#~17.73#~#10.~2#",
         .seconds = 11.0,
         .expected = {{0.32, 2.27}, {3.27, 4.41}, {5.38, 7.68}, {8.16, 10.62}}}, // jfk
        {.letters = "5.9#.33#16.28#~3#9.13#2.42#.7#~19.",
         .seconds = 6.074,
         .expected = {{0.13, 1.57}, {2.02, 3.1}, {3.33, 5.5}}},                // de
        {.letters = "11.84#8.", .seconds = 3.265, .expected = {{0.32, 3.07}}}, // s3
        {.letters = "313.", .seconds = 10.0, .expected = {{0}}},               // silence10
    };
    for (size_t i = 0; i < sizeof(clips) / sizeof(clips[0]); i++) {
        expect_stretches(&clips[i]);
    }
}

TEST(stretches_follow_the_rules)
{
    static const struct voice_case cases[] = {
        {.letters = ""},
        {.letters = "100."},
        {.letters = "100?"},
        {.letters = "100~"}, // does not begin speech
        // speech of more than 250 ms, padded by 30 ms on both sides
        {.letters = "10.7#10."},
        {.letters = "10.8#10.", .expected = {{0.29, 0.606}}},
        {.letters = "10.8#10?", .expected = {{0.29, 0.606}}},
        // padding stays within the sound
        {.letters = "8#", .expected = {{0, 0.256}}},
        {.letters = "20#", .seconds = 0.635, .expected = {{0, 0.635}}},
        {.letters = "20~20#20~", .expected = {{0.61, 1.92}}}, // '~' keeps it going
        // less than 100 ms of silence does not end speech, nor does less than 200 ms split it
        {.letters = "10#3.10#", .expected = {{0, 0.736}}},
        {.letters = "10#6.10#", .expected = {{0, 0.832}}},
        {.letters = "10#7.10#", .expected = {{0, 0.35}, {0.514, 0.864}}},
        // padding of 150 ms: the gap of 224 ms is halved
        {.letters = "10#7.10#",
         .expected = {{0, 0.432}, {0.432, 0.864}},
         .params = {.threshold = 0.5F, .min_speech_ms = 250, .min_silence_ms = 100, .pad_ms = 150}},
        // another threshold: 0.36 begins speech, and 0.34 does not end it
        {.letters = "10.20~10.",
         .expected = {{0.29, 1.28}},
         .params = {.threshold = 0.35F, .min_speech_ms = 250, .min_silence_ms = 100, .pad_ms = 30}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        expect_stretches(&cases[i]);
    }
}

TEST(long_speech_is_split)
{
    static const struct voice_case cases[] = {
        // at its last silence of more than 98 ms
        {.letters = "20#7.30#", .expected = {{0, 0.67}, {0.834, 1.824}}},
        // where it has become too long, which joins the pieces again; the last is too short
        {.letters = "100#", .expected = {{0, 3.166}}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct voice_case c = cases[i];
        c.params = voice_defaults();
        c.params.min_silence_ms = 300;
        c.params.max_speech_s = 1;
        expect_stretches(&c);
    }
}

TEST(speech_without_a_longest_length_is_not_split)
{
    static const float lengths[] = {0, -1, NAN, FLT_MAX, INFINITY};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        struct voice_case c = {.letters = "100#", .expected = {{0, 3.2}}};
        c.params = voice_defaults();
        c.params.max_speech_s = lengths[i];
        expect_stretches(&c);
    }
}

TEST(a_stretch_is_complete_when_none_can_join_it)
{
    struct stream stream = {.voice.params = voice_defaults()};
    struct gi_stretch stretch;
    assert_false(gi_voice_running(&stream.voice, &stretch));
    push_letters(&stream, "10.10#");
    assert_true(gi_voice_running(&stream.voice, &stretch));
    assert_int_equal(stretch.begin, 10 * GI_VAD_WINDOW - 480);
    assert_int_equal(stretch.end, 20 * GI_VAD_WINDOW);
    assert_int_equal(gi_voice_needed(&stream.voice), stretch.begin);
    push_letters(&stream, "6.");
    assert_false(gi_voice_take(&stream.voice, &stretch));
    assert_true(gi_voice_running(&stream.voice, &stretch)); // it may go on
    push_letters(&stream, "1.");
    assert_true(gi_voice_take(&stream.voice, &stretch));
    assert_int_equal(stretch.begin, 10 * GI_VAD_WINDOW - 480);
    assert_int_equal(stretch.end, 20 * GI_VAD_WINDOW + 480);
    assert_false(gi_voice_running(&stream.voice, &stretch));
    assert_false(gi_voice_take(&stream.voice, &stretch));
    assert_int_equal(gi_voice_needed(&stream.voice), 27 * GI_VAD_WINDOW - 480);
    gi_voice_finish(&stream.voice);
}

RUN_TESTS(NULL, NULL)
