// SmolLM 3: the Llama family's blocks, of which every fourth layer has no rotation.
#include "models/decoder_weights.h"

static void record_layer(struct gi_graph *graph, uint32_t layer)
{
    const uint32_t n_rot = layer % 4 == 3 ? 0 : graph->hparams->n_rot;
    gi_graph_qkv(graph, layer, n_rot);
    gi_graph_attention(graph, layer);
    gi_graph_attn_out(graph, layer);
    gi_graph_ffn_block(graph, layer);
}

const struct gi_model_family gi_model_family_smollm3 = {
    .name = "smollm3",
    .rope_pairing = GI_ROPE_PAIRING_ADJACENT,
    GI_WEIGHTS(gi_pre_norm_weights),
    GI_NORMS(gi_pre_norm_norms),
    .record_layer = record_layer,
};
