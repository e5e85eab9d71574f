// Nemotron-H: layers of one block each, in any order: Mamba-2, attention without rotations, or a
// network without a gate whose activation is the square of a ReLU. A layer with a width of the
// network is a network; of the others, those without heads of k and v are Mamba-2.
#include "models/mamba2.h"

static bool read_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    float eps; // of the head that predicts further tokens; of all norms in a file without the other
    hparams->n_rot = 0;
    if (!gi_hparams_f32(reader, "attention.layer_norm_epsilon", 1e-5f, &eps) ||
        !gi_hparams_f32(reader, "attention.layer_norm_rms_epsilon", eps, &hparams->norm_eps)) {
        return false;
    }
    for (uint32_t i = 0; i < hparams->n_layer; i++) {
        if (hparams->layer_ff[i] > 0) {
            hparams->layer_kinds[i] = GI_LAYER_NETWORK;
        }
    }
    return gi_mamba2_hparams(reader, true, hparams);
}

static const struct gi_norm_spec norms[] = {
    {GI_NORM_ATTN, "blk.%u.attn_norm", GI_DIM_EMBD},
};

static const struct gi_weight_spec attention_weights[] = {
    GI_WEIGHT_QKV("attn_q", "attn_k", "attn_v"),
    GI_WEIGHT_OUT(GI_NORM_NEXT),
};

static const struct gi_weight_spec network_weights[] = {
    GI_WEIGHT_UP,
    GI_WEIGHT_DOWN(GI_NORM_NEXT),
};

static void record_network(struct gi_graph *graph, uint32_t layer)
{
    gi_graph_ffn_up(graph, layer, GI_NORM_ATTN);
    gi_graph_ffn_down(graph, layer);
}

static const struct gi_layer_tables networks = {
    GI_WEIGHTS(network_weights),
    GI_NORMS(norms),
    .record_layer = record_network,
};

const struct gi_model_family gi_model_family_nemotron_h = {
    .name = "nemotron_h",
    .activation = GI_ACTIVATION_RELU_SQUARED,
    .read_hparams = read_hparams,
    GI_WEIGHTS(attention_weights),
    GI_NORMS(norms),
    .record_layer = gi_graph_attention_block,
    .others = &gi_mamba2_layers,
    .networks = &networks,
};
