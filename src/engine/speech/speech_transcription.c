#include "engine/speech/speech_transcription.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/round.h"
#include "engine/speech/speech_chain.h"
#include "speech/vad.h"

#include <stdlib.h>
#include <string.h>

//-- life ------------------------------------------------------------------------------------------

static bool read_vad(struct glinfer_transcription *self, const struct glinfer_source *source)
{
    if (!source) {
        return true;
    }
    struct gi_gguf *file = gi_gguf_open(source, &self->failure);
    self->vad = file ? gi_vad_create(file, &self->failure) : NULL;
    gi_gguf_close(file);
    return self->vad;
}

// Returns the texts that are decoded beside each other.
static uint32_t count_texts(const struct glinfer_transcription_params *params)
{
    const bool is_random =
        params->temperature > 0 || (params->temperature_step > 0 && !params->is_live);
    const uint32_t n =
        is_random && params->best_of > params->beam_size ? params->best_of : params->beam_size;
    return n < GI_MAX_ROWS ? n : GI_MAX_ROWS;
}

// Makes all programs ready, so that no step waits for them.
static bool make_ready(struct glinfer_transcription *self)
{
    struct gi_platform_saved saved;
    if (!gi_device_enter(self->device, &saved, &self->failure)) {
        return false;
    }
    const bool ok = gi_speech_prepare(&self->towers);
    gi_device_leave(self->device, &saved);
    return ok;
}

struct glinfer_transcription *
gi_transcription_create(struct glinfer_model *model,
                        const struct glinfer_transcription_params *params,
                        const struct glinfer_source *vad, struct glinfer_error *err)
{
    struct glinfer_transcription *self =
        gi_transcriber_check(params, err)
            ? gi_array_zeroed(1, sizeof(*self), "a transcription", err)
            : NULL;
    if (!self) {
        return NULL;
    }
    self->device = model->device;
    const bool ok =
        read_vad(self, vad) &&
        gi_speech_towers_create(&self->towers, model, count_texts(params), &self->failure);
    self->towers.net.write = gi_speech_write;
    if (ok && make_ready(self)) {
        const struct gi_transcriber_inputs inputs = {&self->towers.net, model->speech.mel,
                                                     model->speech.text, self->vad};
        self->transcriber = gi_transcriber_create(&inputs, params, &self->failure);
    }
    if (!self->transcriber) {
        gi_error_pass(err, &self->failure);
        gi_transcription_destroy(self);
        return NULL;
    }
    return self;
}

void gi_transcription_destroy(struct glinfer_transcription *transcription)
{
    gi_transcriber_destroy(transcription->transcriber);
    gi_speech_towers_finish(&transcription->towers);
    gi_vad_destroy(transcription->vad);
    free(transcription);
}

//-- work ------------------------------------------------------------------------------------------

// GPU time of a submission of a step.
#define LEAST_BOX_NS UINT64_C(1000000)
#define MOST_BOX_NS  UINT64_C(8000000)

static uint64_t choose_box(uint64_t budget_ns)
{
    const uint64_t most = budget_ns > MOST_BOX_NS ? MOST_BOX_NS : budget_ns;
    return budget_ns == 0 ? 0 : gi_max_u64(most, LEAST_BOX_NS);
}

bool gi_transcription_step(struct glinfer_transcription *transcription, uint32_t budget_us,
                           enum glinfer_transcription_state *state, struct glinfer_error *err)
{
    const uint64_t budget_ns = UINT64_C(1000) * budget_us, end = gi_clock_ns() + budget_ns;
    bool ok = true;
    if (gi_speech_was_lost(&transcription->towers)) {
        gi_transcriber_repeat(transcription->transcriber);
    }
    transcription->towers.call.pause_ns = budget_us > 0 ? end : 0;
    transcription->towers.call.budget_ns = choose_box(budget_ns);
    do {
        ok = gi_transcriber_step(transcription->transcriber, state, err);
    } while (ok && *state == GLINFER_TRANSCRIPTION_WORKS &&
             (budget_us == 0 || gi_clock_ns() < end));
    return ok;
}

// Encodes silence; 0 positions: all, unless they are encoded already.
static bool measure_encoder(struct glinfer_transcription *self, uint32_t n_position)
{
    const struct gi_speech_net *net = &self->towers.net;
    const uint32_t n = n_position > 0 ? n_position : net->n_audio_ctx;
    if (n > net->n_audio_ctx) {
        return gi_error_set(&self->failure, GLINFER_STATUS_CONTEXT_FULL,
                            "%u positions do not fit the %u that the encoder can hear", n,
                            net->n_audio_ctx);
    }
    if (n_position == 0 && self->towers.n_key == n) {
        return true;
    }
    float *mel =
        gi_array_zeroed((size_t)2 * n * net->n_mel, sizeof(*mel), "a spectrogram", &self->failure);
    const bool ok = mel && net->encode(net->user, mel, 2 * n) == GI_NET_DONE &&
                    gi_runner_wait(&self->towers.encoder->runner, &self->failure);
    free(mel);
    return ok;
}

bool gi_transcription_measure(struct glinfer_transcription *transcription, uint32_t n_position,
                              uint32_t n_token, struct glinfer_speech_times *times,
                              struct glinfer_error *err)
{
    enum { N_START = 4 }; // tokens before the first of a text
    const uint32_t start[N_START] = {0};
    const struct gi_speech_net *net = &transcription->towers.net;
    const uint64_t begin = gi_clock_ns();
    float *logits = gi_array_zeroed(net->n_vocab, sizeof(*logits), "the logits of a step",
                                    &transcription->failure);
    // Not divided, as a step may be.
    transcription->towers.call = (struct gi_speech_call){.failure = &transcription->failure};
    bool ok = logits && measure_encoder(transcription, n_position);
    const uint64_t encoded = gi_clock_ns();
    for (uint32_t i = 0, n_past = 0; ok && i < n_token; i++) {
        const uint32_t n = i == 0 ? N_START : 1;
        ok = net->decode(net->user, 0, n_past, start, n, logits) == GI_NET_DONE;
        n_past += n;
    }
    free(logits);
    times->encode_ms = n_position > 0 ? (double)(encoded - begin) / 1e6 : 0;
    times->decode_ms = (double)(gi_clock_ns() - encoded) / 1e6;
    return ok || gi_error_pass(err, &transcription->failure);
}
