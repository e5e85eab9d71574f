// OLMoE: a mixture of experts whose shares are of the softmax of all, with a norm of all of q and k
// and one before either block.
#include "models/decoder_weights.h"

static bool read_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    const struct gi_router_rule rule = {.gating = GI_GATING_ALL};
    return gi_hparams_read_router(reader, rule, hparams);
}

static const struct gi_norm_spec norms[] = {
    {GI_NORM_ATTN, "blk.%u.attn_norm", GI_DIM_EMBD},
    {GI_NORM_Q, "blk.%u.attn_q_norm", GI_DIM_Q},
    {GI_NORM_K, "blk.%u.attn_k_norm", GI_DIM_KV},
    {GI_NORM_FFN, "blk.%u.ffn_norm", GI_DIM_EMBD},
};

const struct gi_model_family gi_model_family_olmoe = {
    .name = "olmoe",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    .read_hparams = read_hparams,
    .has_experts = true,
    GI_WEIGHTS(gi_expert_weights),
    GI_NORMS(norms),
    .record_layer = gi_head_norm_expert_record_layer,
};
