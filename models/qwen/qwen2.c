// Qwen 2 and 2.5, and the text of Qwen 2-VL and 2.5-VL: the Llama family's blocks with a bias on q,
// k and v, and rotary pairs that lie half a head apart.
#include "models/decoder_weights.h"

const struct gi_model_family gi_model_family_qwen2 = {
    .name = "qwen2",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    GI_PRE_NORM_BLOCKS,
};

// The sections of a rotation turn by places in a picture; those of text are alike.
const struct gi_model_family gi_model_family_qwen2vl = {
    .name = "qwen2vl",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    GI_PRE_NORM_BLOCKS,
};
