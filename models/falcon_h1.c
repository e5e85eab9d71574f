// Falcon-H1: attention and Mamba-2 side by side in every layer, both of the same norm of the
// residual, so that a layer keeps keys and values and a state. Converters have put its multipliers
// into the weights.
#include "models/mamba2.h"

static bool read_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    for (uint32_t i = 0; i < hparams->n_layer; i++) {
        gi_add_state(hparams, i);
    }
    return gi_mamba2_hparams(reader, false, hparams);
}

static const struct gi_weight_spec weights[] = {
    GI_WEIGHT_QKV("attn_q", "attn_k", "attn_v"),
    GI_WEIGHT_OUT(GI_NORM_FFN),
    GI_MAMBA2_WEIGHTS(GI_NORM_FFN),
    GI_WEIGHT_GATE_UP("ffn_gate", "ffn_up"),
    GI_WEIGHT_DOWN(GI_NORM_NEXT),
};

static const struct gi_norm_spec norms[] = {
    {GI_NORM_ATTN, "blk.%u.attn_norm", GI_DIM_EMBD},
    {GI_NORM_FFN, "blk.%u.ffn_norm", GI_DIM_EMBD},
    GI_MAMBA2_NORMS,
};

// Attention's output changes the residual, which is why the state space model has read it before.
static void record_layer(struct gi_graph *graph, uint32_t layer)
{
    gi_graph_ssm(graph, layer);
    gi_graph_attention_block(graph, layer);
    gi_graph_ssm_out(graph, layer);
    gi_graph_ffn_block(graph, layer);
}

const struct gi_model_family gi_model_family_falcon_h1 = {
    .name = "falcon-h1",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    .read_hparams = read_hparams,
    GI_WEIGHTS(weights),
    GI_NORMS(norms),
    .record_layer = record_layer,
};
