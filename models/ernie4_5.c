// ERNIE 4.5, the dense ones: the Llama family's blocks.
#include "models/decoder_weights.h"

const struct gi_model_family gi_model_family_ernie4_5 = {
    .name = "ernie4_5",
    .rope_pairing = GI_ROPE_PAIRING_ADJACENT,
    GI_PRE_NORM_BLOCKS,
};
