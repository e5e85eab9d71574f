// EXAONE 3 and 3.5: the Llama family's blocks, with rotary pairs that lie half a head apart.
#include "models/decoder_weights.h"

const struct gi_model_family gi_model_family_exaone = {
    .name = "exaone",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    GI_PRE_NORM_BLOCKS,
};
