// Hunyuan, dense and mixtures of experts with one that all tokens share: the blocks of the Llama
// family with a norm of each head of q and k after the rotation; the elements of a rotary pair are
// half a head apart.
#include "models/decoder_weights.h"

const struct gi_model_family gi_model_family_hunyuan_dense = {
    .name = "hunyuan-dense",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    GI_WEIGHTS(gi_pre_norm_weights),
    GI_NORMS(gi_head_norm_norms),
    .record_layer = gi_turned_norm_record_layer,
};

static bool read_expert_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    return gi_hparams_read_shared(reader, hparams->n_ff, hparams);
}

const struct gi_model_family gi_model_family_hunyuan_moe = {
    .name = "hunyuan-moe",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    .read_hparams = read_expert_hparams,
    .has_experts = true,
    GI_WEIGHTS(gi_expert_weights),
    GI_NORMS(gi_head_norm_norms),
    .record_layer = gi_turned_norm_expert_record_layer,
};
