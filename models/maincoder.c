// Maincoder: the Llama family's blocks with a norm of each head of q and k after the rotation.
#include "models/decoder_weights.h"

const struct gi_model_family gi_model_family_maincoder = {
    .name = "maincoder",
    .rope_pairing = GI_ROPE_PAIRING_ADJACENT,
    GI_WEIGHTS(gi_pre_norm_weights),
    GI_NORMS(gi_head_norm_norms),
    .record_layer = gi_turned_norm_record_layer,
};
