#include "engine/speech/speech_transcription.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/round.h"
#include "engine/session/cache_rows.h"
#include "engine/speech/speech_chain.h"
#include "speech/mel.h"
#include "speech/vad.h"

#include <stdlib.h>
#include <string.h>

//-- the network -----------------------------------------------------------------------------------

static enum gi_net_result encode(void *user, const float *mel, uint32_t n_frame)
{
    struct glinfer_transcription *self = user;
    return gi_speech_encode(&self->towers, mel, n_frame);
}

static enum gi_net_result decode(void *user, uint32_t seq, uint32_t n_past, const uint32_t *tokens,
                                 uint32_t n, float *logits)
{
    struct glinfer_transcription *self = user;
    return gi_speech_decode(&self->towers, seq, n_past, tokens, n, logits);
}

static enum gi_net_result decode_each(void *user, const uint32_t *seqs, uint32_t n, uint32_t n_past,
                                      const uint32_t *tokens, float *const *logits)
{
    struct glinfer_transcription *self = user;
    return gi_speech_decode_each(&self->towers, seqs, n, n_past, tokens, logits);
}

static enum gi_net_result write(void *user, const struct gi_net_text *text,
                                struct gi_whisper_token out[GI_NET_TOKENS], uint32_t *n_out,
                                float *no_speech)
{
    struct glinfer_transcription *self = user;
    return gi_speech_write(&self->towers, text, out, n_out, no_speech);
}

static bool copy(void *user, uint32_t to, uint32_t from, uint32_t n_past)
{
    struct glinfer_transcription *self = user;
    struct glinfer_session *const *sessions = self->towers.decoders;
    return gi_cache_rows_copy(&sessions[to]->sequence, &sessions[from]->sequence,
                              &self->model->hparams, n_past, self->device->gpu, &self->failure);
}

static enum gi_net_result attend(void *user, const uint32_t *tokens, uint32_t n)
{
    struct glinfer_transcription *self = user;
    return gi_speech_attend(&self->towers, 0, tokens, n);
}

static bool align(void *user, uint32_t layer, uint32_t head, float *weights)
{
    struct glinfer_transcription *self = user;
    return gi_speech_weigh(&self->towers, 0, layer, head, weights);
}

static void drop(void *user)
{
    struct glinfer_transcription *self = user;
    if (self->towers.call.session) {
        gi_speech_call_leave(&self->towers.call, GI_NET_FAILED);
    }
}

static void describe_net(struct glinfer_transcription *self)
{
    const struct gi_hparams *decoder = &self->model->hparams;
    const struct gi_hparams *encoder = &self->model->encoder->hparams;
    self->net = (struct gi_speech_net){
        .user = self,
        .failure = &self->failure,
        .n_vocab = decoder->n_vocab,
        .n_mel = encoder->n_sound,
        .n_audio_ctx = encoder->n_ctx_train,
        .n_text_ctx = decoder->n_ctx_train,
        .n_layer = decoder->n_layer / 2,
        .n_head = decoder->n_head,
        .n_seq = self->towers.n_decoder,
        .drop = drop,
        .encode = encode,
        .decode = decode,
        .decode_each = gi_speech_is_joint(&self->towers) ? decode_each : NULL,
        .write = self->towers.has_chains ? write : NULL,
        .copy = copy,
        .attend = attend,
        .align = align,
    };
}

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
    self->model = model;
    if (read_vad(self, vad) &&
        gi_speech_towers_create(&self->towers, model, count_texts(params), &self->failure) &&
        make_ready(self)) {
        describe_net(self);
        const struct gi_transcriber_inputs inputs = {&self->net, model->speech.mel,
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
    const struct gi_speech_net *net = &self->net;
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
    const bool ok = mel && gi_speech_encode(&self->towers, mel, 2 * n) == GI_NET_DONE &&
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
    const uint64_t begin = gi_clock_ns();
    float *logits = gi_array_zeroed(transcription->net.n_vocab, sizeof(*logits),
                                    "the logits of a step", &transcription->failure);
    // Not divided, as a step may be.
    transcription->towers.call = (struct gi_speech_call){.failure = &transcription->failure};
    bool ok = logits && measure_encoder(transcription, n_position);
    const uint64_t encoded = gi_clock_ns();
    for (uint32_t i = 0, n_past = 0; ok && i < n_token; i++) {
        const uint32_t n = i == 0 ? N_START : 1;
        ok = gi_speech_decode(&transcription->towers, 0, n_past, start, n, logits) == GI_NET_DONE;
        n_past += n;
    }
    free(logits);
    times->encode_ms = n_position > 0 ? (double)(encoded - begin) / 1e6 : 0;
    times->decode_ms = (double)(gi_clock_ns() - encoded) / 1e6;
    return ok || gi_error_pass(err, &transcription->failure);
}
