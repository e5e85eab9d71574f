// glinfer_transcription: the towers of a speech model, the network that detects speech, and the
// transcriber (speech/transcriber.h), which calls them. Keeps its model alive through the sessions
// of the towers.
#pragma once

#include "engine/speech/speech_towers.h"
#include "speech/transcriber.h"

struct glinfer_transcription {
    struct glinfer_device *device; // borrowed
    struct glinfer_error failure;  // of the call in progress
    struct gi_speech_towers towers;
    struct gi_vad *vad; // NULL: none
    struct gi_transcriber *transcriber;
};

// Creates a transcription from whole params. Fails as glinfer_transcription_create does.
struct glinfer_transcription *
gi_transcription_create(struct glinfer_model *model,
                        const struct glinfer_transcription_params *params,
                        const struct glinfer_source *vad, struct glinfer_error *err);
// Destroys it; its sessions are marked as destroyed.
void gi_transcription_destroy(struct glinfer_transcription *transcription);
// Works for about budget_us microseconds. The context is entered.
bool gi_transcription_step(struct glinfer_transcription *transcription, uint32_t budget_us,
                           enum glinfer_transcription_state *state, struct glinfer_error *err);
// Fills *times as glinfer_transcription_measure does. The context is entered.
bool gi_transcription_measure(struct glinfer_transcription *transcription, uint32_t n_position,
                              uint32_t n_token, struct glinfer_speech_times *times,
                              struct glinfer_error *err);
