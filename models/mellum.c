// Mellum 2: Qwen 3's mixtures of experts with a window in three of four layers, where the stretched
// context's rotations do not hold.
#include "models/decoder_weights.h"

static void record_layer(struct gi_graph *graph, uint32_t layer)
{
    gi_graph_qkv_norm(graph, layer, GI_NORM_ATTN, gi_layer_rope(graph, layer));
    gi_graph_attention(graph, layer);
    gi_graph_attn_out(graph, layer);
    gi_graph_experts_block(graph, layer);
}

const struct gi_model_family gi_model_family_mellum = {
    .name = "mellum",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    .read_hparams = gi_plain_window_hparams,
    .has_experts = true,
    GI_WEIGHTS(gi_expert_weights),
    GI_NORMS(gi_head_norm_norms),
    .record_layer = record_layer,
};
