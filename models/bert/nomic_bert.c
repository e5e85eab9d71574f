// Nomic Embed: BERT's layers with rotations in the place of positions, and a gated network.
#include "models/bert/bert_layer.h"

static const struct gi_weight_spec weights[] = {
    GI_WEIGHT_QKV("attn_q", "attn_k", "attn_v"),
    GI_WEIGHT_OUT(GI_NORM_NONE),
    GI_WEIGHT_GATE_UP("ffn_gate", "ffn_up"),
    GI_WEIGHT_DOWN(GI_NORM_NONE),
};

const struct gi_model_family gi_model_family_nomic_bert = {
    .name = "nomic-bert",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    .read_hparams = gi_bert_hparams,
    GI_WEIGHTS(weights),
    GI_NORMS(gi_bert_norms),
    .output_norm = "token_embd_norm",
    .record_layer = gi_bert_record_layer,
};
