// Arcee's AFM: the Llama family's blocks with a network that has no gate, whose activation is the
// square of a ReLU.
#include "models/decoder_weights.h"

const struct gi_model_family gi_model_family_arcee = {
    .name = "arcee",
    .rope_pairing = GI_ROPE_PAIRING_ADJACENT,
    .activation = GI_ACTIVATION_RELU_SQUARED,
    GI_WEIGHTS(gi_ungated_weights),
    GI_NORMS(gi_pre_norm_norms),
    .record_layer = gi_pre_norm_record_layer,
};
