// gpt-oss: mixtures of experts with biases whose factors are clamped, attention with a sink for
// each head, and a window in every other layer; rotary pairs lie half a head apart.
#include "models/decoder_weights.h"

static bool read_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    return gi_hparams_u32(reader, "attention.sliding_window", 128, &hparams->window) &&
           gi_hparams_window_period(reader, 2, hparams);
}

static const struct gi_norm_spec norms[] = {
    {GI_NORM_ATTN, "blk.%u.attn_norm", GI_DIM_EMBD},
    {GI_NORM_SINKS, "blk.%u.attn_sinks", GI_DIM_HEADS},
    {GI_NORM_FFN, "blk.%u.post_attention_norm", GI_DIM_EMBD},
};

const struct gi_model_family gi_model_family_gpt_oss = {
    .name = "gpt-oss",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    .activation = GI_ACTIVATION_CLAMPED,
    .read_hparams = read_hparams,
    .has_experts = true,
    GI_WEIGHTS(gi_expert_weights),
    GI_NORMS(norms),
    .record_layer = gi_expert_record_layer,
};
