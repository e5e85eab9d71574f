// Granite 4's hybrids: layers with Mamba-2 in place of attention, which a file marks by heads of k
// and v that are 0, and few with attention, without rotations; with the scales of Granite 3.
#include "models/granite.h"
#include "models/mamba2.h"

static bool read_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    return gi_granite_hparams(reader, hparams) && gi_mamba2_hparams(reader, true, hparams);
}

static const struct gi_weight_spec ssm_weights[] = {
    GI_MAMBA2_WEIGHTS(GI_NORM_FFN),
    GI_WEIGHT_GATE_UP("ffn_gate", "ffn_up"),
    GI_WEIGHT_DOWN(GI_NORM_NEXT),
};

static const struct gi_norm_spec ssm_norms[] = {
    {GI_NORM_ATTN, "blk.%u.attn_norm", GI_DIM_EMBD},
    {GI_NORM_FFN, "blk.%u.ffn_norm", GI_DIM_EMBD},
    GI_MAMBA2_NORMS,
};

static void record_ssm_layer(struct gi_graph *graph, uint32_t layer)
{
    gi_graph_ssm(graph, layer);
    gi_graph_ssm_out(graph, layer);
    gi_graph_ffn_block(graph, layer);
}

static const struct gi_layer_tables ssm_layers = {
    GI_WEIGHTS(ssm_weights),
    GI_NORMS(ssm_norms),
    .record_layer = record_ssm_layer,
};

//-- mixtures --------------------------------------------------------------------------------------

static bool read_expert_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    return read_hparams(reader, hparams) && gi_hparams_read_shared(reader, 0, hparams);
}

static const struct gi_weight_spec ssm_expert_weights[] = {
    GI_MAMBA2_WEIGHTS(GI_NORM_FFN),
    GI_WEIGHT_EXPERTS_GATE_UP,
    GI_WEIGHT_EXPERTS_DOWN,
    GI_WEIGHT_ROUTER,
};

static void record_ssm_expert_layer(struct gi_graph *graph, uint32_t layer)
{
    gi_graph_ssm(graph, layer);
    gi_graph_ssm_out(graph, layer);
    gi_graph_experts_block(graph, layer);
}

static const struct gi_layer_tables ssm_expert_layers = {
    GI_WEIGHTS(ssm_expert_weights),
    GI_NORMS(ssm_norms),
    .record_layer = record_ssm_expert_layer,
};

static const struct gi_model_family mixture = {
    .name = "granitehybrid",
    .rope_pairing = GI_ROPE_PAIRING_ADJACENT,
    .read_hparams = read_expert_hparams,
    GI_EXPERT_BLOCKS,
    .others = &ssm_expert_layers,
};

const struct gi_model_family gi_model_family_granitehybrid = {
    .name = "granitehybrid",
    .rope_pairing = GI_ROPE_PAIRING_ADJACENT,
    .read_hparams = read_hparams,
    GI_PRE_NORM_BLOCKS,
    .others = &ssm_layers,
    .with_experts = &mixture,
};
