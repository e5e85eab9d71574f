// The sound that windows are cut from, and how it comes from a stream of samples: stretches of
// speech are joined to one sound with silences of at most a second between them, or each becomes a
// sound that ends with it. Without a VAD the whole stream is one sound.
#pragma once

#include "speech/stream/listener.h"
#include "speech/stream/time_map.h"

enum {
    GI_STREAM_TAIL = GI_MEL_RATE / 10,      // samples after a stretch that are kept when joined
    GI_STREAM_SILENCE = 9 * GI_STREAM_TAIL, // most samples of silence after them
};

// Zero-initialise, set the settings of listener and sound, and is_by_stretch.
struct gi_speech_stream {
    struct gi_listener listener;
    struct gi_sound sound;
    struct gi_time_map map; // from times of the sound to those of the stream
    bool is_by_stretch;     // each stretch is a sound of its own
    bool has_sound;         // that is to be transcribed
    bool has_stretch;       // that is complete, but not in the sound
    struct gi_stretch stretch;
    float tail[GI_STREAM_TAIL]; // samples after the latest stretch in the sound
};

// Listens to at most n_windows windows of the VAD, and drops samples that nobody needs any more.
// Fails with NO_MEMORY.
bool gi_stream_hear(struct gi_speech_stream *stream, size_t n_windows, bool *has_heard,
                    struct glinfer_error *err);
// Finds out whether a stretch is complete that is not in the sound.
void gi_stream_find_stretch(struct gi_speech_stream *stream);
// Adds to the sound if something can be added now. A single stretch waits until has_sound is
// false. Fails with NO_MEMORY; nothing has been added then.
bool gi_stream_take(struct gi_speech_stream *stream, bool *has_taken, struct glinfer_error *err);
// Makes the running speech the sound, for a look: has_sound stays false. Fails with NO_MEMORY.
bool gi_stream_look(struct gi_speech_stream *stream, struct gi_stretch running,
                    struct glinfer_error *err);
// True if nothing will be added to the sound any more.
bool gi_stream_is_final(const struct gi_speech_stream *stream);
// Returns the frame at which the sound so far ends.
uint64_t gi_stream_end(const struct gi_speech_stream *stream);
// Drops the sound and all samples: another stream may begin.
void gi_stream_reset(struct gi_speech_stream *stream);
void gi_stream_finish(struct gi_speech_stream *stream);
