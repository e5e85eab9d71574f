// The layers of Gemma 3, which EmbeddingGemma shares.
#pragma once

#include "models/decoder_weights.h"

enum { GI_GEMMA3_N_NORMS = 6 };
extern const struct gi_norm_spec gi_gemma3_norms[GI_GEMMA3_N_NORMS];

bool gi_gemma3_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams);
void gi_gemma3_record_layer(struct gi_graph *graph, uint32_t layer);
