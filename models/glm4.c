// GLM 4 (0414): a norm before and after either block, biases of q, k and v, gate and up in one tensor, and
// rotation of the first half of a head.
#include "models/decoder_weights.h"
#include "models/families.h"

//-- hparams ---------------------------------------------------------------------------------------

static bool read_hparams(const struct gi_gguf *gguf, struct gi_hparams *hparams,
                         struct glinfer_error *err)
{
    hparams->rope_pairing = GI_ROPE_PAIRING_ADJACENT;
    return gi_hparams_read(gguf, "glm4", hparams, err);
}

//-- weights -------------------------------------------------------------------------------------

static const struct gi_weight_spec weights[] = {
    GI_WEIGHT_QKV("attn_q", "attn_k", "attn_v"),
    GI_WEIGHT_OUT(GI_NORM_NONE),
    GI_WEIGHT_GATE_UP("ffn_up", "ffn_up"),
    GI_WEIGHT_DOWN(GI_NORM_NONE),
};

const struct gi_model_family gi_model_family_glm4 = {
    .name = "glm4",
    .read_hparams = read_hparams,
    .weights = weights,
    .n_weights = sizeof(weights) / sizeof(weights[0]),
    .norms = gi_sandwich_norms,
    .n_norms = GI_SANDWICH_N_NORMS,
    .record_layer = gi_sandwich_record_layer,
};
