// Nomic Embed 2: BERT's layers with rotations in the place of positions; in every second one the
// network is a mixture of experts without gates, whose shares are of the softmax of all.
#include "models/bert/bert_layer.h"

static bool read_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    const struct gi_router_rule rule = {.gating = GI_GATING_ALL};
    uint32_t period;
    if (!gi_hparams_u32(reader, "moe_every_n_layers", 0, &period)) {
        return false;
    }
    if (period < 2) {
        return GI_HPARAMS_FAIL(reader, UNSUPPORTED,
                               "experts in one of %u layers are not supported, only in one of 2 "
                               "or more",
                               period);
    }
    for (uint32_t i = 0; i < hparams->n_layer; i++) {
        hparams->has_no_experts[i] = i % period != 1;
    }
    return gi_bert_hparams(reader, hparams) && gi_hparams_read_router(reader, rule, hparams);
}

static const struct gi_model_family dense = {
    .name = "nomic-bert-moe",
    GI_WEIGHTS(gi_bert_weights),
    GI_NORMS(gi_bert_norms),
    .record_layer = gi_bert_record_layer,
};

static const struct gi_weight_spec weights[] = {
    GI_WEIGHT_QKV("attn_q", "attn_k", "attn_v"),
    GI_WEIGHT_OUT(GI_NORM_NONE),
    GI_WEIGHT_ONE(GI_SLOT_GATE_UP, "ffn_up", GI_WEIGHT_ORDER_EXPERTS, GI_DIM_EMBD, "ffn_up_exps",
                  GI_DIM_EXPERT_FF, GI_NORM_NONE),
    GI_WEIGHT_EXPERTS_DOWN,
    GI_WEIGHT_ROUTER,
};

static void record_layer(struct gi_graph *graph, uint32_t layer)
{
    gi_bert_record_attention(graph, layer);
    gi_graph_unnormed_experts(graph, layer);
    gi_graph_layernorm(graph, "ffn_down_norm", layer, GI_NORM_FFN_POST, GI_NORM_FFN_SHIFT);
}

const struct gi_model_family gi_model_family_nomic_bert_moe = {
    .name = "nomic-bert-moe",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    .activation = GI_ACTIVATION_GELU_TANH,
    .read_hparams = read_hparams,
    .has_experts = true,
    GI_WEIGHTS(weights),
    GI_NORMS(gi_bert_norms),
    .output_norm = "token_embd_norm",
    .record_layer = record_layer,
    .leading = &dense,
};
