// The samples of a stream that nobody has decoded yet, and the stretches of speech in them. Without
// a VAD everything is speech.
#pragma once

#include "speech/stream/sound.h"
#include "speech/voice.h"

// Zero-initialise, set vad and voice.params.
struct gi_listener {
    const struct gi_vad *vad; // borrowed; NULL: everything is speech
    struct gi_vad_state state;
    struct gi_voice voice;
    struct gi_floats samples; // of the stream, from sample `first` on; owned
    uint64_t first;
    uint64_t n_heard; // samples since the start that the VAD knows
    bool is_ended;    // no samples follow
};

// Appends samples; those that are not numbers are silence, those beyond 64 are cut there. Fails
// with NO_MEMORY; nothing has been appended then.
bool gi_listener_push(struct gi_listener *listener, const float *samples, size_t n,
                      struct glinfer_error *err);
uint64_t gi_listener_sample_count(const struct gi_listener *listener); // since the start
// Listens to at most n_windows windows of the VAD; *has_heard tells whether it heard one. Fails
// with NO_MEMORY.
bool gi_listener_hear(struct gi_listener *listener, size_t n_windows, bool *has_heard,
                      struct glinfer_error *err);
// Returns the samples from `begin` on, which have not been dropped.
const float *gi_listener_samples(const struct gi_listener *listener, uint64_t begin);
// Drops samples that no stretch to come can contain; without a VAD, those before `begin`.
void gi_listener_drop(struct gi_listener *listener, uint64_t begin);
void gi_listener_reset(struct gi_listener *listener);
void gi_listener_finish(struct gi_listener *listener);
