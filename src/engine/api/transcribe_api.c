// The functions of glinfer.h for transcriptions.
#include "base/arguments.h"
#include "engine/api/call.h"
#include "engine/speech/speech_transcription.h"

bool glinfer_model_hears(const struct glinfer_model *model)
{
    return model && model->info.is_speech;
}

const char *glinfer_speech_language(size_t index)
{
    return index < UINT32_MAX ? gi_whisper_language((uint32_t)index) : NULL;
}

const char *glinfer_speech_language_name(size_t index)
{
    return index < UINT32_MAX ? gi_whisper_language_name((uint32_t)index) : NULL;
}

static bool take_all(struct glinfer_transcription_params *own, struct glinfer_source *vad,
                     const struct glinfer_transcription_params *params, struct glinfer_error *err)
{
    glinfer_transcription_params_init(own);
    return GI_CHECK(err, GI_COPY(own, params)) &&
           (!own->vad || GI_CHECK(err, GI_COPY(vad, own->vad)));
}

bool glinfer_transcription_check(const struct glinfer_transcription_params *params,
                                 struct glinfer_error *err)
{
    struct glinfer_transcription_params own;
    struct glinfer_source vad;
    return GI_CHECK(err, GI_SET(params)) && take_all(&own, &vad, params, err) &&
           gi_transcriber_check(&own, err);
}

struct glinfer_transcription *
glinfer_transcription_create(struct glinfer_model *model,
                             const struct glinfer_transcription_params *params,
                             struct glinfer_error *err)
{
    struct glinfer_transcription_params own;
    struct glinfer_source vad = {0};
    if (!GI_CHECK(err, GI_SET(model)) || !take_all(&own, &vad, params, err) ||
        !gi_device_is_free(model->device, err)) {
        return NULL;
    }
    if (!glinfer_model_hears(model)) {
        gi_error_set(err, GLINFER_STATUS_UNSUPPORTED,
                     "the model %s is not one of speech: a Whisper model transcribes sound",
                     model->info.description);
        return NULL;
    }
    struct glinfer_device *device = model->device;
    struct glinfer_transcription *transcription =
        gi_transcription_create(model, &own, own.vad ? &vad : NULL, err);
    gi_call_end(device);
    return transcription;
}

void glinfer_transcription_destroy(struct glinfer_transcription **transcription)
{
    struct glinfer_transcription *self = transcription ? *transcription : NULL;
    if (self) {
        struct glinfer_device *device = self->device;
        *transcription = NULL;
        gi_transcription_destroy(self);
        gi_call_end(device);
    }
}

bool glinfer_transcription_feed(struct glinfer_transcription *transcription, const float *samples,
                                size_t n, struct glinfer_error *err)
{
    return GI_CHECK(err, GI_SET(transcription), GI_ARRAY(samples, n)) &&
           gi_transcriber_push(transcription->transcriber, samples, n, err);
}

void glinfer_transcription_end(struct glinfer_transcription *transcription)
{
    if (transcription) {
        gi_transcriber_end(transcription->transcriber);
    }
}

bool glinfer_transcription_step(struct glinfer_transcription *transcription, uint32_t budget_us,
                                enum glinfer_transcription_state *state, struct glinfer_error *err)
{
    struct gi_platform_saved saved;
    if (!GI_CHECK(err, GI_SET(transcription), GI_SET(state)) ||
        !gi_device_enter(transcription->device, &saved, err)) {
        return false;
    }
    struct glinfer_device *device = transcription->device;
    const bool ok = gi_transcription_step(transcription, budget_us, state, err);
    gi_device_leave(device, &saved);
    gi_call_end(device);
    return ok;
}

bool glinfer_transcription_measure(struct glinfer_transcription *transcription, uint32_t n_position,
                                   uint32_t n_token, struct glinfer_speech_times *times,
                                   struct glinfer_error *err)
{
    struct gi_platform_saved saved;
    struct glinfer_speech_times full = {0};
    if (!GI_CHECK(err, GI_SET(transcription), GI_SET(times), GI_SIZED(times)) ||
        !gi_device_enter(transcription->device, &saved, err)) {
        return false;
    }
    struct glinfer_device *device = transcription->device;
    const bool ok = gi_transcription_measure(transcription, n_position, n_token, &full, err);
    gi_device_leave(device, &saved);
    if (ok) {
        gi_sized_give(times, &full, sizeof(full));
    }
    gi_call_end(device);
    return ok;
}

bool glinfer_transcription_poll(struct glinfer_transcription *transcription,
                                struct glinfer_transcript_event *event)
{
    return transcription && event && gi_transcriber_poll(transcription->transcriber, event);
}

uint64_t glinfer_transcription_time(const struct glinfer_transcription *transcription)
{
    return transcription ? gi_transcriber_time(transcription->transcriber) : 0;
}

void glinfer_transcription_cancel(struct glinfer_transcription *transcription)
{
    if (transcription) {
        gi_transcriber_cancel(transcription->transcriber);
    }
}

void glinfer_transcription_reset(struct glinfer_transcription *transcription)
{
    if (transcription) {
        gi_transcriber_reset(transcription->transcriber);
    }
}
