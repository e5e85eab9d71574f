// Qwen 2's mixtures of experts: the attention of qwen2.c, experts whose shares are of the softmax
// of all, and one that all tokens take, by a share of its own.
#include "models/decoder_weights.h"

static bool read_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    const struct gi_router_rule rule = {.gating = GI_GATING_ALL, .has_shared_gate = true};
    return gi_hparams_read_shared(reader, hparams->n_ff, hparams) &&
           gi_hparams_read_router(reader, rule, hparams);
}

const struct gi_model_family gi_model_family_qwen2moe = {
    .name = "qwen2moe",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    .read_hparams = read_hparams,
    .has_experts = true,
    GI_WEIGHTS(gi_gated_expert_weights),
    GI_NORMS(gi_pre_norm_norms),
    .record_layer = gi_expert_record_layer,
};
