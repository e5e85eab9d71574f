// Keys of config.json that families read layer by layer, and sizes of families whose layers
// differ, which gi_hf_add_decoder does not take.
#pragma once

#include "hf/hf_build.h"

enum { GI_HF_MAX_LAYERS = 512 };

struct gi_hf_layers {
    uint32_t count;
    bool is[GI_HF_MAX_LAYERS];
};

// Returns num_hidden_layers. Fails with BAD_FILE if that is not 1 to GI_HF_MAX_LAYERS.
uint32_t gi_hf_layer_count(struct gi_hf_build *b);
// Finds the layers of kinds, words separated by '|', in layer_types. Returns false without it and
// after a failure. Fails with BAD_FILE if it is not a list of num_hidden_layers texts.
bool gi_hf_read_layers(struct gi_hf_build *b, const char *kinds, struct gi_hf_layers *layers);
// Adds attention.sliding_window_pattern unless the layers with a window, of layer_types or else
// where each period has one without, are those of the engine: all but the last of usual_period
// layers, or the first of them. Returns true if it is added. is_first: the layer without one is the
// first of its period.
bool gi_hf_add_windows(struct gi_hf_build *b, uint32_t period, uint32_t usual_period,
                       bool is_first);
// Sets n_window to sliding_window unless use_sliding_window is false, for a family whose layers
// have windows that the engine does not compute.
void gi_hf_limit_context(struct gi_hf_build *b);
// Adds a pair: value for layers that are, other for layers that are not.
void gi_hf_add_layer_u32s(struct gi_hf_build *b, const char *key, const struct gi_hf_layers *layers,
                          uint32_t value, uint32_t other);
// Adds block_count, embedding_length, attention.head_count, vocab_size and
// attention.layer_norm_rms_epsilon, of rms_norm_eps or norm_eps.
void gi_hf_add_sizes(struct gi_hf_build *b);
// Adds attention.key_length and attention.value_length.
void gi_hf_add_head_dim(struct gi_hf_build *b, uint32_t head_dim);
// Return the base of rotations, of layers without and with a window, wherever config.json has it.
float gi_hf_rope_base(struct gi_hf_build *b, float fallback);
float gi_hf_window_base(struct gi_hf_build *b, float fallback);
// Adds expert_shared_feed_forward_length of shared_expert_intermediate_size. Fails with BAD_FILE if
// that is 0, as the shared expert would be left out.
void gi_hf_add_shared_expert(struct gi_hf_build *b);
// Adds pairs of experts: expert_count, expert_used_count.
void gi_hf_add_experts(struct gi_hf_build *b, const char *count_key);
