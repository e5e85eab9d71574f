// StableLM 2 and 3B: the Llama family's blocks with layernorms, and rotation of the first part of a
// head.
#include "models/decoder_weights.h"

static bool read_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    return gi_hparams_f32(reader, "attention.layer_norm_epsilon", hparams->norm_eps,
                          &hparams->norm_eps);
}

// The 12B, whose two blocks run side by side, has no ffn_norm and is refused for the lack of it.
static const struct gi_norm_spec norms[] = {
    {GI_NORM_ATTN,       "blk.%u.attn_norm", GI_DIM_EMBD},
    {GI_NORM_ATTN_SHIFT, "blk.%u.attn_norm", GI_DIM_EMBD},
    {GI_NORM_FFN,        "blk.%u.ffn_norm",  GI_DIM_EMBD},
    {GI_NORM_FFN_SHIFT,  "blk.%u.ffn_norm",  GI_DIM_EMBD},
};

const struct gi_model_family gi_model_family_stablelm = {
    .name = "stablelm",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    .read_hparams = read_hparams,
    GI_WEIGHTS(gi_pre_norm_weights),
    GI_NORMS(norms),
    .record_layer = gi_pre_norm_record_layer,
};
