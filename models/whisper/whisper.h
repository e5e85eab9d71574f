// Shared by both towers of a Whisper model.
#pragma once

#include "models/decoder_weights.h"

#define GI_WHISPER_ENCODER "whisper.encoder"
#define GI_WHISPER_DECODER "whisper.decoder"

// Reads the hyperparameters of either tower: layernorms, and positions instead of rotations.
static inline bool gi_whisper_hparams(const struct gi_hparams_reader *reader,
                                      struct gi_hparams *hparams)
{
    hparams->n_rot = 0;
    hparams->has_positions = true;
    return gi_layernorm_hparams(reader, hparams);
}
