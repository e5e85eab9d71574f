// StableLM 2 and 3B: the Llama family's blocks with layernorms, and rotation of the first part of a
// head. The 12B's run side by side, both of one layernorm of the residual, and each of its heads of
// q and k has a layernorm of its own.
#include "models/decoder_weights.h"

static const struct gi_weight_spec parallel_weights[] = {
    GI_WEIGHT_QKV("attn_q", "attn_k", "attn_v"),
    GI_WEIGHT_OUT(GI_NORM_NONE),
    GI_WEIGHT_GATE_UP("ffn_gate", "ffn_up"),
    GI_WEIGHT_DOWN(GI_NORM_NEXT),
};

static const struct gi_norm_spec parallel_norms[] = {
    {GI_NORM_ATTN, "blk.%u.attn_norm", GI_DIM_EMBD},
    {GI_NORM_ATTN_SHIFT, "blk.%u.attn_norm", GI_DIM_EMBD},
    {GI_NORM_Q, "blk.%u.attn_q_norm", GI_DIM_Q_ROWS},
    {GI_NORM_K, "blk.%u.attn_k_norm", GI_DIM_KV_ROWS},
};

// Both blocks read the residual before either adds to it.
static void record_parallel_layer(struct gi_graph *graph, uint32_t layer)
{
    gi_graph_qkv_norm(graph, layer, GI_NORM_ATTN, &graph->rope);
    gi_graph_ffn_up(graph, layer, GI_NORM_ATTN);
    gi_graph_attention(graph, layer);
    gi_graph_attn_out(graph, layer);
    gi_graph_ffn_down(graph, layer);
}

static const struct gi_model_family parallel = {
    .name = "stablelm",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    .read_hparams = gi_layernorm_hparams,
    GI_WEIGHTS(parallel_weights),
    GI_NORMS(parallel_norms),
    .record_layer = record_parallel_layer,
};

const struct gi_model_family gi_model_family_stablelm = {
    .name = "stablelm",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    .read_hparams = gi_layernorm_hparams,
    GI_WEIGHTS(gi_pre_norm_weights),
    GI_NORMS(gi_layernorm_norms),
    .record_layer = gi_pre_norm_record_layer,
    .other = &parallel,
    .other_tensor = "blk.%u.attn_q_norm",
};
