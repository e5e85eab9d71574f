#include "cli/serve/schedule/serve_speech.h"

#include "cli/common/cli_io.h"

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
    if (!speech->sound) {
        const size_t left = speech->samples.count - speech->n_sample;
        *samples = speech->samples.items + speech->n_sample;
        *n = left < GLINFER_SPEECH_RATE ? left : GLINFER_SPEECH_RATE;
    } else if (!cli_sound_next(speech->sound, samples, n, err)) {
        return false;
    } else if (*n == 0 && *cli_sound_note(speech->sound)) {
        speech->note = cli_sound_note(speech->sound);
        cli_warn("%s", speech->note);
    }
    speech->n_sample += *n;
    return true;
}

void serve_speech_add(struct serve_speech *speech, const struct glinfer_transcript_event *event)
{
    if (event->kind == GLINFER_TRANSCRIPT_LANGUAGE) {
        snprintf(speech->language, sizeof(speech->language), "%s", event->language);
        speech->language_probability = event->probability;
    } else if (event->kind == GLINFER_TRANSCRIPT_SEGMENT && !speech->only_language) {
        cli_segments_add(&speech->segments, event);
    }
}
