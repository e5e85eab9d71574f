// Qwen3-Next: the mixtures of Qwen 3.5 with heads of v beside those that share a key, and with rows
// of several matrices alternating by heads of k: of rates and decays, and where q, k, v and the
// gate are one tensor also of these.
#include "models/qwen/qwen35.h"

static bool read_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    if (!gi_qwen35_expert_hparams(reader, hparams)) {
        return false;
    }
    struct gi_recurrent_hparams *sizes = &hparams->recurrent;
    sizes->n_neighbour = sizes->n_head / sizes->n_k_head;
    return true;
}

#define RATES                                                                                      \
    {                                                                                              \
        "blk.%u.ssm_ba", GI_DIM_STATE_HEADS, .is_alternating = true                                \
    }

// Holds the form that converters made at first.
static const struct gi_weight_spec linear_in_one = {
    .slot = GI_SLOT_QKV,
    .name = "attn_qkv",
    .order = GI_WEIGHT_ORDER_STACKED,
    .cols = GI_DIM_EMBD,
    .sources = {{"blk.%u.ssm_in", GI_DIM_STATE_KEYS, .is_alternating = true},
                {"blk.%u.ssm_in", GI_DIM_STATE_KEYS, .is_alternating = true},
                {"blk.%u.ssm_in", GI_DIM_STATE, .is_alternating = true},
                {"blk.%u.ssm_in", GI_DIM_STATE, .is_alternating = true},
                RATES,
                RATES},
    .next_norm = GI_NORM_NONE,
};

static const struct gi_weight_spec linear_weights[] = {
    {.slot = GI_SLOT_QKV,
     .name = "attn_qkv",
     .order = GI_WEIGHT_ORDER_STACKED,
     .cols = GI_DIM_EMBD,
     .sources =
         {{"blk.%u.attn_qkv", GI_DIM_CHANNEL}, {"blk.%u.attn_gate", GI_DIM_STATE}, RATES, RATES},
     .next_norm = GI_NORM_NONE,
     .other = &linear_in_one},
    GI_QWEN35_LINEAR_OUT,
    GI_WEIGHT_EXPERTS_GATE_UP,
    GI_WEIGHT_EXPERTS_DOWN,
    GI_WEIGHT_ROUTER_GATED,
};

static const struct gi_layer_tables linear_layers = {
    GI_WEIGHTS(linear_weights),
    GI_NORMS(gi_qwen35_linear_norms),
    .record_layer = gi_qwen35_record_linear_layer,
};

const struct gi_model_family gi_model_family_qwen3next = {
    .name = "qwen3next",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    .read_hparams = read_hparams,
    .has_experts = true,
    GI_WEIGHTS(gi_qwen35_expert_weights),
    GI_NORMS(gi_qwen35_norms),
    .record_layer = gi_head_norm_expert_record_layer,
    .others = &linear_layers,
};
