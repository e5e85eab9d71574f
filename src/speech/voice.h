// Finds the stretches of a stream that contain speech, from the probabilities of the VAD. Works on
// a stream: stretches are complete as soon as the silence after them is long enough.
//   whisper.cpp, whisper_vad_segments_from_probs; its names of the parameters
#pragma once

#include "speech/vad.h"

#include <stddef.h>

struct gi_voice_params {
    float threshold;         // speech begins at this probability, 0 to 1; ends 0.15 below
    uint32_t min_speech_ms;  // shorter speech is dropped
    uint32_t min_silence_ms; // shorter silence does not end speech
    float max_speech_s;      // longer speech is split at its last silence; 0: unlimited
    uint32_t pad_ms;         // added before and after speech
};

// Samples [begin, end) of the stream.
struct gi_stretch {
    uint64_t begin, end;
};

struct gi_stretches {
    struct gi_stretch *data;
    size_t count, capacity;
};

// A stream in progress; zero-initialise, set params.
struct gi_voice {
    struct gi_voice_params params;
    struct gi_stretches found; // in order, without those that were taken; owned
    uint64_t n_samples;        // of all windows so far
    uint64_t lead;             // samples that are added before the first of `found`
    bool is_speech, has_ended, has_taken;
    uint64_t begin;       // of the speech in progress
    uint64_t silence;     // where the silence after it may have begun; 0: it has not
    uint64_t split, next; // last silence that could split it, and where speech went on after it
};

// Adds the probability of the next GI_VAD_WINDOW samples. Fails with NO_MEMORY.
bool gi_voice_push(struct gi_voice *voice, float probability, struct glinfer_error *err);
// Ends the stream, of n_samples, and the speech in progress. Fails with NO_MEMORY.
bool gi_voice_end(struct gi_voice *voice, uint64_t n_samples, struct glinfer_error *err);
// Takes the first stretch that is complete, joined with those less than 200 ms after it, and
// padded; false if no stretch is complete.
bool gi_voice_take(struct gi_voice *voice, struct gi_stretch *stretch);
// Tells the speech that is not complete yet: from its start, padded, to the end of the stream so
// far; false if nobody speaks.
bool gi_voice_running(const struct gi_voice *voice, struct gi_stretch *stretch);
// Returns the first sample that a stretch to come may contain.
uint64_t gi_voice_needed(const struct gi_voice *voice);
void gi_voice_finish(struct gi_voice *voice);
