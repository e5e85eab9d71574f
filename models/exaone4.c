// EXAONE 4: no norm before the blocks, one after each, and one of each head of q and k. The 32B has
// a window in three of four layers and rotates only these.
#include "models/decoder_weights.h"

static bool read_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    enum { N_LAYER_32B = 64 };
    return hparams->n_layer != N_LAYER_32B ||
           (gi_hparams_u32(reader, "attention.sliding_window", 4096, &hparams->window) &&
            gi_hparams_window_period(reader, 4, hparams));
}

static const struct gi_norm_spec norms[] = {
    {GI_NORM_Q, "blk.%u.attn_q_norm", GI_DIM_HEAD},
    {GI_NORM_K, "blk.%u.attn_k_norm", GI_DIM_HEAD},
    {GI_NORM_ATTN_POST, "blk.%u.post_attention_norm", GI_DIM_EMBD},
    {GI_NORM_FFN_POST, "blk.%u.post_ffw_norm", GI_DIM_EMBD},
};

static void record_layer(struct gi_graph *graph, uint32_t layer)
{
    struct gi_rope rope = graph->rope;
    if (graph->hparams->window > 0 && !gi_has_window(graph->hparams, layer)) {
        rope.n_rot = 0;
    }
    gi_graph_qkv_norm(graph, layer, GI_NORM_NONE, &rope);
    gi_post_norm_record_rest(graph, layer, GI_NORM_NONE);
}

const struct gi_model_family gi_model_family_exaone4 = {
    .name = "exaone4",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    .read_hparams = read_hparams,
    GI_WEIGHTS(gi_post_norm_weights),
    GI_NORMS(norms),
    .record_layer = record_layer,
};
