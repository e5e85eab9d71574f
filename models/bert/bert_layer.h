// The layers of BERT and of the encoders made after it: each block is followed by a layernorm of
// the residual, embeddings by one of their own, and tokens see the whole text.
#pragma once

#include "models/decoder_weights.h"

extern const struct gi_weight_spec gi_bert_weights[4]; // of a network without a gate
extern const struct gi_norm_spec gi_bert_norms[4];

// Reads what they have in common; positions are looked for in the file.
bool gi_bert_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams);
// Record attention with the layernorm that follows; a layer.
void gi_bert_record_attention(struct gi_graph *graph, uint32_t layer);
void gi_bert_record_layer(struct gi_graph *graph, uint32_t layer);
