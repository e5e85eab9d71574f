#include "cli/serve/schedule/serve_speech.h"

#include <stdlib.h>

void serve_speech_destroy(struct serve_speech *speech)
{
    if (!speech) {
        return;
    }
    cli_segments_finish(&speech->segments);
    cli_sound_close(speech->sound);
    cli_samples_finish(&speech->samples);
    cli_bytes_finish(&speech->upload);
    free(speech);
}

bool serve_speech_read(struct serve_speech *speech, const float **samples, size_t *n,
                       struct glinfer_error *err)
{
    const size_t left = speech->samples.count - speech->n_sample;
    bool is_done = true;
    if (speech->sound) {
        is_done = cli_sound_next(speech->sound, samples, n, err);
    } else {
        *samples = speech->samples.items + speech->n_sample;
        *n = left < GLINFER_SPEECH_RATE ? left : GLINFER_SPEECH_RATE;
    }
    speech->n_sample += is_done ? *n : 0;
    return is_done;
}

void serve_speech_add(struct serve_speech *speech, const struct glinfer_transcript_event *event)
{
    if (event->kind == GLINFER_TRANSCRIPT_LANGUAGE) {
        snprintf(speech->language, sizeof(speech->language), "%s", event->language);
    } else if (event->kind == GLINFER_TRANSCRIPT_SEGMENT) {
        cli_segments_add(&speech->segments, event);
    }
}
