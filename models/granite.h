// Shared by Granite's families: the scales that their files have.
#pragma once

#include "models/decoder_weights.h"

// Reads the scales of the embedding, of attention's scores, of what blocks add to the residual and
// of the logits, and whether attention has rotations. Fails with BAD_FILE.
bool gi_granite_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams);
