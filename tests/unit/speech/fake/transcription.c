#include "tests/unit/speech/fake/transcription.h"

#include "tests/unit/speech/speech_defaults.h"

#include <stdio.h>

float sound[MAX_SECONDS * RATE];

int fill_sound(void **state)
{
    (void)state;
    uint32_t random = 1;
    for (size_t i = 0; i < MAX_SECONDS * RATE; i++) {
        random = random * 1664525 + 1013904223;
        sound[i] = (float)(random >> 8) / (1 << 24) - 0.5F;
    }
    return 0;
}

void speak(const float (*stretches)[2], size_t n)
{
    memset(sound, 0, sizeof(sound));
    for (size_t i = 0; i < n; i++) {
        for (size_t j = (size_t)(stretches[i][0] * RATE); j < (size_t)(stretches[i][1] * RATE);
             j++) {
            sound[j] = 0.5F;
        }
    }
}

static const uint32_t the_cat[] = {TIME, T_THE, T_CAT, TIME + 50, TIME + 50, T_SAT, TIME + 100, 0};
const struct fake_story cat_story = {the_cat, NULL};

void begin(struct run *run, uint32_t n_vocab, fake_logits logits, const void *story)
{
    *run = (struct run){.params = transcriber_defaults()};
    fake_model_init(&run->model, n_vocab);
    fake_net_init(&run->fake, n_vocab, logits, story);
}

bool create(struct run *run, struct glinfer_error *err)
{
    const struct gi_transcriber_inputs inputs = {&run->fake.net, run->model.mel, run->model.text,
                                                 run->vad};
    run->t = gi_transcriber_create(&inputs, &run->params, err);
    return run->t;
}

void end(struct run *run)
{
    gi_transcriber_destroy(run->t);
    gi_whisper_model_finish(&run->model);
}

static void __attribute__((format(printf, 2, 3))) tell(struct run *run, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    run->n_told +=
        (size_t)vsnprintf(run->told + run->n_told, sizeof(run->told) - run->n_told, format, args);
    va_end(args);
    assert_in_range(run->n_told, 0, sizeof(run->told) - 1);
}

void poll_events(struct run *run)
{
    struct glinfer_transcript_event event;
    while (gi_transcriber_poll(run->t, &event)) {
        switch (event.kind) {
        case GLINFER_TRANSCRIPT_LANGUAGE:
            tell(run, "<%s>", event.language);
            break;
        case GLINFER_TRANSCRIPT_SEGMENT:
            assert_int_equal(strlen(event.text), event.size);
            tell(run, "[%u-%u%s", (unsigned)event.from_ms, (unsigned)event.to_ms, event.text);
            for (size_t i = 0; i < event.n_word; i++) {
                assert_in_range(event.words[i].to_ms, event.words[i].from_ms, event.to_ms);
                tell(run, "{%.*s %u-%u}",
                     (int)(event.words[i].text_end - event.words[i].text_begin),
                     event.text + event.words[i].text_begin, (unsigned)event.words[i].from_ms,
                     (unsigned)event.words[i].to_ms);
            }
            tell(run, "]");
            break;
        case GLINFER_TRANSCRIPT_PARTIAL:
            tell(run, "(%s)", event.text);
            break;
        case GLINFER_TRANSCRIPT_UTTERANCE:
            tell(run, "|");
            break;
        case GLINFER_TRANSCRIPT_DONE:
            tell(run, event.is_cancelled ? "!" : ".");
            break;
        }
    }
}

enum glinfer_transcription_state step_all(struct run *run)
{
    enum glinfer_transcription_state now;
    uint64_t before = gi_transcriber_time(run->t);
    do {
        must_do(gi_transcriber_step(run->t, &now, &err));
        const uint64_t time = gi_transcriber_time(run->t);
        assert_true(time >= before || run->vad); // the VAD finds that speech began earlier
        before = time;
        assert_in_range(++run->n_step, 0, 100000);
        poll_events(run);
    } while (now == GLINFER_TRANSCRIPTION_WORKS);
    return now;
}

void transcribe(struct run *run, size_t n, size_t piece)
{
    if (!run->t) {
        must_do(create(run, &err));
    }
    for (size_t at = 0; at < n; at += piece) {
        must_do(gi_transcriber_push(run->t, sound + at, n - at < piece ? n - at : piece, &err));
        assert_int_equal(step_all(run), GLINFER_TRANSCRIPTION_WAITS);
    }
    gi_transcriber_end(run->t);
    assert_int_equal(step_all(run), GLINFER_TRANSCRIPTION_DONE);
}

void expect(struct run *run, const char *told)
{
    assert_string_equal(run->told, told);
    end(run);
}

void tell_trap(struct fake_net *fake, const uint32_t *tokens, uint32_t n, float *logits)
{
    (void)fake;
    if (n == 0) {
        logits[TIME] = 10;
    } else if (n == 1) {
        logits[T_THE] = 10;
        logits[T_CAT] = 9.5F;
    } else if (n == 2) {
        for (uint32_t i = 0; i < 20 && tokens[1] == T_THE; i++) {
            logits['a' + i] = 10;
        }
        logits[T_SAT] = tokens[1] == T_CAT ? 20 : -20;
    } else {
        logits[TIME + 100] = 10;
    }
}
