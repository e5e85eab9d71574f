// The layers of Qwen 3.5's mixtures, which Qwen3-Next shares.
#pragma once

#include "models/decoder_weights.h"

enum { GI_QWEN35_N_WEIGHTS = 5, GI_QWEN35_N_NORMS = 4, GI_QWEN35_N_LINEAR_NORMS = 6 };
// Hold the matrices of layers with attention, the norms of these, and of those with linear
// attention.
extern const struct gi_weight_spec gi_qwen35_expert_weights[GI_QWEN35_N_WEIGHTS];
extern const struct gi_norm_spec gi_qwen35_norms[GI_QWEN35_N_NORMS];
extern const struct gi_norm_spec gi_qwen35_linear_norms[GI_QWEN35_N_LINEAR_NORMS];

// Names the matrix by which a linear layer adds to the residual.
#define GI_QWEN35_LINEAR_OUT                                                                       \
    GI_WEIGHT_ONE(GI_SLOT_OUT, "attn_out", GI_WEIGHT_ORDER_PLAIN, GI_DIM_STATE, "ssm_out",         \
                  GI_DIM_EMBD, GI_NORM_FFN)

bool gi_qwen35_expert_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams);
void gi_qwen35_record_linear_layer(struct gi_graph *graph, uint32_t layer);
