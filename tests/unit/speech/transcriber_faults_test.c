// Tests the transcriber where there is silence, live speech, nonsense, or something fails.
#include "tests/unit/failing_alloc.h"
#include "tests/unit/speech/fake/fake_vad.h"
#include "tests/unit/speech/fake/transcription.h"

#include <math.h>

//-- voice -------------------------------------------------------------------------------------

TEST(silence_is_not_encoded)
{
    struct run run;
    struct gi_vad *vad = fake_vad_create();
    begin(&run, ENGLISH, fake_tell, &cat_story);
    run.vad = vad;
    speak(NULL, 0);
    transcribe(&run, MAX_SECONDS * RATE, 50000);
    assert_int_equal(run.fake.n_call, 0);
    expect(&run, ".");
    gi_vad_destroy(vad);
}

TEST(times_of_speech_are_those_of_the_sound)
{
    static const float stretches[][2] = {{2.048F, 3.072F}, {40.96F, 41.984F}};
    struct run run;
    struct gi_vad *vad = fake_vad_create();
    static const uint32_t text[] = {TIME, T_THE, TIME + 66, TIME + 106, T_CAT, TIME + 155, 0};
    const struct fake_story story = {text, NULL};
    begin(&run, ENGLISH, fake_tell, &story);
    run.vad = vad;
    speak(stretches, 2);
    transcribe(&run, 60 * RATE, 16000);
    assert_int_equal(run.fake.n_window, 1);
    // The stretches, with 30 ms before and after them, and 1 s in between.
    assert_in_range(run.fake.windows[0].n_loud, 306, 320);
    expect(&run, "[2018-3102 the][40966-41946 cat]|.");
    gi_vad_destroy(vad);
    fill_sound(NULL);
}

TEST(time_waits_for_sound_that_is_not_transcribed)
{
    struct run run;
    struct glinfer_error err;
    begin(&run, ENGLISH, fake_tell, &cat_story);
    must(create(&run, &err), &err);
    must(gi_transcriber_push(run.t, sound, (size_t)20 * RATE, &err), &err);
    assert_int_equal(gi_transcriber_time(run.t), 0);
    assert_int_equal(step_all(&run), GLINFER_TRANSCRIPTION_WAITS);
    assert_int_equal(gi_transcriber_time(run.t), 0);
    end(&run);
}

TEST(time_goes_on_in_silence_while_speech_waits)
{
    static const float stretches[][2] = {{2.048F, 3.072F}};
    struct run run;
    struct glinfer_error err;
    struct gi_vad *vad = fake_vad_create();
    begin(&run, ENGLISH, fake_tell, &cat_story);
    run.vad = vad;
    speak(stretches, 1);
    must(create(&run, &err), &err);
    must(gi_transcriber_push(run.t, sound, (size_t)50 * RATE, &err), &err);
    assert_int_equal(step_all(&run), GLINFER_TRANSCRIPTION_WAITS);
    assert_int_equal(run.fake.n_window, 0);
    assert_in_range(gi_transcriber_time(run.t), 48700, 49000);
    gi_transcriber_end(run.t);
    assert_int_equal(step_all(&run), GLINFER_TRANSCRIPTION_DONE);
    assert_int_equal(gi_transcriber_time(run.t), 50000);
    end(&run);
    gi_vad_destroy(vad);
    fill_sound(NULL);
}

TEST(live_text_is_revised_until_the_voice_ends)
{
    static const float stretches[][2] = {{1.024F, 3.072F}, {5.12F, 6.144F}};
    struct run run;
    struct gi_vad *vad = fake_vad_create();
    static const uint32_t text[] = {TIME, T_THE, TIME + 52, 0};
    const struct fake_story story = {text, NULL};
    begin(&run, ENGLISH, fake_tell, &story);
    run.vad = vad;
    run.params.is_live = true;
    speak(stretches, 2);
    transcribe(&run, 8 * RATE, 1600);
    assert_int_equal(run.fake.n_window, 8);
    expect(&run, "( the)( the)( the)( the)[994-2034 the]|( the)( the)[5090-6130 the]|.");
    gi_vad_destroy(vad);
    fill_sound(NULL);
}

TEST(live_text_without_a_vad_grows)
{
    struct run run;
    begin(&run, ENGLISH, fake_tell, &cat_story);
    run.params.is_live = true;
    transcribe(&run, 2 * RATE, 4000);
    expect(&run, "( the cat)( the cat)( the cat sat)( the cat sat)"
                 "[0-1000 the cat][1000-2000 sat]|.");
}

TEST(text_of_running_speech_is_told_only_if_asked_for)
{
    for (int without = 0; without < 2; without++) {
        struct run run;
        begin(&run, ENGLISH, fake_tell, &cat_story);
        run.params.is_live = true;
        run.params.no_partials = without;
        transcribe(&run, 2 * RATE, RATE);
        assert_int_equal(strchr(run.told, '(') == NULL, without);
        assert_int_equal(run.fake.n_window, without ? 1 : 3);
        end(&run);
    }
}

TEST(live_text_ends_with_the_sound_so_far)
{
    struct run run;
    struct glinfer_transcript_event event;
    enum glinfer_transcription_state now = GLINFER_TRANSCRIPTION_WORKS;
    begin(&run, ENGLISH, fake_tell, &cat_story);
    run.params.is_live = run.params.is_exact = true;
    must_do(create(&run, &err));
    must_do(gi_transcriber_push(run.t, sound, RATE, &err));
    while (now == GLINFER_TRANSCRIPTION_WORKS) {
        must_do(gi_transcriber_step(run.t, &now, &err));
    }
    assert_true(gi_transcriber_poll(run.t, &event));
    assert_int_equal(event.kind, GLINFER_TRANSCRIPT_PARTIAL);
    assert_in_range(event.to_ms, 900, 1000);
    end(&run);
}

//-- faults ------------------------------------------------------------------------------------

TEST(settings_are_checked)
{
    struct run run;
    begin(&run, ENGLISH, fake_tell, &cat_story);
    run.params.translate = true;
    must_fail(create(&run, &err), INVALID_ARGUMENT, "English alone");
    run.params.translate = false;
    run.params.temperature = NAN;
    must_fail(create(&run, &err), INVALID_ARGUMENT, "temperature");
    run.params.temperature = 0;
    run.fake.net.n_seq = 0;
    must_fail(create(&run, &err), INVALID_ARGUMENT, "0 sequences");
    run.fake.net.n_vocab = 32000;
    must_fail(create(&run, &err), BAD_FILE, "32000 tokens");
    end(&run);
    begin(&run, MULTILINGUAL, fake_tell, &cat_story);
    run.params.language = "yue"; // of large-v3 alone
    must_fail(create(&run, &err), INVALID_ARGUMENT, "invalid language cantonese");
    end(&run);
    begin(&run, ENGLISH, fake_tell, &cat_story);
    run.params.language = "de";
    must_fail(create(&run, &err), INVALID_ARGUMENT,
              "invalid language german: the model does not know it, it knows English alone");
    run.params.language = "English";
    must_do(create(&run, &err));
    end(&run);
}

TEST(samples_that_are_not_numbers_are_silence)
{
    struct run run;
    begin(&run, ENGLISH, fake_tell, &cat_story);
    for (size_t i = 0; i < 2 * RATE; i++) {
        sound[i] = i % 3 == 0 ? NAN : i % 3 == 1 ? INFINITY : i % 2 ? 1e38F : -1e38F;
    }
    transcribe(&run, 2 * RATE, 2 * RATE);
    expect(&run, "[0-1000 the cat][1000-2000 sat]|.");
    fill_sound(NULL);
}

static void tell_nonsense(struct fake_net *fake, const uint32_t *tokens, uint32_t n, float *logits)
{
    (void)tokens;
    (void)n;
    for (uint32_t i = 0; i < fake->ids.n_vocab; i++) {
        logits[i] = NAN;
    }
}

TEST(logits_that_are_not_numbers_are_an_error)
{
    struct run run;
    struct glinfer_error err;
    enum glinfer_transcription_state now;
    begin(&run, ENGLISH, tell_nonsense, NULL);
    must(create(&run, &err), &err);
    must(gi_transcriber_push(run.t, sound, RATE, &err), &err);
    gi_transcriber_end(run.t);
    while (gi_transcriber_step(run.t, &now, &err)) {
        assert_int_equal(now, GLINFER_TRANSCRIPTION_WORKS);
    }
    assert_int_equal(err.status, GLINFER_STATUS_GPU_FAULT);
    end(&run);
}

TEST(a_cancelled_sound_ends_at_once)
{
    struct run run;
    enum glinfer_transcription_state now;
    begin(&run, ENGLISH, fake_tell, &cat_story);
    must_do(create(&run, &err));
    must_do(gi_transcriber_push(run.t, sound, 2 * RATE, &err));
    gi_transcriber_end(run.t);
    while (run.fake.n_decode < 3) {
        must_do(gi_transcriber_step(run.t, &now, &err));
    }
    gi_transcriber_cancel(run.t);
    must_fail(gi_transcriber_push(run.t, sound, 1, &err), INVALID_ARGUMENT, "has ended");
    assert_int_equal(step_all(&run), GLINFER_TRANSCRIPTION_DONE);
    assert_int_equal(step_all(&run), GLINFER_TRANSCRIPTION_DONE);
    assert_string_equal(run.told, "!");
    gi_transcriber_reset(run.t);
    run.n_told = 0;
    transcribe(&run, 2 * RATE, 2 * RATE);
    expect(&run, "[0-1000 the cat][1000-2000 sat]|.");
}

TEST(a_busy_network_is_asked_again)
{
    struct run run;
    const uint32_t time = TIME + 1;
    const uint32_t text[] = {time, T_THE, time + 100, 0};
    const struct fake_story story = {text, NULL};
    for (int chooses = 0; chooses < 2; chooses++) {
        begin(&run, MULTILINGUAL, fake_tell, &story);
        run.fake.net.write = chooses ? fake_write : NULL;
        run.fake.is_often_busy = true;
        run.params.has_words = true;
        transcribe(&run, 2 * RATE, 2 * RATE);
        assert_says(run.told, "<en>[0-2000 the{ the 0-");
        end(&run);
    }
}

// Steps through a sound whose text needs beams, times and a second attempt, until it is done.
// Returns the number of steps that failed.
static size_t survive(struct run *run, enum glinfer_status status)
{
    struct glinfer_error err;
    enum glinfer_transcription_state state = GLINFER_TRANSCRIPTION_WORKS;
    size_t n_failed = 0;
    while (!gi_transcriber_push(run->t, sound, 2 * RATE, &err)) {
        assert_int_equal(err.status, status);
        n_failed++;
    }
    gi_transcriber_end(run->t);
    while (state != GLINFER_TRANSCRIPTION_DONE) {
        if (!gi_transcriber_step(run->t, &state, &err)) {
            assert_int_equal(err.status, status);
            assert_in_range(++n_failed, 0, 10);
        }
    }
    poll_events(run);
    return n_failed;
}

static void prepare(struct run *run)
{
    begin(run, ENGLISH, tell_trap, NULL);
    run->params.beam_size = 3;
    run->params.has_words = true;
}

TEST(every_failure_of_the_network_is_survived)
{
    for (uint32_t call = 1;; call++) {
        struct run run;
        prepare(&run);
        run.fake.failed_call = call;
        must_do(create(&run, &err));
        const size_t n_failed = survive(&run, GLINFER_STATUS_GPU_LOST);
        const uint32_t n_call = run.fake.n_call;
        assert_says(run.told, "[0-2000 cat sat{ cat ");
        end(&run);
        if (call > n_call) {
            assert_int_equal(n_failed, 0);
            break;
        }
        assert_int_equal(n_failed, 1);
    }
}

TEST(every_allocation_may_fail)
{
    struct glinfer_error err;
    struct gi_vad *vad = fake_vad_create();
    static const float stretches[][2] = {{0.5F, 1.5F}};
    speak(stretches, 1);
    size_t n_failed = 1;
    for (long n = 0; n_failed > 0; n++) {
        struct run run;
        prepare(&run);
        run.vad = vad;
        fail_one_allocation(n);
        n_failed = 0;
        if (!create(&run, &err)) {
            assert_int_equal(err.status, GLINFER_STATUS_NO_MEMORY);
            n_failed++;
            must(create(&run, &err), &err);
        }
        n_failed += survive(&run, GLINFER_STATUS_NO_MEMORY);
        fail_allocations_after(-1);
        assert_says(run.told, " cat sat{ cat ");
        end(&run);
        assert_in_range(n_failed, 0, 1);
    }
    gi_vad_destroy(vad);
    fill_sound(NULL);
}

// Writes logits by chance: a few tokens, timestamps and ends, and sometimes nonsense.
static void tell_anything(struct fake_net *fake, const uint32_t *tokens, uint32_t n, float *logits)
{
    uint32_t *random = (uint32_t *)fake->story;
    (void)tokens;
    (void)n;
    for (int i = 0; i < 20; i++) {
        *random = *random * 1664525 + 1013904223;
        const uint32_t part = *random >> 28;
        const uint32_t begin = part < 8 ? 0 : part < 14 ? fake->ids.time : fake->ids.end;
        const uint32_t size = part < 8 ? 300 : fake->ids.n_vocab - begin;
        logits[begin + (*random >> 8) % size] = (float)(*random >> 4 & 15);
    }
    logits[7] = *random % 97 == 0 ? NAN : *random % 89 == 0 ? INFINITY : logits[7];
}

TEST(any_logits_give_a_text)
{
    for (uint32_t seed = 1; seed <= 12; seed++) {
        struct run run;
        struct glinfer_transcript_event event;
        enum glinfer_transcription_state now = GLINFER_TRANSCRIPTION_WORKS;
        uint32_t random = seed * 747796405u;
        begin(&run, seed % 2 ? ENGLISH : MULTILINGUAL, tell_anything, &random);
        run.fake.net.decode_each = seed % 3 ? fake_decode_each : NULL;
        run.fake.net.write = seed % 2 ? fake_write : NULL;
        run.params.beam_size = seed % 4 + 1;
        run.params.has_words = seed % 3 == 0;
        run.params.max_length = seed % 5 == 0 ? 7 : 0;
        run.params.no_timestamps = seed % 7 == 0;
        run.params.is_live = seed % 8 == 0;
        run.params.entropy_least = seed % 3 == 1 ? 10 : 2.4F;
        must_do(create(&run, &err));
        must_do(gi_transcriber_push(run.t, sound, 4 * RATE, &err));
        gi_transcriber_end(run.t);
        for (int step = 0; now != GLINFER_TRANSCRIPTION_DONE; step++) {
            must_do(gi_transcriber_step(run.t, &now, &err));
            while (gi_transcriber_poll(run.t, &event)) {
                assert_true(event.from_ms <= event.to_ms && event.to_ms <= 4010);
                for (size_t i = 0; i < event.n_word; i++) {
                    assert_true(event.words[i].text_begin < event.words[i].text_end &&
                                event.words[i].text_end <= event.size);
                }
            }
            if (step == 1000) {
                gi_transcriber_cancel(run.t);
            }
        }
        end(&run);
    }
}

RUN_TESTS(fill_sound, NULL)
