// The Llama family: SmolLM2, TinyLlama, Llama 2 and 3 (with the RoPE factors of 3.1), Mistral and
// Mixtral. Pre-norm blocks of self-attention with grouped heads and a SwiGLU network; q and k rows
// of a GGUF file are ordered so that rotary pairs are adjacent.
#include "models/decoder_weights.h"

static const struct gi_model_family mixture = {
    .name = "llama",
    .rope_pairing = GI_ROPE_PAIRING_ADJACENT,
    GI_EXPERT_BLOCKS,
};

const struct gi_model_family gi_model_family_llama = {
    .name = "llama",
    .rope_pairing = GI_ROPE_PAIRING_ADJACENT,
    GI_PRE_NORM_BLOCKS,
    .with_experts = &mixture,
};
