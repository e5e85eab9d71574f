#include "speech/stream/speech_stream.h"

#include "base/round.h"

#include <string.h>

enum { MOVED_SAMPLES = 1 << 16 }; // at most, at once

// Drops the sound.
static void clear_sound(struct gi_speech_stream *stream)
{
    gi_sound_reset(&stream->sound);
    stream->map.count = 0;
    stream->has_sound = false;
}

void gi_stream_reset(struct gi_speech_stream *stream)
{
    clear_sound(stream);
    gi_listener_reset(&stream->listener);
    stream->has_stretch = false;
}

void gi_stream_finish(struct gi_speech_stream *stream)
{
    gi_listener_finish(&stream->listener);
    gi_sound_finish(&stream->sound);
    gi_time_map_finish(&stream->map);
}

// Returns the samples of silence between the sound and a stretch that is joined to it. The network
// needs as long a pause as was made, up to a second, to tell that a sentence or a segment ended.
static size_t silence_before(const struct gi_speech_stream *stream, struct gi_stretch stretch)
{
    const struct gi_time_piece *last = &stream->map.data[stream->map.count - 1];
    const uint64_t gap = stretch.begin - last->begin - last->size;
    const uint64_t n = gi_max_u64(gap, 2 * GI_STREAM_TAIL) - GI_STREAM_TAIL;
    return n < GI_STREAM_SILENCE ? (size_t)n : GI_STREAM_SILENCE;
}

// Adds the samples of a stretch to the sound.
static bool add_stretch(struct gi_speech_stream *stream, struct gi_stretch stretch,
                        struct glinfer_error *err)
{
    static const float silence[GI_STREAM_SILENCE];
    struct gi_sound *sound = &stream->sound;
    const size_t size = (size_t)(stretch.end - stretch.begin);
    const bool is_joined = sound->n_samples > 0;
    const size_t n_silence = is_joined ? silence_before(stream, stretch) : 0;
    const size_t n_between = is_joined ? GI_STREAM_TAIL + n_silence : 0;
    const struct gi_time_piece piece = {sound->n_samples + n_between, stretch.begin, size};
    if (!gi_sound_reserve(sound, size + n_between, err) ||
        !gi_time_map_add(&stream->map, piece, err)) {
        return false;
    }
    if (is_joined) {
        gi_sound_push(sound, stream->tail, GI_STREAM_TAIL, err);
        gi_sound_push(sound, silence, n_silence, err);
    }
    gi_sound_push(sound, gi_listener_samples(&stream->listener, stretch.begin), size, err);
    return true;
}

// Moves the stretch that is complete from the listener to the sound.
static bool take_stretch(struct gi_speech_stream *stream, struct glinfer_error *err)
{
    const uint64_t end = stream->stretch.end;
    const uint64_t n_after = gi_listener_sample_count(&stream->listener) - end;
    if (stream->is_by_stretch) {
        clear_sound(stream);
    }
    if (!add_stretch(stream, stream->stretch, err)) {
        return false;
    }
    memset(stream->tail, 0, sizeof(stream->tail));
    if (n_after > 0) {
        memcpy(stream->tail, gi_listener_samples(&stream->listener, end),
               (n_after < GI_STREAM_TAIL ? (size_t)n_after : GI_STREAM_TAIL) * sizeof(float));
    }
    stream->has_sound = true;
    stream->has_stretch = false;
    gi_listener_drop(&stream->listener, 0);
    return true;
}

// Moves samples from the listener to the sound; without a VAD all of them are speech.
static bool take_samples(struct gi_speech_stream *stream, struct glinfer_error *err)
{
    const uint64_t begin = stream->sound.n_samples;
    const uint64_t left = gi_listener_sample_count(&stream->listener) - begin;
    const size_t n = left < MOVED_SAMPLES ? (size_t)left : MOVED_SAMPLES;
    if (!gi_sound_push(&stream->sound, gi_listener_samples(&stream->listener, begin), n, err)) {
        return false;
    }
    stream->has_sound = true;
    gi_listener_drop(&stream->listener, begin + n);
    return true;
}

bool gi_stream_hear(struct gi_speech_stream *stream, size_t n_windows, bool *has_heard,
                    struct glinfer_error *err)
{
    if (!gi_listener_hear(&stream->listener, n_windows, has_heard, err)) {
        return false;
    }
    if (stream->listener.vad && !stream->has_stretch) {
        gi_listener_drop(&stream->listener, 0);
    }
    return true;
}

void gi_stream_find_stretch(struct gi_speech_stream *stream)
{
    stream->has_stretch =
        stream->has_stretch || gi_voice_take(&stream->listener.voice, &stream->stretch);
}

bool gi_stream_take(struct gi_speech_stream *stream, bool *has_taken, struct glinfer_error *err)
{
    if (!stream->listener.vad) {
        *has_taken = gi_listener_sample_count(&stream->listener) > stream->sound.n_samples;
        return !*has_taken || take_samples(stream, err);
    }
    gi_stream_find_stretch(stream);
    *has_taken = stream->has_stretch && !(stream->is_by_stretch && stream->has_sound);
    return !*has_taken || take_stretch(stream, err);
}

bool gi_stream_look(struct gi_speech_stream *stream, struct gi_stretch running,
                    struct glinfer_error *err)
{
    clear_sound(stream);
    return add_stretch(stream, running, err);
}

bool gi_stream_is_final(const struct gi_speech_stream *stream)
{
    const struct gi_listener *listener = &stream->listener;
    if (stream->is_by_stretch) {
        return true;
    }
    return listener->is_ended && !stream->has_stretch &&
           (listener->vad ? listener->voice.has_ended && listener->voice.found.count == 0
                          : gi_listener_sample_count(listener) == stream->sound.n_samples);
}

uint64_t gi_stream_end(const struct gi_speech_stream *stream)
{
    return (stream->sound.n_samples + GI_MEL_HOP - 1) / GI_MEL_HOP;
}
