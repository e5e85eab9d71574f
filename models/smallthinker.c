// SmallThinker: mixtures of experts with a ReLU, which are chosen by the residual before attention.
// Where there are windows, of four layers all but the first have one and rotate; else all rotate.
#include "models/decoder_weights.h"

static bool read_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    const struct gi_router_rule rule = {.gating = GI_GATING_SIGMOID, .is_normalised = true};
    hparams->begins_unwindowed = true;
    return gi_hparams_u32(reader, "attention.sliding_window", 0, &hparams->window) &&
           gi_hparams_u32(reader, "attention.sliding_window_pattern", 4, &hparams->window_period) &&
           gi_hparams_read_router(reader, rule, hparams);
}

static void record_layer(struct gi_graph *graph, uint32_t layer)
{
    const struct gi_hparams *hparams = graph->hparams;
    const bool is_turned = hparams->window == 0 || gi_has_window(hparams, layer);
    gi_graph_choose_experts(graph, layer);
    gi_graph_qkv(graph, layer, is_turned ? hparams->n_rot : 0);
    gi_graph_attention(graph, layer);
    gi_graph_attn_out(graph, layer);
    gi_graph_chosen_experts_block(graph, layer);
}

const struct gi_model_family gi_model_family_smallthinker = {
    .name = "smallthinker",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    .activation = GI_ACTIVATION_RELU,
    .read_hparams = read_hparams,
    .has_experts = true,
    GI_WEIGHTS(gi_expert_weights),
    GI_NORMS(gi_pre_norm_norms),
    .record_layer = record_layer,
};
