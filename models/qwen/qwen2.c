// Qwen 2 and 2.5: the Llama family's blocks with a bias on q, k and v, and rotary pairs that lie
// half a head apart.
#include "models/decoder_weights.h"

const struct gi_model_family gi_model_family_qwen2 = {
    .name = "qwen2",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    GI_PRE_NORM_BLOCKS,
};
