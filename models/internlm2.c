// InternLM 2 and 2.5: the Llama family's blocks.
#include "models/decoder_weights.h"

const struct gi_model_family gi_model_family_internlm2 = {
    .name = "internlm2",
    .rope_pairing = GI_ROPE_PAIRING_ADJACENT,
    GI_PRE_NORM_BLOCKS,
};
