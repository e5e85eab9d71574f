// A transcription over the fake network: feeds it, and writes its events as text.
#pragma once

#include "speech/transcriber.h"
#include "tests/unit/cmocka_test.h"
#include "tests/unit/speech/fake/fake_net.h"

enum {
    ENGLISH = 51864, // vocabularies
    MULTILINGUAL = 51865,
    TIME = 50363, // <|0.00|> of the English one
    RATE = 16000,
    MAX_SECONDS = 80,
};

// Noise, unless a test writes something else.
extern float sound[MAX_SECONDS * RATE];
int fill_sound(void **state);
// Writes silence, but for stretches of seconds in which the fake VAD hears speech.
void speak(const float (*stretches)[2], size_t n);

// " the cat" for 1 s, then " sat" for 1 s.
extern const struct fake_story cat_story;

struct run {
    struct gi_whisper_model model;
    struct fake_net fake;
    struct glinfer_transcription_params params;
    const struct gi_vad *vad;
    struct gi_transcriber *t;
    char told[4096]; // all events as text
    size_t n_told, n_step;
};

void begin(struct run *run, uint32_t n_vocab, fake_logits logits, const void *story);
bool create(struct run *run, struct glinfer_error *err);
void end(struct run *run);
// Writes events as "[from-to text{word from-to}]", "(partial)", "<language>", "|" for an utterance,
// and "." at the end or "!" if it was cancelled.
void poll_events(struct run *run);
// Steps until there is nothing to do.
enum glinfer_transcription_state step_all(struct run *run);
// Feeds n samples in pieces and finishes.
void transcribe(struct run *run, size_t n, size_t piece);
// Compares the events and ends the run.
void expect(struct run *run, const char *told);

// Writes the logits of a story in which the likelier beginning, " the", leads nowhere, and " cat"
// to " sat".
void tell_trap(struct fake_net *fake, const uint32_t *tokens, uint32_t n, float *logits);
