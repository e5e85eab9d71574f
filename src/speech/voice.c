#include "speech/voice.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

enum {
    PER_MS = GI_VAD_RATE / 1000, // samples
    SPLIT_SILENCE = 98 * PER_MS, // the least silence at which too long speech is split
    JOIN_SILENCE = 200 * PER_MS, // less of it between two stretches joins them
};

static bool reserve(struct gi_voice *voice, struct glinfer_error *err)
{
    return GI_ARRAY_RESERVE(&voice->found, voice->found.count + 1, "stretches of speech", err);
}

// Adds [begin, end), for which there is room, unless it is too short.
static void add(struct gi_voice *voice, uint64_t begin, uint64_t end)
{
    if (end - begin > (uint64_t)voice->params.min_speech_ms * PER_MS) {
        voice->found.data[voice->found.count++] = (struct gi_stretch){begin, end};
    }
}

// Ends speech that has become too long, at its last silence if it has one; goes on after that.
static void split(struct gi_voice *voice, uint64_t now)
{
    const uint64_t begin = voice->begin, end = voice->split > 0 ? voice->split : now;
    voice->is_speech = voice->split > 0 && voice->next >= voice->split;
    voice->begin = voice->next;
    voice->split = voice->next = voice->silence = 0;
    add(voice, begin, end);
}

bool gi_voice_push(struct gi_voice *voice, float probability, struct glinfer_error *err)
{
    const struct gi_voice_params *params = &voice->params;
    const uint64_t now = voice->n_samples;
    if (!reserve(voice, err)) {
        return false;
    }
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
    if (voice->is_speech && params->max_speech_s > 0 &&
        (float)(now - voice->begin) > params->max_speech_s * GI_VAD_RATE) {
        split(voice, now);
        return true;
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
    add(voice, voice->begin, end);
    return true;
}

bool gi_voice_end(struct gi_voice *voice, uint64_t n_samples, struct glinfer_error *err)
{
    if (!reserve(voice, err)) {
        return false;
    }
    if (voice->is_speech) {
        add(voice, voice->begin, n_samples);
    }
    voice->is_speech = false;
    voice->has_ended = true;
    voice->n_samples = n_samples;
    return true;
}

static uint64_t pad_of(const struct gi_voice *voice)
{
    return (uint64_t)voice->params.pad_ms * PER_MS;
}

// Returns where a stretch begins with the samples that are added before it.
static uint64_t padded_begin(const struct gi_voice *voice, uint64_t begin)
{
    const uint64_t lead = voice->has_taken ? voice->lead : pad_of(voice);
    return begin - (begin < lead ? begin : lead);
}

static void remove_second(struct gi_stretches *found)
{
    found->count--;
    memmove(&found->data[1], &found->data[2], (found->count - 1) * sizeof(*found->data));
}

bool gi_voice_take(struct gi_voice *voice, struct gi_stretch *stretch)
{
    struct gi_stretches *found = &voice->found;
    if (found->count == 0) {
        return false;
    }
    struct gi_stretch *first = &found->data[0];
    while (found->count > 1 && first[1].begin - first->end < JOIN_SILENCE) {
        first->end = first[1].end;
        remove_second(found);
    }
    // The next stretch is known, or cannot begin before now.
    const bool is_next = found->count > 1;
    const uint64_t next = is_next            ? first[1].begin
                          : voice->is_speech ? voice->begin
                                             : voice->n_samples;
    const uint64_t after = next - first->end, pad = pad_of(voice);
    const uint64_t needed = 2 * pad > JOIN_SILENCE ? 2 * pad : JOIN_SILENCE;
    if (!is_next && !voice->has_ended && after < needed) {
        return false;
    }
    const uint64_t added = is_next && after < 2 * pad ? after / 2 : after < pad ? after : pad;
    *stretch = (struct gi_stretch){padded_begin(voice, first->begin), first->end + added};
    voice->lead = added;
    voice->has_taken = true;
    found->count--;
    memmove(first, first + 1, found->count * sizeof(*first));
    return true;
}

bool gi_voice_running(const struct gi_voice *voice, struct gi_stretch *stretch)
{
    if (voice->found.count == 0 && !voice->is_speech) {
        return false;
    }
    const uint64_t begin = voice->found.count > 0 ? voice->found.data[0].begin : voice->begin;
    *stretch = (struct gi_stretch){padded_begin(voice, begin), voice->n_samples};
    return true;
}

uint64_t gi_voice_needed(const struct gi_voice *voice)
{
    struct gi_stretch stretch = {padded_begin(voice, voice->n_samples), 0};
    gi_voice_running(voice, &stretch);
    return stretch.begin;
}

void gi_voice_finish(struct gi_voice *voice)
{
    free(voice->found.data);
    *voice = (struct gi_voice){0};
}
