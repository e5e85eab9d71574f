// ERNIE 4.5, the dense ones: the Llama family's blocks.
#include "models/decoder_weights.h"
#include "models/families.h"

//-- hparams ---------------------------------------------------------------------------------------

static bool read_hparams(const struct gi_gguf *gguf, struct gi_hparams *hparams,
                         struct glinfer_error *err)
{
    hparams->rope_pairing = GI_ROPE_PAIRING_ADJACENT;
    return gi_hparams_read(gguf, "ernie4_5", hparams, err);
}

const struct gi_model_family gi_model_family_ernie4_5 = {
    .name = "ernie4_5",
    .read_hparams = read_hparams,
    .weights = gi_pre_norm_weights,
    .n_weights = GI_DECODER_N_WEIGHTS,
    .norms = gi_pre_norm_norms,
    .n_norms = GI_PRE_NORM_N_NORMS,
    .record_layer = gi_pre_norm_record_layer,
};
