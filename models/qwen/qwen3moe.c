// Qwen 3's mixtures of experts, and the text of those of Qwen 3-VL: the attention of qwen3.c, and a
// router that takes a few of many small networks for each token.
#include "models/decoder_weights.h"

const struct gi_model_family gi_model_family_qwen3moe = {
    .name = "qwen3moe",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    .has_experts = true,
    GI_WEIGHTS(gi_expert_weights),
    GI_NORMS(gi_head_norm_norms),
    .record_layer = gi_head_norm_expert_record_layer,
};

const struct gi_model_family gi_model_family_qwen3vlmoe = {
    .name = "qwen3vlmoe",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    .has_experts = true,
    GI_WEIGHTS(gi_expert_weights),
    GI_NORMS(gi_head_norm_norms),
    .record_layer = gi_head_norm_expert_record_layer,
};
