// Spark 2.5: a window in most layers, whose rotations may be others, a gate for each head of
// attention's output, GELU.
#include "models/decoder_weights.h"

static bool read_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    hparams->has_head_gates = hparams->has_window_rope = true;
    hparams->window_rope = hparams->rope;
    return gi_hparams_u32(reader, "attention.sliding_window", 0, &hparams->window) &&
           gi_hparams_window_period(reader, 0, hparams) &&
           gi_hparams_window_heads(reader, hparams) &&
           gi_hparams_f32(reader, "rope.freq_base_swa", hparams->rope.base,
                          &hparams->window_rope.base);
}

static const struct gi_weight_spec weights[] = {
    {
        .slot = GI_SLOT_QKV,
        .name = "attn_qkv",
        .order = GI_WEIGHT_ORDER_QKV,
        .cols = GI_DIM_EMBD,
        .sources = {{"blk.%u.attn_q", GI_DIM_Q},
                    {"blk.%u.attn_k", GI_DIM_KV},
                    {"blk.%u.attn_v", GI_DIM_KV},
                    {"blk.%u.attn_gate", GI_DIM_HEADS}},
        .next_norm = GI_NORM_NONE,
    },
    GI_WEIGHT_OUT(GI_NORM_FFN),
    GI_WEIGHT_GATE_UP("ffn_gate", "ffn_up"),
    GI_WEIGHT_DOWN(GI_NORM_NEXT),
};

static void record_layer(struct gi_graph *graph, uint32_t layer)
{
    gi_graph_qkv_turned(graph, layer, gi_layer_rope(graph, layer));
    gi_graph_attention(graph, layer);
    gi_graph_attn_out(graph, layer);
    gi_graph_ffn_block(graph, layer);
}

const struct gi_model_family gi_model_family_spark2_5 = {
    .name = "spark2_5",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    .activation = GI_ACTIVATION_GELU_TANH,
    .read_hparams = read_hparams,
    GI_WEIGHTS(weights),
    GI_NORMS(gi_pre_norm_norms),
    .record_layer = record_layer,
};
