// Phi 3 and 4: the Llama family's blocks with q, k and v in one tensor, and gate and up in another. Phi 4
// mini turns a part of a head only; contexts that were stretched have longrope's factors. Phi 3's sliding
// window is left out, as llama.cpp leaves it out: its files say neither how wide it is nor in which layers.
#include "models/decoder_weights.h"
#include "models/families.h"

//-- hparams ---------------------------------------------------------------------------------------

static bool read_hparams(const struct gi_gguf *gguf, struct gi_hparams *hparams,
                         struct glinfer_error *err)
{
    hparams->rope_pairing = GI_ROPE_PAIRING_HALVES;
    return gi_hparams_read(gguf, "phi3", hparams, err);
}

//-- weights -------------------------------------------------------------------------------------

static const struct gi_weight_spec weights[] = {
    GI_WEIGHT_QKV("attn_qkv", "attn_qkv", "attn_qkv"),
    GI_WEIGHT_OUT(GI_NORM_FFN),
    GI_WEIGHT_GATE_UP("ffn_up", "ffn_up"),
    GI_WEIGHT_DOWN(GI_NORM_NEXT),
};

const struct gi_model_family gi_model_family_phi3 = {
    .name = "phi3",
    .read_hparams = read_hparams,
    .weights = weights,
    .n_weights = sizeof(weights) / sizeof(weights[0]),
    .norms = gi_pre_norm_norms,
    .n_norms = GI_PRE_NORM_N_NORMS,
    .record_layer = gi_pre_norm_record_layer,
};
