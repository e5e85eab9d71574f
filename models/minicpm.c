// MiniCPM 1 and 2: the Llama family's blocks with scales of the embedding, of what blocks add to the residual,
// and of the logits. Early files do not say them: they are those that the first models were trained with.
#include "models/decoder_weights.h"
#include "models/families.h"

#include <math.h>

//-- hparams ---------------------------------------------------------------------------------------

static bool read_hparams(const struct gi_gguf *gguf, struct gi_hparams *hparams,
                         struct glinfer_error *err)
{
    const char *const prefix = "minicpm";
    const float n_embd_base = 256.0f;
    float logit_divisor;
    hparams->rope_pairing = GI_ROPE_PAIRING_ADJACENT;
    if (!gi_hparams_read(gguf, prefix, hparams, err) ||
        !gi_hparams_f32(gguf, prefix, "embedding_scale", 12.0f, &hparams->embed_scale, err) ||
        !gi_hparams_f32(gguf, prefix, "residual_scale", 1.4f / sqrtf((float)hparams->n_layer),
                        &hparams->residual_scale, err) ||
        !gi_hparams_f32(gguf, prefix, "logit_scale", (float)hparams->n_embd / n_embd_base,
                        &logit_divisor, err)) {
        return false;
    }
    hparams->logit_scale = 1.0f / logit_divisor;
    return true;
}

const struct gi_model_family gi_model_family_minicpm = {
    .name = "minicpm",
    .read_hparams = read_hparams,
    .weights = gi_pre_norm_weights,
    .n_weights = GI_DECODER_N_WEIGHTS,
    .norms = gi_pre_norm_norms,
    .n_norms = GI_PRE_NORM_N_NORMS,
    .record_layer = gi_pre_norm_record_layer,
};
