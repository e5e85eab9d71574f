#include "speech/stream/sound.h"

#include "base/array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    HALF = GI_MEL_WINDOW / 2,
    // Frames before the next whose samples are kept: a frame reaches that far back.
    N_KEPT = (HALF + GI_MEL_HOP - 1) / GI_MEL_HOP,
};
#define SILENCE (-10.0F) // log10 of the least power

// Frame `first` of samples[0], which is the start of the sound or lies N_KEPT frames before the
// next frame.
static uint64_t base_frame(const struct gi_sound *sound)
{
    return sound->n_frame < N_KEPT ? 0 : sound->n_frame - N_KEPT;
}

bool gi_sound_reserve(struct gi_sound *sound, size_t n, struct glinfer_error *err)
{
    const size_t n_frame = (sound->samples.count + n) / GI_MEL_HOP + 1;
    return GI_ARRAY_RESERVE(&sound->samples, sound->samples.count + n, "samples of a sound", err) &&
           GI_ARRAY_RESERVE(&sound->frames, sound->frames.count + n_frame * sound->n_band,
                            "a spectrogram", err);
}

bool gi_sound_push(struct gi_sound *sound, const float *samples, size_t n,
                   struct glinfer_error *err)
{
    const uint64_t n_samples = sound->n_samples + n;
    const uint64_t n_frame = gi_mel_frame_count(n_samples);
    const size_t n_new = (size_t)(n_frame - sound->n_frame);
    struct gi_floats *kept = &sound->samples, *frames = &sound->frames;
    if (!gi_sound_reserve(sound, n, err)) {
        return false;
    }
    if (n > 0) {
        memcpy(&kept->data[kept->count], samples, n * sizeof(float));
    }
    kept->count += n;
    const uint64_t base = base_frame(sound);
    float *out = &frames->data[frames->count];
    gi_mel_frames(sound->mel, kept->data, kept->count, (size_t)(sound->n_frame - base), n_new, out);
    for (size_t i = 0; i < n_new * sound->n_band; i++) {
        sound->loudest = sound->n_frame + i == 0 ? out[0] : fmaxf(sound->loudest, out[i]);
    }
    frames->count += n_new * sound->n_band;
    sound->n_frame = n_frame;
    sound->n_samples = n_samples;
    const size_t n_dropped = (size_t)(base_frame(sound) - base) * GI_MEL_HOP;
    if (n_dropped > 0) {
        kept->count -= n_dropped;
        memmove(kept->data, &kept->data[n_dropped], kept->count * sizeof(float));
    }
    return true;
}

void gi_sound_window(const struct gi_sound *sound, uint64_t first, size_t n, bool is_whole,
                     float *out)
{
    const uint64_t base = base_frame(sound);
    float loudest = is_whole && sound->n_frame > 0 ? sound->loudest : SILENCE;
    for (size_t i = 0; i < n; i++) {
        const uint64_t frame = first + i;
        float *row = &out[i * sound->n_band];
        if (frame < sound->n_frame) {
            memcpy(row, &sound->frames.data[(frame - sound->first_frame) * sound->n_band],
                   sound->n_band * sizeof(float));
        } else if (frame * GI_MEL_HOP < sound->n_samples + HALF) {
            gi_mel_frames(sound->mel, sound->samples.data, sound->samples.count,
                          (size_t)(frame - base), 1, row);
        } else {
            for (uint32_t band = 0; band < sound->n_band; band++) {
                row[band] = SILENCE;
            }
        }
        for (uint32_t band = 0; band < sound->n_band; band++) {
            loudest = fmaxf(loudest, row[band]);
        }
    }
    gi_mel_scale(out, n * sound->n_band, loudest);
}

void gi_sound_drop(struct gi_sound *sound, uint64_t first)
{
    first = first < sound->n_frame ? first : sound->n_frame;
    if (first <= sound->first_frame) {
        return;
    }
    const size_t n = (size_t)(first - sound->first_frame) * sound->n_band;
    sound->frames.count -= n;
    memmove(sound->frames.data, &sound->frames.data[n], sound->frames.count * sizeof(float));
    sound->first_frame = first;
}

void gi_sound_reset(struct gi_sound *sound)
{
    sound->samples.count = sound->frames.count = 0;
    sound->n_samples = sound->first_frame = sound->n_frame = 0;
    sound->loudest = 0;
}

void gi_sound_finish(struct gi_sound *sound)
{
    free(sound->samples.data);
    free(sound->frames.data);
    *sound = (struct gi_sound){0};
}
