// The towers of a speech model at work: a session of the encoder, which hears a window of sound,
// and sessions of the decoder, which write its text. The transcriber calls them as a network. Owned
// by a transcription. Functions that return errors need the context entered.
#pragma once

#include "engine/speech/speech_align.h"

struct gi_speech_towers {
    struct glinfer_error *failure; // borrowed; what a function that fails writes
    // Its functions fail with CONTEXT_FULL, GPU_LOST, GPU_FAULT, NO_MEMORY, DRIVER. The owner sets
    // write (engine/speech/speech_chain.h). encode disables decode_each and write if one of their
    // kernels is wrong on the device.
    struct gi_speech_net net;
    struct glinfer_session *encoder;
    struct glinfer_session *decoders[GI_MAX_ROWS];
    uint32_t n_decoder;
    uint32_t n_key; // positions that the encoder has heard; 0: nothing yet
    float *rows;    // of sound, as the GPU has them
    uint32_t epoch; // of the encoder's runner, when it began to hear; 0: nothing yet
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

// Reads n tokens but for the last, which a step is to read, at the place where the step begins, in
// a call that was entered.
enum gi_net_result gi_speech_read(struct gi_speech_towers *towers, uint32_t n_past,
                                  const uint32_t *tokens, uint32_t n);
