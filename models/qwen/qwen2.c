// Qwen 2 and 2.5: the Llama family's blocks with a bias on q, k and v, and rotary pairs that lie half a
// head apart.
#include "models/decoder_weights.h"
#include "models/families.h"

//-- hparams ---------------------------------------------------------------------------------------

static bool read_hparams(const struct gi_gguf *gguf, struct gi_hparams *hparams,
                         struct glinfer_error *err)
{
    hparams->rope_pairing = GI_ROPE_PAIRING_HALVES;
    return gi_hparams_read(gguf, "qwen2", hparams, err);
}

const struct gi_model_family gi_model_family_qwen2 = {
    .name = "qwen2",
    .read_hparams = read_hparams,
    .weights = gi_pre_norm_weights,
    .n_weights = GI_DECODER_N_WEIGHTS,
    .norms = gi_pre_norm_norms,
    .n_norms = GI_PRE_NORM_N_NORMS,
    .record_layer = gi_pre_norm_record_layer,
};
