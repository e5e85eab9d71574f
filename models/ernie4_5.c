// ERNIE 4.5: the Llama family's blocks. Mixtures have experts in all but their first layers, chosen
// by the softmax of all logits and a bias, and one that all tokens share.
#include "models/decoder_weights.h"

const struct gi_model_family gi_model_family_ernie4_5 = {
    .name = "ernie4_5",
    .rope_pairing = GI_ROPE_PAIRING_ADJACENT,
    GI_PRE_NORM_BLOCKS,
};

static bool read_expert_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    const struct gi_router_rule rule = {
        .gating = GI_GATING_ALL, .is_normalised = true, .has_bias = true};
    uint32_t step;
    if (!gi_hparams_u32(reader, "interleave_moe_layer_step", 1, &step)) {
        return false;
    }
    if (step != 1) {
        return GI_HPARAMS_FAIL(reader, UNSUPPORTED,
                               "experts in one of %u layers are not supported, only in all but "
                               "the first",
                               step);
    }
    return gi_hparams_read_shared(reader, 0, hparams) &&
           gi_hparams_read_router(reader, rule, hparams);
}

static const struct gi_norm_spec expert_norms[] = {
    {GI_NORM_ATTN, "blk.%u.attn_norm", GI_DIM_EMBD},
    {GI_NORM_FFN, "blk.%u.ffn_norm", GI_DIM_EMBD},
    {GI_NORM_ROUTER_BIAS, "blk.%u.exp_probs_b", GI_DIM_EXPERT},
};

const struct gi_model_family gi_model_family_ernie4_5_moe = {
    .name = "ernie4_5-moe",
    .rope_pairing = GI_ROPE_PAIRING_ADJACENT,
    .read_hparams = read_expert_hparams,
    .has_experts = true,
    GI_WEIGHTS(gi_expert_weights),
    GI_NORMS(expert_norms),
    .record_layer = gi_expert_record_layer,
    .leading = &gi_model_family_ernie4_5,
};
