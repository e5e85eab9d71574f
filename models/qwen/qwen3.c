// Qwen 3: pre-norm blocks in which each head of q and k has a norm before its rotation; rotary
// pairs lie half a head apart.
#include "models/decoder_weights.h"

static bool record_layer(struct gi_graph *graph, uint32_t layer, struct glinfer_error *err)
{
    return gi_graph_qkv_norm(graph, layer, GI_NORM_ATTN, &graph->rope, err) &&
           gi_graph_attention(graph, layer, err) && gi_graph_attn_out(graph, layer, err) &&
           gi_graph_ffn_block(graph, layer, err);
}

const struct gi_model_family gi_model_family_qwen3 = {
    .name = "qwen3",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    GI_WEIGHTS(gi_pre_norm_weights),
    GI_NORMS(gi_head_norm_norms),
    .record_layer = record_layer,
};
