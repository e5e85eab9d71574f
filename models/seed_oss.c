// Seed-OSS: the Llama family's blocks with a bias on q, k and v; the norm before the network bears
// the name of one after attention.
#include "models/decoder_weights.h"

static const struct gi_norm_spec norms[] = {
    {GI_NORM_ATTN, "blk.%u.attn_norm", GI_DIM_EMBD},
    {GI_NORM_FFN, "blk.%u.post_attention_norm", GI_DIM_EMBD},
};

const struct gi_model_family gi_model_family_seed_oss = {
    .name = "seed_oss",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    GI_WEIGHTS(gi_pre_norm_weights),
    GI_NORMS(norms),
    .record_layer = gi_pre_norm_record_layer,
};
