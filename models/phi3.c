// Phi 3 and 4: the Llama family's blocks with q, k and v in one tensor, and gate and up in another.
// Phi 4 mini rotates a part of a head only; contexts that were stretched have longrope's factors.
// Phi 3's sliding window is left out, as llama.cpp leaves it out: its files say neither how wide it
// is nor in which layers.
#include "models/decoder_weights.h"

static const struct gi_weight_spec weights[] = {
    GI_WEIGHT_QKV("attn_qkv", "attn_qkv", "attn_qkv"),
    GI_WEIGHT_OUT(GI_NORM_FFN),
    GI_WEIGHT_GATE_UP("ffn_up", "ffn_up"),
    GI_WEIGHT_DOWN(GI_NORM_NEXT),
};

const struct gi_model_family gi_model_family_phi3 = {
    .name = "phi3",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    GI_WEIGHTS(weights),
    GI_NORMS(gi_pre_norm_norms),
    .record_layer = gi_pre_norm_record_layer,
};
