// What several families share: tables of weights in the names that their files use, and the plainest of layers.
#ifndef GI_MODELS_DECODER_WEIGHTS_H
#define GI_MODELS_DECODER_WEIGHTS_H

#include "graph/model_family.h"

// A matrix each for q, k, v, the attention's output, gate, up and down.
#define GI_DECODER_N_WEIGHTS 4
// With a norm before either block: what adds to the residual carries the gamma of the norm that follows.
extern const struct gi_weight_spec gi_pre_norm_weights[GI_DECODER_N_WEIGHTS];
// With a norm after either block, which a kernel of its own works out.
extern const struct gi_weight_spec gi_post_norm_weights[GI_DECODER_N_WEIGHTS];

// With a norm before either block and a mixture of experts for the feed-forward network.
#define GI_EXPERT_N_WEIGHTS 5
extern const struct gi_weight_spec gi_expert_weights[GI_EXPERT_N_WEIGHTS];

// The norms before the blocks.
#define GI_PRE_NORM_N_NORMS 2
extern const struct gi_norm_spec gi_pre_norm_norms[GI_PRE_NORM_N_NORMS];

// A layer of both: attention, then the feed-forward network.
bool gi_pre_norm_record_layer(struct gi_graph *graph, uint32_t layer, struct glinfer_error *err);

// What follows q, k and v in a layer with a norm after either block; before is the feed-forward network's, or
// GI_NORM_NONE.
bool gi_post_norm_record_rest(struct gi_graph *graph, uint32_t layer, enum gi_norm before,
                              struct glinfer_error *err);

#endif
