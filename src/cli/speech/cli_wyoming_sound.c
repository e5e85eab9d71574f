#include "cli/speech/cli_wyoming_sound.h"

#include "cli/common/cli_json_read.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_WIDTH = 4 }; // bytes of a sample

void cli_wyoming_sound_finish(struct cli_wyoming_sound *sound)
{
    cli_resampler_destroy(sound->resampler);
    free(sound->frames);
    cJSON_Delete(sound->request);
    *sound = (struct cli_wyoming_sound){0};
}

static enum cli_wyoming_task refuse(const char *what, const char *why, struct glinfer_error *err)
{
    err->status = GLINFER_STATUS_INVALID_ARGUMENT;
    snprintf(err->message, sizeof(err->message), "invalid Wyoming event %s: %.400s", what, why);
    return CLI_WYOMING_REFUSE;
}

// Appends the samples that the resampler still holds.
static void end_format(struct cli_wyoming_sound *sound, struct cli_samples *samples)
{
    if (sound->resampler) {
        cli_resampler_push(sound->resampler, NULL, 0, true, samples);
        cli_resampler_destroy(sound->resampler);
        sound->resampler = NULL;
    }
}

// Reads a number of an event; 0 if it is missing or wrong.
static uint32_t read_number(const cJSON *data, const char *name)
{
    int64_t value = 0;
    return cli_json_int(cli_json_get(data, name), &value) && value > 0 && value < INT32_MAX
               ? (uint32_t)value
               : 0;
}

// Takes the format that an event names; the format of a chunk may differ from the one before.
static bool take_format(struct cli_wyoming_sound *sound, const struct cli_wyoming_event *event,
                        struct cli_samples *samples, struct glinfer_error *err)
{
    const uint32_t rate = read_number(event->data, "rate");
    const uint32_t width = read_number(event->data, "width");
    const uint32_t n_channels = read_number(event->data, "channels");
    if (width == 0 || width > MAX_WIDTH) {
        refuse(event->type, "width is not 1 to 4 bytes", err);
        return false;
    }
    if (!sound->resampler || rate != sound->rate || width != sound->width ||
        n_channels != sound->n_channels) {
        struct glinfer_error why;
        end_format(sound, samples);
        sound->rate = rate;
        sound->width = width;
        sound->n_channels = n_channels;
        sound->resampler = cli_resampler_create(rate, n_channels, &why);
        if (!sound->resampler) {
            refuse(event->type, why.message, err);
        }
    }
    return sound->resampler != NULL;
}

static enum cli_wyoming_task take_chunk(struct cli_wyoming_sound *sound,
                                        const struct cli_wyoming_event *event,
                                        struct cli_samples *samples, struct glinfer_error *err)
{
    if (!take_format(sound, event, samples, err)) {
        return CLI_WYOMING_REFUSE;
    }
    const size_t frame_size = (size_t)sound->width * sound->n_channels;
    if (frame_size == 0 || event->n_payload % frame_size != 0) {
        return refuse("audio-chunk", "its payload does not consist of whole frames", err);
    }
    const size_t n_frame = event->n_payload / frame_size, n = n_frame * sound->n_channels;
    // A chunk at a low rate becomes many more samples than it has bytes.
    if (samples->count + cli_resampler_count(sound->resampler, n_frame) > sound->n_sample_most) {
        return CLI_WYOMING_LONG;
    }
    sound->frames = cli_reserve(sound->frames, &sound->capacity, n, sizeof(*sound->frames));
    cli_samples_from_bytes(event->payload, n, sound->width, sound->frames);
    cli_resampler_push(sound->resampler, sound->frames, n_frame, false, samples);
    sound->is_speaking = true;
    return CLI_WYOMING_SOUND;
}

enum cli_wyoming_task cli_wyoming_take(struct cli_wyoming_sound *sound,
                                       const struct cli_wyoming_event *event,
                                       struct cli_samples *samples, struct glinfer_error *err)
{
    if (strcmp(event->type, "describe") == 0) {
        return CLI_WYOMING_DESCRIBE;
    }
    if (strcmp(event->type, "ping") == 0) {
        return CLI_WYOMING_PING;
    }
    if (strcmp(event->type, "transcribe") == 0) {
        cJSON_Delete(sound->request);
        sound->request = cJSON_Duplicate(event->data, true);
        return CLI_WYOMING_ASK;
    } else if (strcmp(event->type, "audio-start") == 0) {
        cli_resampler_destroy(sound->resampler);
        sound->resampler = NULL;
        if (cli_json_get(event->data, "rate") && !take_format(sound, event, samples, err)) {
            return CLI_WYOMING_REFUSE;
        }
        sound->is_speaking = true;
        return CLI_WYOMING_BEGIN;
    } else if (strcmp(event->type, "audio-chunk") == 0) {
        return take_chunk(sound, event, samples, err);
    } else if (strcmp(event->type, "audio-stop") == 0) {
        if (!sound->is_speaking) {
            return refuse("audio-stop", "no audio-start came before it", err);
        }
        end_format(sound, samples);
        sound->is_speaking = false;
        return CLI_WYOMING_END;
    }
    return CLI_WYOMING_NOTHING;
}
