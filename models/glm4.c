// GLM 4 (0414): a norm before and after either block, biases of q, k and v, gate and up in one
// tensor, and rotation of the first half of a head.
#include "models/decoder_weights.h"

static const struct gi_weight_spec weights[] = {
    GI_WEIGHT_QKV("attn_q", "attn_k", "attn_v"),
    GI_WEIGHT_OUT_NORMED,
    GI_WEIGHT_GATE_UP("ffn_up", "ffn_up"),
    GI_WEIGHT_DOWN_NORMED,
};

const struct gi_model_family gi_model_family_glm4 = {
    .name = "glm4",
    .rope_pairing = GI_ROPE_PAIRING_ADJACENT,
    GI_WEIGHTS(weights),
    GI_SANDWICH_BLOCKS,
};
