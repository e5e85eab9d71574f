#include "speech/voice.h"

#include "base/array.h"

#include <stdlib.h>

enum {
    PER_MS = GI_VAD_RATE / 1000, // samples
    SPLIT_SILENCE = 98 * PER_MS, // the least silence at which too long speech is split
    JOIN_SILENCE = 200 * PER_MS, // less of it between two stretches joins them
};

// Adds [begin, end) unless it is too short.
static bool add(struct gi_voice *voice, uint64_t begin, uint64_t end, struct glinfer_error *err)
{
    return end - begin <= (uint64_t)voice->params.min_speech_ms * PER_MS ||
           GI_ARRAY_PUSH(&voice->found, "stretches of speech", err,
                         (struct gi_stretch){begin, end});
}

// Ends speech that has become too long, at its last silence if it has one; goes on after that.
static bool split(struct gi_voice *voice, uint64_t now, struct glinfer_error *err)
{
    const uint64_t begin = voice->begin, end = voice->split > 0 ? voice->split : now;
    voice->is_speech = voice->split > 0 && voice->next >= voice->split;
    voice->begin = voice->next;
    voice->split = voice->next = voice->silence = 0;
    return add(voice, begin, end, err);
}

bool gi_voice_push(struct gi_voice *voice, float probability, struct glinfer_error *err)
{
    const struct gi_voice_params *params = &voice->params;
    const uint64_t now = voice->n_samples;
    voice->n_samples += GI_VAD_WINDOW;
    const bool is_speech = probability >= params->threshold;
    if (is_speech && voice->silence > 0) {
        voice->silence = 0;
        voice->next = voice->next < voice->split ? now : voice->next;
    }
    if (is_speech && !voice->is_speech) {
        voice->is_speech = true;
        voice->begin = now;
        return true;
    }
    const uint64_t longest = (uint64_t)(params->max_speech_s * GI_VAD_RATE);
    if (voice->is_speech && longest > 0 && now - voice->begin > longest) {
        return split(voice, now, err);
    }
    const float end_threshold = params->threshold > 0.16F ? params->threshold - 0.15F : 0.01F;
    if (!voice->is_speech || probability >= end_threshold) {
        return true;
    }
    voice->silence = voice->silence > 0 ? voice->silence : now;
    if (now - voice->silence > SPLIT_SILENCE) {
        voice->split = voice->silence;
    }
    if (now - voice->silence < (uint64_t)params->min_silence_ms * PER_MS) {
        return true;
    }
    const uint64_t end = voice->silence;
    voice->is_speech = false;
    voice->split = voice->next = voice->silence = 0;
    return add(voice, voice->begin, end, err);
}

bool gi_voice_end(struct gi_voice *voice, uint64_t n_samples, struct glinfer_error *err)
{
    if (voice->is_speech && !add(voice, voice->begin, n_samples, err)) {
        return false;
    }
    voice->is_speech = false;
    struct gi_stretches *found = &voice->found;
    size_t n = 0;
    for (size_t i = 0; i < found->count; i++) {
        if (n > 0 && found->data[i].begin - found->data[n - 1].end < JOIN_SILENCE) {
            found->data[n - 1].end = found->data[i].end;
        } else {
            found->data[n++] = found->data[i];
        }
    }
    found->count = n;
    const uint64_t pad = (uint64_t)voice->params.pad_ms * PER_MS;
    for (size_t i = 0; i < n; i++) {
        struct gi_stretch *stretch = &found->data[i];
        if (i == 0) {
            stretch->begin -= stretch->begin < pad ? stretch->begin : pad;
        }
        const uint64_t after = (i + 1 < n ? stretch[1].begin : n_samples) - stretch->end;
        const uint64_t added = i + 1 < n && after < 2 * pad ? after / 2 : after < pad ? after : pad;
        stretch->end += added;
        if (i + 1 < n) {
            stretch[1].begin -= added;
        }
    }
    return true;
}

void gi_voice_finish(struct gi_voice *voice)
{
    free(voice->found.data);
    *voice = (struct gi_voice){0};
}
