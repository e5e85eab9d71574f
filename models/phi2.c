// Phi 1, 1.5 and 2: attention and a network without a gate side by side, both of one layernorm of
// the residual; biases everywhere, the output's too; rotation of the first part of a head.
#include "models/decoder_weights.h"

static const struct gi_weight_spec weights[] = {
    GI_WEIGHT_QKV("attn_q", "attn_k", "attn_v"),
    GI_WEIGHT_OUT(GI_NORM_NONE),
    GI_WEIGHT_UP,
    GI_WEIGHT_DOWN(GI_NORM_NEXT),
};

static const struct gi_norm_spec norms[] = {
    {GI_NORM_ATTN, "blk.%u.attn_norm", GI_DIM_EMBD},
    {GI_NORM_ATTN_SHIFT, "blk.%u.attn_norm", GI_DIM_EMBD},
};

// Both blocks read the residual before either adds to it.
static void record_layer(struct gi_graph *graph, uint32_t layer)
{
    gi_graph_qkv(graph, layer, graph->hparams->n_rot);
    gi_graph_ffn_up(graph, layer, GI_NORM_ATTN);
    gi_graph_attention(graph, layer);
    gi_graph_attn_out(graph, layer);
    gi_graph_ffn_down(graph, layer);
}

const struct gi_model_family gi_model_family_phi2 = {
    .name = "phi2",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    .activation = GI_ACTIVATION_GELU_TANH,
    .read_hparams = gi_layernorm_hparams,
    GI_WEIGHTS(weights),
    GI_NORMS(norms),
    .record_layer = record_layer,
};
