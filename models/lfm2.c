// LFM2: layers with a short convolution and gates in place of attention, which keep the inputs of
// its last tokens; and layers with attention whose heads of q and k have norms, as Qwen 3's. Which
// is which the file says by the heads of k and v of each. The embedding's norm is the output's.
// As an encoder its tokens also see later ones, and convolutions are centred.
// LFM2's mixtures have experts in all but their first layers, whose router has a bias.
#include "base/round.h"
#include "models/decoder_weights.h"

static bool read_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    struct gi_recurrent_hparams *sizes = &hparams->recurrent;
    const uint32_t n = hparams->n_embd;
    if (!gi_hparams_u32(reader, "shortconv.l_cache", 3, &sizes->n_taps) ||
        !gi_hparams_u32(reader, "attention.sliding_window", 0, &hparams->window)) {
        return false;
    }
    if (sizes->n_taps < 2 || sizes->n_taps > 8 || n % 4 != 0) {
        return GI_HPARAMS_FAIL(reader, UNSUPPORTED,
                               "a convolution of %u tokens and %u channels is not supported, only "
                               "of 2 to 8 tokens and multiples of 4",
                               sizes->n_taps, n);
    }
    if (hparams->is_encoder && sizes->n_taps % 2 == 0) {
        return GI_HPARAMS_FAIL(reader, UNSUPPORTED,
                               "an encoder's convolution of %u tokens is not supported, only of "
                               "an odd number",
                               sizes->n_taps);
    }
    sizes->n_after = hparams->is_encoder ? (sizes->n_taps - 1) / 2 : 0;
    hparams->window_period = UINT32_MAX; // where there is a window all have it
    sizes->n_head = 1;
    sizes->n_channel = sizes->dim = n;
    sizes->n_column = 3 * (uint32_t)gi_round_up(n, (uint64_t)2 * GI_TILE_ROWS);
    sizes->state_size =
        gi_short_conv_state_size(&(struct gi_short_conv){.n_channel = n, .n_taps = sizes->n_taps});
    return true;
}

//-- short convolutions ----------------------------------------------------------------------------

#define CONV_IN                                                                                    \
    {                                                                                              \
        .slot = GI_SLOT_QKV, .name = "attn_qkv", .order = GI_WEIGHT_ORDER_STACKED,                 \
        .cols = GI_DIM_EMBD, .sources[0] = {"blk.%u.shortconv.in_proj", GI_DIM_EMBD},              \
        .sources[1] = {"blk.%u.shortconv.in_proj", GI_DIM_EMBD},                                   \
        .sources[2] = {"blk.%u.shortconv.in_proj", GI_DIM_EMBD}, .next_norm = GI_NORM_NONE,        \
    }
#define CONV_OUT                                                                                   \
    GI_WEIGHT_ONE(GI_SLOT_OUT, "attn_out", GI_WEIGHT_ORDER_PLAIN, GI_DIM_EMBD,                     \
                  "shortconv.out_proj", GI_DIM_EMBD, GI_NORM_FFN)

static const struct gi_weight_spec conv_weights[] = {
    CONV_IN,
    CONV_OUT,
    GI_WEIGHT_GATE_UP("ffn_gate", "ffn_up"),
    GI_WEIGHT_DOWN(GI_NORM_NEXT),
};

static const struct gi_norm_spec conv_norms[] = {
    {GI_NORM_ATTN, "blk.%u.attn_norm", GI_DIM_EMBD},
    {GI_NORM_FFN, "blk.%u.ffn_norm", GI_DIM_EMBD},
    {GI_NORM_CONV, "blk.%u.shortconv.conv", GI_DIM_CONV},
};

static void record_conv_layer(struct gi_graph *graph, uint32_t layer)
{
    gi_graph_short_conv_block(graph, layer);
    gi_graph_ffn_block(graph, layer);
}

static const struct gi_layer_tables conv_layers = {
    GI_WEIGHTS(conv_weights),
    GI_NORMS(conv_norms),
    .record_layer = record_conv_layer,
};

const struct gi_model_family gi_model_family_lfm2 = {
    .name = "lfm2",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    .read_hparams = read_hparams,
    GI_WEIGHTS(gi_pre_norm_weights),
    GI_NORMS(gi_head_norm_norms),
    .record_layer = gi_head_norm_record_layer,
    .output_norm = "token_embd_norm",
    .others = &conv_layers,
};

//-- mixtures --------------------------------------------------------------------------------------

static bool read_expert_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    const struct gi_router_rule rule = {
        .gating = GI_GATING_SIGMOID, .is_normalised = true, .has_bias = true};
    return read_hparams(reader, hparams) && gi_hparams_read_router(reader, rule, hparams);
}

static const struct gi_weight_spec conv_expert_weights[] = {
    CONV_IN, CONV_OUT, GI_WEIGHT_EXPERTS_GATE_UP, GI_WEIGHT_EXPERTS_DOWN, GI_WEIGHT_ROUTER,
};

static const struct gi_norm_spec conv_expert_norms[] = {
    {GI_NORM_ATTN, "blk.%u.attn_norm", GI_DIM_EMBD},
    {GI_NORM_FFN, "blk.%u.ffn_norm", GI_DIM_EMBD},
    {GI_NORM_CONV, "blk.%u.shortconv.conv", GI_DIM_CONV},
    {GI_NORM_ROUTER_BIAS, "blk.%u.exp_probs_b", GI_DIM_EXPERT},
};

static const struct gi_norm_spec expert_norms[] = {
    {GI_NORM_ATTN, "blk.%u.attn_norm", GI_DIM_EMBD},
    {GI_NORM_Q, "blk.%u.attn_q_norm", GI_DIM_HEAD},
    {GI_NORM_K, "blk.%u.attn_k_norm", GI_DIM_HEAD},
    {GI_NORM_FFN, "blk.%u.ffn_norm", GI_DIM_EMBD},
    {GI_NORM_ROUTER_BIAS, "blk.%u.exp_probs_b", GI_DIM_EXPERT},
};

static void record_conv_expert_layer(struct gi_graph *graph, uint32_t layer)
{
    gi_graph_short_conv_block(graph, layer);
    gi_graph_experts_block(graph, layer);
}

static const struct gi_layer_tables conv_expert_layers = {
    GI_WEIGHTS(conv_expert_weights),
    GI_NORMS(conv_expert_norms),
    .record_layer = record_conv_expert_layer,
};

const struct gi_model_family gi_model_family_lfm2moe = {
    .name = "lfm2moe",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    .read_hparams = read_expert_hparams,
    .has_experts = true,
    GI_WEIGHTS(gi_expert_weights),
    GI_NORMS(expert_norms),
    .record_layer = gi_head_norm_expert_record_layer,
    .output_norm = "token_embd_norm",
    .others = &conv_expert_layers,
    .leading = &gi_model_family_lfm2,
};
