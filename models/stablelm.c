// StableLM 2 and 3B: the Llama family's blocks with layernorms, and rotation of the first part of a
// head.
#include "models/decoder_weights.h"

// The 12B, whose two blocks run side by side, has no ffn_norm and is refused for the lack of it.

const struct gi_model_family gi_model_family_stablelm = {
    .name = "stablelm",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    .read_hparams = gi_layernorm_hparams,
    GI_WEIGHTS(gi_pre_norm_weights),
    GI_NORMS(gi_layernorm_norms),
    .record_layer = gi_pre_norm_record_layer,
};
