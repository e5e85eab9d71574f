#include "speech/stream/listener.h"

#include "base/array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LOUDEST 64.0F // far above full scale, and harmless in every sum

bool gi_listener_push(struct gi_listener *listener, const float *samples, size_t n,
                      struct glinfer_error *err)
{
    struct gi_floats *own = &listener->samples;
    if (!GI_ARRAY_RESERVE(own, own->count + n, "samples of a sound", err)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        const float x = samples[i];
        own->data[own->count + i] = isfinite(x) ? fminf(fmaxf(x, -LOUDEST), LOUDEST) : 0;
    }
    own->count += n;
    return true;
}

uint64_t gi_listener_sample_count(const struct gi_listener *listener)
{
    return listener->first + listener->samples.count;
}

// Listens to the next window; zeros follow the end.
static bool hear_window(struct gi_listener *listener, struct glinfer_error *err)
{
    float window[GI_VAD_WINDOW] = {0};
    const size_t at = (size_t)(listener->n_heard - listener->first);
    const size_t left = listener->samples.count - at;
    memcpy(window, &listener->samples.data[at],
           (left < GI_VAD_WINDOW ? left : GI_VAD_WINDOW) * sizeof(float));
    // On failure the network's state is as it was, so that the window can be heard again.
    struct gi_vad_state state = listener->state;
    const float probability = gi_vad_next(listener->vad, &state, window);
    if (!gi_voice_push(&listener->voice, probability, err)) {
        return false;
    }
    listener->state = state;
    listener->n_heard += left < GI_VAD_WINDOW ? left : GI_VAD_WINDOW;
    return true;
}

bool gi_listener_hear(struct gi_listener *listener, size_t n_windows, bool *has_heard,
                      struct glinfer_error *err)
{
    *has_heard = false;
    const uint64_t n = gi_listener_sample_count(listener);
    if (!listener->vad) {
        listener->n_heard = n;
        return true;
    }
    for (size_t i = 0; i < n_windows; i++) {
        const uint64_t left = n - listener->n_heard;
        if (left == 0 || (left < GI_VAD_WINDOW && !listener->is_ended)) {
            break;
        }
        if (!hear_window(listener, err)) {
            return false;
        }
        *has_heard = true;
    }
    if (listener->is_ended && listener->n_heard == n && !listener->voice.has_ended) {
        *has_heard = true;
        return gi_voice_end(&listener->voice, n, err);
    }
    return true;
}

const float *gi_listener_samples(const struct gi_listener *listener, uint64_t begin)
{
    return &listener->samples.data[begin - listener->first];
}

void gi_listener_drop(struct gi_listener *listener, uint64_t begin)
{
    struct gi_floats *samples = &listener->samples;
    if (listener->vad) {
        const uint64_t needed = gi_voice_needed(&listener->voice);
        begin = needed < listener->n_heard ? needed : listener->n_heard;
    }
    // Samples move rarely, since they move by all that are left.
    const uint64_t n = begin < listener->first ? 0 : begin - listener->first;
    if (n > samples->count / 2) {
        samples->count -= (size_t)n;
        memmove(samples->data, &samples->data[n], samples->count * sizeof(float));
        listener->first += n;
    }
}

void gi_listener_reset(struct gi_listener *listener)
{
    listener->state = (struct gi_vad_state){0};
    listener->samples.count = listener->voice.found.count = 0;
    listener->first = listener->n_heard = 0;
    listener->is_ended = false;
    listener->voice =
        (struct gi_voice){.params = listener->voice.params, .found = listener->voice.found};
}

void gi_listener_finish(struct gi_listener *listener)
{
    gi_voice_finish(&listener->voice);
    free(listener->samples.data);
    *listener = (struct gi_listener){0};
}
