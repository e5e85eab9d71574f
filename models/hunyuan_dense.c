// Hunyuan's dense models: the blocks of the Llama family with a norm of each head of q and k after
// the rotation; the elements of a rotary pair are half a head apart.
#include "models/decoder_weights.h"

static void record_layer(struct gi_graph *graph, uint32_t layer)
{
    struct gi_rope rope = graph->rope;
    rope.is_before_norm = true;
    gi_graph_qkv_norm(graph, layer, GI_NORM_ATTN, &rope);
    gi_graph_attention(graph, layer);
    gi_graph_attn_out(graph, layer);
    gi_graph_ffn_block(graph, layer);
}

const struct gi_model_family gi_model_family_hunyuan_dense = {
    .name = "hunyuan-dense",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    GI_WEIGHTS(gi_pre_norm_weights),
    GI_NORMS(gi_head_norm_norms),
    .record_layer = record_layer,
};
