// Granite 3 and its mixtures of experts: the Llama family's blocks with scales of the embedding,
// the scores of attention, what blocks add to the residual, and the logits.
#include "models/granite.h"

bool gi_granite_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    float logit_divisor;
    bool has_rope;
    if (!gi_hparams_f32(reader, "embedding_scale", 1.0f, &hparams->embed_scale) ||
        !gi_hparams_f32(reader, "residual_scale", 1.0f, &hparams->residual_scale) ||
        !gi_hparams_f32(reader, "attention.scale", hparams->attention_scale,
                        &hparams->attention_scale) ||
        !gi_hparams_f32(reader, "logit_scale", 1.0f, &logit_divisor) ||
        !gi_hparams_bool(reader, "rope.scaling.finetuned", true, &has_rope)) {
        return false;
    }
    hparams->logit_scale = 1.0f / logit_divisor;
    hparams->n_rot = has_rope ? hparams->n_rot : 0;
    return true;
}

static bool read_expert_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    return gi_granite_hparams(reader, hparams) && gi_hparams_read_shared(reader, 0, hparams);
}

const struct gi_model_family gi_model_family_granite = {
    .name = "granite",
    .rope_pairing = GI_ROPE_PAIRING_ADJACENT,
    .read_hparams = gi_granite_hparams,
    GI_PRE_NORM_BLOCKS,
};

const struct gi_model_family gi_model_family_granitemoe = {
    .name = "granitemoe",
    .rope_pairing = GI_ROPE_PAIRING_ADJACENT,
    .read_hparams = read_expert_hparams,
    GI_EXPERT_BLOCKS,
};
