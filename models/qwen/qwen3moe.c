// Qwen 3's mixtures of experts: the attention of qwen3.c, and a router that takes a few of many
// small networks for each token.
#include "models/decoder_weights.h"

static bool record_layer(struct gi_graph *graph, uint32_t layer, struct glinfer_error *err)
{
    return gi_graph_qkv_norm(graph, layer, GI_NORM_ATTN, &graph->rope, err) &&
           gi_graph_attention(graph, layer, err) && gi_graph_attn_out(graph, layer, err) &&
           gi_graph_experts_block(graph, layer, err);
}

const struct gi_model_family gi_model_family_qwen3moe = {
    .name = "qwen3moe",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    .has_experts = true,
    GI_WEIGHTS(gi_expert_weights),
    GI_NORMS(gi_head_norm_norms),
    .record_layer = record_layer,
};
