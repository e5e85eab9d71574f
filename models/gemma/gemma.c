// Gemma, the first: the Llama family's blocks with GELU, heads wider than their share of the
// residual, and a scale of the embedding. The files' norm weights have the 1 added already.
#include "models/decoder_weights.h"

#include <math.h>

static bool read_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    (void)reader;
    hparams->embed_scale = sqrtf((float)hparams->n_embd);
    return true;
}

const struct gi_model_family gi_model_family_gemma = {
    .name = "gemma",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    .activation = GI_ACTIVATION_GELU_TANH,
    .read_hparams = read_hparams,
    GI_PRE_NORM_BLOCKS,
};
