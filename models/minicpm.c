// MiniCPM 1 and 2: the Llama family's blocks with scales of the embedding, of what blocks add to
// the residual, and of the logits. Early files do not have them: they are those of the first models
// then.
#include "models/decoder_weights.h"

#include <math.h>

static bool read_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    const float n_embd_base = 256.0f;
    float logit_divisor;
    if (!gi_hparams_f32(reader, "embedding_scale", 12.0f, &hparams->embed_scale) ||
        !gi_hparams_f32(reader, "residual_scale", 1.4f / sqrtf((float)hparams->n_layer),
                        &hparams->residual_scale) ||
        !gi_hparams_f32(reader, "logit_scale", (float)hparams->n_embd / n_embd_base,
                        &logit_divisor)) {
        return false;
    }
    hparams->logit_scale = 1.0f / logit_divisor;
    return true;
}

const struct gi_model_family gi_model_family_minicpm = {
    .name = "minicpm",
    .rope_pairing = GI_ROPE_PAIRING_ADJACENT,
    .read_hparams = read_hparams,
    GI_PRE_NORM_BLOCKS,
};
