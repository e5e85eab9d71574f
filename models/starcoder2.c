// StarCoder 2: layernorms, biases, and a network without a gate; rotary pairs lie half a head
// apart.
#include "models/decoder_weights.h"

const struct gi_model_family gi_model_family_starcoder2 = {
    .name = "starcoder2",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    .activation = GI_ACTIVATION_GELU_TANH,
    .read_hparams = gi_layernorm_hparams,
    GI_WEIGHTS(gi_ungated_weights),
    GI_NORMS(gi_layernorm_norms),
    .record_layer = gi_pre_norm_record_layer,
};
