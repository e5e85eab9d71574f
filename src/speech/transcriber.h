// Turns sound into text: takes samples in pieces of any size, finds speech, encodes windows of at
// most 30 s, decodes them by the rules of whisper.cpp, and tells the text as events. Works in steps
// of at most one call of the network, so that its caller may do other things between them. A
// transcriber belongs to one thread at a time.
#pragma once

#include "speech/speech_net.h"
#include "speech/transcript.h"
#include "speech/voice.h"

struct gi_mel;

// All are borrowed and outlive the transcriber.
struct gi_transcriber_inputs {
    const struct gi_speech_net *net;
    const struct gi_mel *mel; // of net's n_mel bands
    const struct gi_whisper_text *text;
    const struct gi_vad *vad; // NULL: all sound is decoded
};

struct gi_transcriber;

// Checks what needs no model: numbers, the language, the regular expression. Fails with
// INVALID_ARGUMENT, NO_MEMORY.
bool gi_transcriber_check(const struct glinfer_transcription_params *params,
                          struct glinfer_error *err);
// The texts of params are not used after creation, its vad is not used. best_of and beam_size are
// lowered to the net's n_seq. Fails as gi_transcriber_check, and with INVALID_ARGUMENT (a language
// that the model does not know, or a translation by one that knows English alone), BAD_FILE (the
// size of the vocabulary), NO_MEMORY.
struct gi_transcriber *gi_transcriber_create(const struct gi_transcriber_inputs *inputs,
                                             const struct glinfer_transcription_params *params,
                                             struct glinfer_error *err);
// Accepts NULL.
void gi_transcriber_destroy(struct gi_transcriber *transcriber);

// Appends samples, 16 kHz, mono; those that are not numbers are silence. Fails with
// INVALID_ARGUMENT after the end, NO_MEMORY; nothing has been appended then.
bool gi_transcriber_push(struct gi_transcriber *transcriber, const float *samples, size_t n,
                         struct glinfer_error *err);
// No samples follow.
void gi_transcriber_end(struct gi_transcriber *transcriber);

// Does the next piece of work. Fails as the network does, and with NO_MEMORY; no text is lost then,
// and the next step begins the window again.
bool gi_transcriber_step(struct gi_transcriber *transcriber,
                         enum glinfer_transcription_state *state, struct glinfer_error *err);
// Begins the window in progress again with the next step: the network has lost it.
void gi_transcriber_repeat(struct gi_transcriber *transcriber);
// Takes the oldest event; false if the queue is empty. Its pointers are valid until the next call.
bool gi_transcriber_poll(struct gi_transcriber *transcriber,
                         struct glinfer_transcript_event *event);

// Returns the ms of the stream that are done: silence, and speech that has been transcribed.
uint64_t gi_transcriber_time(const struct gi_transcriber *transcriber);

// Drops all sound that is not transcribed; DONE follows the events that are there.
void gi_transcriber_cancel(struct gi_transcriber *transcriber);
// Drops everything: another sound may begin.
void gi_transcriber_reset(struct gi_transcriber *transcriber);
