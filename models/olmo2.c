// OLMo 2 and 3: no norm before the blocks, one after each, and one over all of q and of k. OLMo 3
// has a window in three of four layers, where the stretched context's rotations do not hold.
#include "models/decoder_weights.h"

static bool read_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    hparams->window_rope = (struct gi_rope_hparams){.divisor = 1.0f, .magnitude = 1.0f};
    if (!gi_hparams_u32(reader, "attention.sliding_window", 0, &hparams->window) ||
        !gi_hparams_window_period(reader, 4, hparams) ||
        !gi_hparams_f32(reader, "rope.freq_base_swa", hparams->rope.base,
                        &hparams->window_rope.base)) {
        return false;
    }
    hparams->has_window_rope = hparams->window > 0;
    return true;
}

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
    .read_hparams = read_hparams,
    GI_WEIGHTS(gi_post_norm_weights),
    GI_NORMS(norms),
    .record_layer = record_layer,
};
