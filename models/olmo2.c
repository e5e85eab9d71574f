// OLMo 2 and 3: no norm before the blocks, one after each, and one over all of q and of k. OLMo 3
// has a window in three of four layers, where the stretched context's rotations do not hold.
#include "models/decoder_weights.h"

static const struct gi_norm_spec norms[] = {
    {GI_NORM_Q, "blk.%u.attn_q_norm", GI_DIM_Q},
    {GI_NORM_K, "blk.%u.attn_k_norm", GI_DIM_KV},
    {GI_NORM_ATTN_POST, "blk.%u.post_attention_norm", GI_DIM_EMBD},
    {GI_NORM_FFN_POST, "blk.%u.post_ffw_norm", GI_DIM_EMBD},
};

static void record_layer(struct gi_graph *graph, uint32_t layer)
{
    gi_graph_qkv_norm(graph, layer, GI_NORM_NONE, gi_layer_rope(graph, layer));
    gi_post_norm_record_rest(graph, layer, GI_NORM_NONE);
}

const struct gi_model_family gi_model_family_olmo2 = {
    .name = "olmo2",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    .read_hparams = gi_plain_window_hparams,
    GI_WEIGHTS(gi_post_norm_weights),
    GI_NORMS(norms),
    .record_layer = record_layer,
};
