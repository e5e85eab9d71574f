// The towers of a speech model at work: a session of the encoder, which hears a window of sound,
// and sessions of the decoder, which write its text. Owned by a transcription. Functions that
// return errors need the context entered.
#pragma once

#include "engine/speech/speech_align.h"

struct gi_speech_towers {
    struct glinfer_error *failure; // borrowed; what a function that fails writes
    struct glinfer_session *encoder;
    struct glinfer_session *decoders[GI_MAX_ROWS];
    uint32_t n_decoder;
    bool has_chains; // decoder 0 writes greedy texts in chains (engine/speech/speech_chain.h)
    uint32_t n_key;  // positions that the encoder has heard; 0: nothing yet
    float *rows;     // of sound, as the GPU has them
    uint32_t epoch;  // of the encoder's runner, when it began to hear; 0: nothing yet
    struct gi_speech_align align;
    struct gi_speech_call call; // that is in progress, and how long a step may take
};

// Creates the sessions, n of the decoder; the context is not entered. Fails as
// glinfer_session_create does; sessions that are not complete are marked as destroyed.
bool gi_speech_towers_create(struct gi_speech_towers *towers, struct glinfer_model *model,
                             uint32_t n_decoder, struct glinfer_error *failure);
// Marks the sessions as destroyed. Accepts all-zero.
void gi_speech_towers_finish(struct gi_speech_towers *towers);

// Returns true once if the device was recovered since the encoder began to hear: its keys and the
// call in progress are gone.
bool gi_speech_was_lost(struct gi_speech_towers *towers);
// Makes all lists ready before the first window, since the self-test of a list uses the memory of
// others. Fails as gi_tables_prepare does.
bool gi_speech_prepare(struct gi_speech_towers *towers);

// Returns true if the decoders take steps together. Otherwise there is one, or a kernel of these
// steps is wrong on the device.
bool gi_speech_is_joint(const struct gi_speech_towers *towers);

// The calls of struct gi_speech_net: BUSY if the time of a step ends before.
// Encodes n_frame frames of the scaled log-mel spectrogram, (n_frame, n_mel); n_frame is even and
// at most twice the encoder's context. Fails with GPU_LOST, NO_MEMORY, DRIVER, CANCELLED.
enum gi_net_result gi_speech_encode(struct gi_speech_towers *towers, const float *mel,
                                    uint32_t n_frame);
// Appends n tokens to a decoder's text, of which n_past tokens are kept, and writes the logits
// after the last one, (n_vocab). Fails as gi_speech_encode does, and with
// CONTEXT_FULL, GPU_FAULT.
enum gi_net_result gi_speech_decode(struct gi_speech_towers *towers, uint32_t decoder,
                                    uint32_t n_past, const uint32_t *tokens, uint32_t n,
                                    float *logits);
// Appends a token to each of n decoders' texts of n_past tokens, in one step, and writes the logits
// after it to logits[i], (n_vocab). gi_speech_is_joint. Fails as gi_speech_decode does.
enum gi_net_result gi_speech_decode_each(struct gi_speech_towers *towers, const uint32_t *decoders,
                                         uint32_t n, uint32_t n_past, const uint32_t *tokens,
                                         float *const *logits);
// Reads n tokens but for the last, which a step is to read, at the place where the step begins, in
// a call that was entered.
enum gi_net_result gi_speech_read(struct gi_speech_towers *towers, uint32_t n_past,
                                  const uint32_t *tokens, uint32_t n);
// Makes n tokens the text of a decoder, for gi_speech_weigh. Fails as gi_speech_decode does, and
// with NO_MEMORY.
enum gi_net_result gi_speech_attend(struct gi_speech_towers *towers, uint32_t decoder,
                                    const uint32_t *tokens, uint32_t n);
// Writes the weights of one head of cross-attention for the tokens of gi_speech_attend, (n, n_key).
// Fails with NO_MEMORY, GPU_LOST, DRIVER.
bool gi_speech_weigh(struct gi_speech_towers *towers, uint32_t decoder, uint32_t layer,
                     uint32_t head, float *weights);
