// The log-mel frames of a sound that arrives in pieces: those that are complete are kept until they
// are dropped, those at the end are made when a window asks for them.
#pragma once

#include "speech/mel.h"

struct gi_floats {
    float *data;
    size_t count, capacity;
};

// Zero-initialise, set mel and n_band.
struct gi_sound {
    const struct gi_mel *mel; // borrowed
    uint32_t n_band;
    uint64_t n_samples;       // since the start
    struct gi_floats samples; // the latest, which frames to come need
    struct gi_floats frames;  // (n_frame, n_band), complete, of log10 of the power
    uint64_t first_frame;     // the first of `frames`
    uint64_t n_frame;         // complete frames since the start
    float loudest;            // largest value of all complete frames
};

// Makes room for n samples and their frames, so that they can be pushed without a failure. Fails
// with NO_MEMORY.
bool gi_sound_reserve(struct gi_sound *sound, size_t n, struct glinfer_error *err);
// Appends samples. Fails with NO_MEMORY; the sound is then as it was.
bool gi_sound_push(struct gi_sound *sound, const float *samples, size_t n,
                   struct glinfer_error *err);
// Writes frames [first, first + n), scaled for the encoder, to out, (n, n_band); after the sound
// comes silence. `first` has not been dropped. The scale is that of these frames, or of the whole
// sound.
void gi_sound_window(const struct gi_sound *sound, uint64_t first, size_t n, bool is_whole,
                     float *out);
// Drops frames before `first`.
void gi_sound_drop(struct gi_sound *sound, uint64_t first);
// Starts another sound.
void gi_sound_reset(struct gi_sound *sound);
void gi_sound_finish(struct gi_sound *sound);
