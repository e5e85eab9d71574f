// Qwen 3, and the text of Qwen 3-VL: pre-norm blocks in which each head of q and k has a norm
// before its rotation; rotary pairs lie half a head apart.
#include "models/decoder_weights.h"

const struct gi_model_family gi_model_family_qwen3 = {
    .name = "qwen3",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    GI_WEIGHTS(gi_pre_norm_weights),
    GI_NORMS(gi_head_norm_norms),
    .record_layer = gi_head_norm_record_layer,
};

// The sections of a rotation turn by places in a picture; those of text are alike.
const struct gi_model_family gi_model_family_qwen3vl = {
    .name = "qwen3vl",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    GI_WEIGHTS(gi_pre_norm_weights),
    GI_NORMS(gi_head_norm_norms),
    .record_layer = gi_head_norm_record_layer,
};
