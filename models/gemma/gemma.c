// Gemma, the first: the Llama family's blocks with GELU, heads wider than their share of the residual, and a
// scale of the embedding. The files' norm weights have the 1 added already.
#include "models/decoder_weights.h"
#include "models/families.h"

#include <math.h>

//-- hparams ---------------------------------------------------------------------------------------

static bool read_hparams(const struct gi_gguf *gguf, struct gi_hparams *hparams,
                         struct glinfer_error *err)
{
    hparams->rope_pairing = GI_ROPE_PAIRING_HALVES;
    hparams->activation = GI_ACTIVATION_GELU_TANH;
    if (!gi_hparams_read(gguf, "gemma", hparams, err)) {
        return false;
    }
    hparams->embed_scale = sqrtf((float)hparams->n_embd);
    return true;
}

const struct gi_model_family gi_model_family_gemma = {
    .name = "gemma",
    .read_hparams = read_hparams,
    .weights = gi_pre_norm_weights,
    .n_weights = GI_DECODER_N_WEIGHTS,
    .norms = gi_pre_norm_norms,
    .n_norms = GI_PRE_NORM_N_NORMS,
    .record_layer = gi_pre_norm_record_layer,
};
