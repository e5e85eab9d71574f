// Tests windows, prompts, attempts, beams and texts of the transcriber, over a network whose logits
// are written here.
#include "tests/unit/speech/fake/transcription.h"

//-- windows -----------------------------------------------------------------------------------

TEST(a_short_sound_is_one_short_window)
{
    struct run run;
    begin(&run, ENGLISH, fake_tell, &cat_story);
    transcribe(&run, 2 * RATE, 2 * RATE);
    assert_int_equal(run.fake.n_window, 1);
    assert_int_equal(run.fake.windows[0].n_frame, 768); // the least
    assert_in_range(run.fake.windows[0].n_loud, 199, 202);
    assert_int_equal(run.fake.windows[0].n_prompt, 1);
    assert_int_equal(run.fake.n_decode, 7); // the last timestamp is the end of the sound
    expect(&run, "[0-1000 the cat][1000-2000 sat]|.");
}

TEST(a_second_of_silence_follows_the_sound)
{
    struct run run;
    begin(&run, ENGLISH, fake_tell, &cat_story);
    transcribe(&run, 8 * RATE, 8 * RATE);
    assert_int_equal(run.fake.windows[0].n_frame, 1024); // a multiple of 128
    end(&run);
}

TEST(pieces_of_any_size_give_the_same)
{
    static const size_t pieces[] = {1, 7777, 16000, 100000};
    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
        struct run run;
        begin(&run, ENGLISH, fake_tell, &cat_story);
        transcribe(&run, pieces[i] == 1 ? 3000 : 2 * RATE, pieces[i]);
        expect(&run, pieces[i] == 1 ? "[0-190 the cat]|." : "[0-1000 the cat][1000-2000 sat]|.");
    }
}

// The last window has less than 5 s: it is decoded without the text before it.
TEST(long_sounds_are_cut_at_the_last_timestamp)
{
    static const uint32_t later[] = {TIME, T_SAT, TIME + 1300, TIME + 1300, 0};
    static const uint32_t first[] = {TIME, T_THE, TIME + 1250, TIME + 1250, 0};
    const struct fake_story story = {first, later};
    struct run run;
    begin(&run, ENGLISH, fake_tell, &story);
    transcribe(&run, 55 * RATE, 100000);
    assert_int_equal(run.fake.n_window, 3);
    const struct fake_window *windows = run.fake.windows;
    assert_int_equal(windows[0].n_frame, 3000);
    assert_int_equal(windows[0].n_loud, 3000);
    assert_int_equal(windows[1].n_frame, 3000);
    assert_int_equal(windows[1].n_prompt, 6);
    assert_int_equal(windows[1].prompt[0], run.fake.ids.previous);
    assert_memory_equal(&windows[1].prompt[1], first, 4 * sizeof(uint32_t));
    assert_int_equal(windows[2].n_frame, 768);
    assert_int_equal(windows[2].n_prompt, 1);
    expect(&run, "[0-25000 the][25000-51000 sat][51000-55000 sat]|.");
}

TEST(an_exact_run_waits_and_encodes_whole_windows)
{
    struct run run;
    begin(&run, ENGLISH, fake_tell, &cat_story);
    run.params.is_exact = true;
    must_do(create(&run, &err));
    must_do(gi_transcriber_push(run.t, sound, 60 * RATE, &err));
    assert_int_equal(step_all(&run), GLINFER_TRANSCRIPTION_WAITS);
    assert_int_equal(run.fake.n_window, 0);
    gi_transcriber_reset(run.t);
    transcribe(&run, 2 * RATE, 2 * RATE);
    assert_int_equal(run.fake.windows[0].n_frame, 3000);
    expect(&run, "[0-1000 the cat][1000-2000 sat]|.");
}

TEST(a_given_context_is_never_less_than_the_sound_needs)
{
    static const struct {
        uint32_t audio_ctx, seconds, n_frame;
    } cases[] = {{5, 2, 768}, {384, 2, 768}, {500, 2, 1000}, {5, 8, 1024}, {1500, 2, 3000}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct run run;
        begin(&run, ENGLISH, fake_tell, &cat_story);
        run.params.audio_ctx = cases[i].audio_ctx;
        transcribe(&run, (size_t)cases[i].seconds * RATE, 2 * RATE);
        assert_int_equal(run.fake.windows[0].n_frame, cases[i].n_frame);
        end(&run);
    }
}

TEST(too_little_sound_has_no_text)
{
    static const size_t sizes[] = {0, 1, 199, 800, 1600};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct run run;
        begin(&run, ENGLISH, fake_tell, &cat_story);
        transcribe(&run, sizes[i], 500);
        assert_int_equal(run.fake.n_window, 0);
        expect(&run, sizes[i] ? "|." : ".");
    }
}

//-- prompts -----------------------------------------------------------------------------------

TEST(languages_are_detected_once)
{
    const uint32_t time = TIME + 1;
    const uint32_t text[] = {time, T_THE, time + 1200, time + 1200, 0};
    const struct fake_story story = {text, NULL};
    struct run run;
    begin(&run, MULTILINGUAL, fake_tell, &story);
    run.fake.language = 2;
    transcribe(&run, 40 * RATE, 40 * RATE);
    assert_int_equal(run.fake.n_detected, 1);
    assert_int_equal(run.fake.windows[0].n_prompt, 3);
    assert_int_equal(run.fake.windows[0].prompt[1], run.fake.ids.language + 2);
    assert_int_equal(run.fake.windows[0].prompt[2], run.fake.ids.transcribe);
    expect(&run, "<de>[0-24000 the][24000-40000 the]|.");
}

TEST(a_language_is_given_and_translated)
{
    const uint32_t time = TIME + 1;
    const uint32_t text[] = {time, T_THE, time + 100, 0};
    const struct fake_story story = {text, NULL};
    struct run run;
    begin(&run, MULTILINGUAL, fake_tell, &story);
    run.params.language = "es";
    run.params.translate = true;
    transcribe(&run, 2 * RATE, 2 * RATE);
    assert_int_equal(run.fake.n_detected, 0);
    assert_int_equal(run.fake.windows[0].prompt[2], run.fake.ids.translate);
    expect(&run, "[0-2000 the]|.");
}

TEST(a_prompt_comes_first_or_always)
{
    static const uint32_t text[] = {TIME, T_THE, TIME + 1200, TIME + 1200, 0};
    const struct fake_story story = {text, NULL};
    for (int carries = 0; carries < 2; carries++) {
        struct run run;
        begin(&run, ENGLISH, fake_tell, &story);
        run.params.prompt = " the";
        run.params.carry_prompt = carries;
        transcribe(&run, 40 * RATE, 40 * RATE);
        const struct fake_window *windows = run.fake.windows;
        assert_int_equal(windows[0].n_prompt, 3);
        assert_int_equal(windows[0].prompt[1], T_THE);
        // The one that comes first is part of the text before the second window, too.
        assert_int_equal(windows[1].n_prompt, 7);
        assert_int_equal(windows[1].prompt[1], T_THE);
        end(&run);
    }
}

TEST(the_context_is_limited)
{
    static const uint32_t text[] = {TIME, T_THE, T_CAT, TIME + 1200, TIME + 1200, 0};
    const struct fake_story story = {text, NULL};
    for (uint32_t limit = 0; limit < 3; limit += 2) {
        struct run run;
        begin(&run, ENGLISH, fake_tell, &story);
        run.params.max_context = limit;
        run.params.prompt = "on";
        transcribe(&run, 40 * RATE, 40 * RATE);
        assert_int_equal(run.fake.windows[0].n_prompt, limit ? 3 : 1);
        assert_int_equal(run.fake.windows[1].n_prompt, limit ? 4 : 1);
        end(&run);
    }
}

TEST(a_transcript_without_times_has_none)
{
    static const uint32_t text[] = {T_THE, T_CAT, 0};
    const struct fake_story story = {text, NULL};
    struct run run;
    begin(&run, ENGLISH, fake_tell, &story);
    run.params.no_timestamps = true;
    transcribe(&run, 2 * RATE, 2 * RATE);
    assert_int_equal(run.fake.windows[0].prompt[1], run.fake.ids.no_times);
    expect(&run, "[0-2000 the cat]|.");
}

//-- attempts ----------------------------------------------------------------------------------

// Tells the story, but other tokens are nearly as likely after the first n_bad prompts.
static uint32_t n_bad;
static void tell_badly(struct fake_net *fake, const uint32_t *tokens, uint32_t n, float *logits)
{
    uint32_t n_attempt = 0;
    for (uint32_t i = 0; i < fake->n_window; i++) {
        n_attempt += fake->windows[i].n_attempt;
    }
    fake_tell(fake, tokens, n, logits);
    for (uint32_t i = 0; i < 1000 && n_attempt <= n_bad; i++) {
        logits[1000 + i] = 9;
    }
}

TEST(an_unlikely_text_is_decoded_again)
{
    struct run run;
    begin(&run, ENGLISH, tell_badly, &cat_story);
    n_bad = 1; // a longer context is enough
    transcribe(&run, 2 * RATE, 2 * RATE);
    assert_int_equal(run.fake.n_window, 2);
    assert_int_equal(run.fake.windows[1].n_frame, 3000);
    assert_string_equal(run.told, "[0-1000 the cat][1000-2000 sat]|.");
    gi_transcriber_reset(run.t);
    run.n_told = 0;
    run.fake.n_window = 0;
    n_bad = 3; // and two temperatures
    transcribe(&run, 2 * RATE, 2 * RATE);
    assert_int_equal(run.fake.windows[1].n_attempt, 3);
    assert_true(run.fake.n_copy > 0); // of the best of several
    expect(&run, "[0-1000 the cat][1000-2000 sat]|.");
}

TEST(the_last_attempt_is_kept)
{
    struct run run;
    begin(&run, ENGLISH, tell_badly, &cat_story);
    n_bad = UINT32_MAX;
    transcribe(&run, 2 * RATE, 2 * RATE);
    assert_int_equal(run.fake.windows[1].n_attempt, 6);
    end(&run);
    begin(&run, ENGLISH, tell_badly, &cat_story);
    run.params.temperature_step = 0;
    transcribe(&run, 2 * RATE, 2 * RATE);
    assert_int_equal(run.fake.n_window, 1);
    assert_int_equal(run.fake.windows[0].n_attempt, 1);
    end(&run);
}

TEST(an_unlikely_text_is_told_at_once_while_live)
{
    struct run run;
    begin(&run, ENGLISH, tell_badly, &cat_story);
    n_bad = UINT32_MAX;
    run.params.is_live = true;
    transcribe(&run, 2 * RATE, 2 * RATE);
    const struct fake_window *last = &run.fake.windows[run.fake.n_window - 1];
    assert_true(last->n_frame < 3000);
    assert_int_equal(last->n_attempt, 1);
    end(&run);
}

TEST(a_repeated_text_is_decoded_again)
{
    static uint32_t text[64] = {TIME};
    for (int i = 1; i < 50; i++) {
        text[i] = T_CAT;
    }
    text[50] = TIME + 100;
    const struct fake_story story = {text, NULL};
    for (int is_live = 0; is_live < 2; is_live++) {
        struct run run;
        begin(&run, ENGLISH, fake_tell, &story);
        run.params.is_live = is_live;
        transcribe(&run, 2 * RATE, 2 * RATE);
        const struct fake_window *last = &run.fake.windows[run.fake.n_window - 1];
        assert_int_equal(last[-1].n_attempt, 1);
        assert_int_equal(last->n_frame, 3000);
        assert_int_equal(last->n_attempt, is_live ? 1 : 6);
        end(&run);
    }
}

// Says the same twice while the context is short.
static void tell_twice(struct fake_net *fake, const uint32_t *tokens, uint32_t n, float *logits)
{
    static const uint32_t twice[] = {TIME,  T_THE, T_CAT, T_SAT, T_ON,       TIME + 50, TIME + 50,
                                     T_THE, T_CAT, T_SAT, T_ON,  TIME + 100, 0};
    static const uint32_t once[] = {TIME, T_THE, T_CAT, T_SAT, T_ON, TIME + 100, 0};
    const struct fake_story story = {twice, once};
    fake->story = &story;
    fake_tell(fake, tokens, n, logits);
}

TEST(a_text_said_twice_needs_the_whole_context)
{
    struct run run;
    begin(&run, ENGLISH, tell_twice, NULL);
    transcribe(&run, 2 * RATE, 2 * RATE);
    assert_int_equal(run.fake.n_window, 2);
    expect(&run, "[0-2000 the cat saton]|.");
}

TEST(silence_has_no_text)
{
    struct run run;
    begin(&run, ENGLISH, tell_badly, &cat_story);
    n_bad = UINT32_MAX;
    run.fake.no_speech = 30;
    transcribe(&run, 2 * RATE, 2 * RATE);
    assert_int_equal(run.fake.n_window, 1);
    assert_int_equal(run.fake.windows[0].n_attempt, 1);
    expect(&run, "|.");
}

// The network chooses three tokens at a time, the last of them past the end.
TEST(a_network_that_chooses_tokens_writes_the_same)
{
    for (int is_unlikely = 0; is_unlikely < 2; is_unlikely++) {
        struct run run;
        begin(&run, ENGLISH, tell_badly, &cat_story);
        n_bad = is_unlikely ? 1 : 0;
        run.fake.net.write = fake_write;
        transcribe(&run, 2 * RATE, 2 * RATE);
        assert_int_equal(run.fake.n_window, is_unlikely ? 2 : 1);
        assert_int_equal(run.fake.n_write, is_unlikely ? 6 : 3);
        assert_int_equal(run.fake.n_decode, 3 * run.fake.n_write);
        expect(&run, "[0-1000 the cat][1000-2000 sat]|.");
    }
}

TEST(a_network_that_chooses_tokens_hears_silence)
{
    struct run run;
    begin(&run, ENGLISH, tell_badly, &cat_story);
    n_bad = UINT32_MAX;
    run.fake.net.write = fake_write;
    run.fake.no_speech = 30;
    transcribe(&run, 2 * RATE, 2 * RATE);
    assert_int_equal(run.fake.windows[0].n_attempt, 1);
    expect(&run, "|.");
}

//-- beams -------------------------------------------------------------------------------------

TEST(beams_find_the_likelier_text)
{
    for (uint32_t size = 1; size <= 3; size++) {
        struct run run;
        begin(&run, ENGLISH, tell_trap, NULL);
        run.params.beam_size = size;
        run.params.temperature_step = 0;
        transcribe(&run, 2 * RATE, 2 * RATE);
        assert_int_equal(run.fake.n_copy > 0, size > 1);
        expect(&run, size > 1 ? "[0-2000 cat sat]|." : "[0-2000 thea]|.");
    }
}

TEST(beams_may_be_decoded_together)
{
    for (int i = 0; i < 2; i++) {
        struct run run;
        begin(&run, ENGLISH, tell_trap, NULL);
        run.params.beam_size = 4;
        run.fake.net.decode_each = i == 1 ? fake_decode_each : NULL;
        run.fake.is_often_busy = true;
        transcribe(&run, 2 * RATE, 2 * RATE);
        assert_int_equal(run.fake.n_together > 0, i == 1);
        expect(&run, "[0-2000 cat sat]|.");
    }
}

TEST(beams_are_lowered_to_the_sequences)
{
    struct run run;
    begin(&run, ENGLISH, tell_trap, NULL);
    run.params.beam_size = 16;
    transcribe(&run, 2 * RATE, 2 * RATE);
    expect(&run, "[0-2000 cat sat]|.");
}

//-- masks -------------------------------------------------------------------------------------

static void tell_notes(struct fake_net *fake, const uint32_t *tokens, uint32_t n, float *logits)
{
    fake_tell(fake, tokens, n, logits);
    if (n == 2) {
        logits[T_NOTE] = 12;
        logits[T_CAT] = 11;
        logits['('] = 11.5F;
    }
}

TEST(suppressed_tokens_never_follow)
{
    for (int i = 0; i < 3; i++) {
        struct run run;
        begin(&run, ENGLISH, tell_notes, &cat_story);
        run.params.suppress = i == 1 ? " c.t|.*\xe2\x99\xaa" : NULL;
        run.params.suppress_symbols = i == 2;
        run.params.temperature_step = 0;
        transcribe(&run, 2 * RATE, 2 * RATE);
        assert_says(run.told, i == 0 ? " the ♪" : i == 1 ? " the(" : " the cat");
        end(&run);
    }
}

TEST(a_wrong_expression_is_refused)
{
    struct run run;
    begin(&run, ENGLISH, fake_tell, &cat_story);
    run.params.suppress = "(a";
    must_fail(create(&run, &err), INVALID_ARGUMENT, "'(a': byte 2");
    end(&run);
}

//-- text --------------------------------------------------------------------------------------

TEST(words_have_times)
{
    struct run run;
    begin(&run, ENGLISH, fake_tell, &cat_story);
    run.params.has_words = true;
    transcribe(&run, 2 * RATE, 2 * RATE);
    assert_int_equal(run.fake.n_align, 8); // heads of tiny.en
    assert_says(run.told, "[0-1000 the cat{ the 0-");
    end(&run);
    begin(&run, ENGLISH, fake_tell, &cat_story);
    run.params.has_words = true;
    run.fake.net.attend = NULL;
    transcribe(&run, 2 * RATE, 2 * RATE);
    expect(&run, "[0-1000 the cat{ the 0-500}{ cat 500-1000}][1000-2000 sat{ sat 1000-2000}]|.");
    // The model attends to later sound than the timestamp at the segment's end.
    static const uint32_t text[] = {TIME, T_THE, T_CAT, TIME + 10, TIME + 10, T_SAT, TIME + 100, 0};
    const struct fake_story story = {text, NULL};
    begin(&run, ENGLISH, fake_tell, &story);
    run.params.has_words = true;
    transcribe(&run, 2 * RATE, 2 * RATE);
    assert_says(run.told, "-200}]");
    end(&run);
}

TEST(segments_have_a_greatest_length)
{
    static const uint32_t text[] = {TIME, T_THE, T_CAT, 's', T_SAT, T_ON, TIME + 100, 0};
    const struct fake_story story = {text, NULL};
    static const struct {
        uint32_t length;
        bool splits_on_word;
        const char *told;
    } cases[] = {
        {5, false, "[0-530 the][530-1200 cats][1200-2000 sat][2000-2000on]|."},
        {6, true, ""},
    };
    struct run run;
    begin(&run, ENGLISH, fake_tell, &story);
    run.fake.net.attend = NULL;
    run.params.max_length = cases[0].length;
    transcribe(&run, 2 * RATE, 2 * RATE);
    assert_says(run.told, " the{");
    assert_says(run.told, " cats{");
    assert_says(run.told, " sat{");
    assert_says(run.told, "on{");
    end(&run);
    begin(&run, ENGLISH, fake_tell, &story);
    run.fake.net.attend = NULL;
    run.params.max_length = cases[1].length;
    run.params.split_on_word = true;
    transcribe(&run, 2 * RATE, 2 * RATE);
    assert_says(run.told, " the{");
    assert_says(run.told, " cats{");
    assert_says(run.told, " saton{");
    end(&run);
}

TEST(text_is_valid_utf8)
{
    static const uint32_t text[] = {TIME, T_EURO_BEGIN, 0xac, T_CAT, T_EURO_BEGIN, TIME + 100, 0};
    const struct fake_story story = {text, NULL};
    struct run run;
    begin(&run, ENGLISH, fake_tell, &story);
    run.params.has_words = true;
    run.fake.net.attend = NULL;
    transcribe(&run, 2 * RATE, 2 * RATE);
    assert_says(run.told, "€ cat\xef\xbf\xbd");
    assert_says(run.told, "{€ ");
    end(&run);
}

RUN_TESTS(fill_sound, NULL)
