// Granite with windows, dense and mixtures: Granite 3's blocks and scales, a window in most layers,
// rotations in some, and a sink for each head of attention.
#include "models/granite.h"

static bool read_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    hparams->begins_unwindowed = true;
    return gi_granite_hparams(reader, hparams) &&
           gi_hparams_u32(reader, "attention.sliding_window", 128, &hparams->window) &&
           gi_hparams_window_period(reader, 4, hparams) && gi_hparams_rope_pattern(reader, hparams);
}

static const struct gi_norm_spec norms[] = {
    {GI_NORM_ATTN, "blk.%u.attn_norm", GI_DIM_EMBD},
    {GI_NORM_SINKS, "blk.%u.attn_sinks", GI_DIM_HEADS},
    {GI_NORM_FFN, "blk.%u.ffn_norm", GI_DIM_EMBD},
};

static void record_attention(struct gi_graph *graph, uint32_t layer)
{
    const struct gi_hparams *hparams = graph->hparams;
    gi_graph_qkv(graph, layer, hparams->is_unrotated[layer] ? 0 : hparams->n_rot);
    gi_graph_attention(graph, layer);
    gi_graph_attn_out(graph, layer);
}

static void record_layer(struct gi_graph *graph, uint32_t layer)
{
    record_attention(graph, layer);
    gi_graph_ffn_block(graph, layer);
}

//-- mixtures --------------------------------------------------------------------------------------

static bool read_expert_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    return read_hparams(reader, hparams) && gi_hparams_read_shared(reader, 0, hparams);
}

// The shared expert's gate and up are one tensor.
static const struct gi_weight_spec expert_weights[] = {
    GI_WEIGHT_QKV("attn_q", "attn_k", "attn_v"),
    GI_WEIGHT_OUT(GI_NORM_FFN),
    {
        .slot = GI_SLOT_GATE_UP,
        .name = "ffn_gate_up",
        .order = GI_WEIGHT_ORDER_EXPERTS_GATE_UP,
        .cols = GI_DIM_EMBD,
        .sources = {{"blk.%u.ffn_gate_exps", GI_DIM_EXPERT_FF},
                    {"blk.%u.ffn_up_exps", GI_DIM_EXPERT_FF},
                    {"blk.%u.ffn_up_shexp", GI_DIM_SHARED_FF},
                    {"blk.%u.ffn_up_shexp", GI_DIM_SHARED_FF}},
        .next_norm = GI_NORM_NONE,
    },
    GI_WEIGHT_EXPERTS_DOWN,
    GI_WEIGHT_ROUTER,
};

static void record_expert_layer(struct gi_graph *graph, uint32_t layer)
{
    record_attention(graph, layer);
    gi_graph_experts_block(graph, layer);
}

static const struct gi_model_family mixture = {
    .name = "granite_swa",
    .rope_pairing = GI_ROPE_PAIRING_ADJACENT,
    .read_hparams = read_expert_hparams,
    .has_experts = true,
    GI_WEIGHTS(expert_weights),
    GI_NORMS(norms),
    .record_layer = record_expert_layer,
};

const struct gi_model_family gi_model_family_granite_swa = {
    .name = "granite_swa",
    .rope_pairing = GI_ROPE_PAIRING_ADJACENT,
    .read_hparams = read_hparams,
    GI_WEIGHTS(gi_pre_norm_weights),
    GI_NORMS(norms),
    .record_layer = record_layer,
    .with_experts = &mixture,
};
