// Keys of config.json that change the maths and that the engine computes in one way alone: a family
// has a row for each, and a folder with another value is refused by name.
#pragma once

#include "hf/hf_build.h"

// Rows that families share.
// clang-format off
#define GI_HF_SILU       {"hidden_act", "silu|swish"}
#define GI_HF_GELU_TANH  {"hidden_activation", "gelu_pytorch_tanh"}
#define GI_HF_BIASES     {"attention_bias", "layers.0.self_attn.q_proj.bias"}
#define GI_HF_NO_BIASES  {"attention_bias", "false"}
#define GI_HF_WHOLE_ROPE                                                                           \
    {"partial_rotary_factor", "1"}, {"rope_parameters.partial_rotary_factor", "1"},                \
    {"rope_scaling.partial_rotary_factor", "1"}
// For families whose rotations are never scaled.
#define GI_HF_PLAIN_ROPE                                                                           \
    {"rope_scaling.rope_type", "default"}, {"rope_scaling.type", "default"},                       \
    {"rope_parameters.rope_type", "default"}, {"rope_parameters.type", "default"},                 \
    {"rope_parameters.full_attention.rope_type", "default"}
#define GI_HF_PLAIN_WINDOW_ROPE {"rope_parameters.sliding_attention.rope_type", "default"}
#define GI_HF_WINDOWS           {"layer_types", "full_attention|sliding_attention"}
// For mixtures whose layers all have experts.
#define GI_HF_ALL_EXPERTS       {"decoder_sparse_step", "1"}, {"mlp_only_layers", ""}
// clang-format on

// Fails with UNSUPPORTED at the first row whose key has another value than its words, or a list
// with such an element; BAD_FILE where the key is true and the folder lacks the tensor, or false
// and it has it. A key that is absent, with its default, or null passes.
void gi_hf_check_fixed(struct gi_hf_build *b, const struct gi_hf_fixed *rows);
