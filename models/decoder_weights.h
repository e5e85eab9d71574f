// Tables of weights that several families share, in the names that their files use.
#ifndef GI_MODELS_DECODER_WEIGHTS_H
#define GI_MODELS_DECODER_WEIGHTS_H

#include "graph/model_family.h"

// A matrix each for q, k, v, the attention's output, gate, up and down; a norm before either block. A
// fused kernel adds to the residual, so that the gamma of the norm that follows travels with it.
#define GI_PRE_NORM_N_WEIGHTS 4
#define GI_PRE_NORM_N_NORMS   2
extern const struct gi_weight_spec gi_pre_norm_weights[GI_PRE_NORM_N_WEIGHTS];
extern const struct gi_norm_spec gi_pre_norm_norms[GI_PRE_NORM_N_NORMS];

#endif
