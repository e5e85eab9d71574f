// Qwen 3.5: three of four layers have linear attention by the gated delta rule, the fourth has
// attention with gated output and partial rotation. In text all position components are equal, so
// the sections of the rotation act as one. Layers after the last, which predict further tokens, are
// ignored. Mixtures have experts in all layers, and a shared expert with a gate.
#include "models/qwen/qwen35.h"

#include "base/round.h"
#include "ops/delta/delta.h"

#include <stdio.h>

static bool read_sizes(const struct gi_hparams_reader *reader, struct gi_recurrent_hparams *sizes)
{
    uint32_t n_inner;
    if (!gi_hparams_u32(reader, "ssm.conv_kernel", 4, &sizes->n_taps) ||
        !gi_hparams_u32(reader, "ssm.state_size", 128, &sizes->dim) ||
        !gi_hparams_u32(reader, "ssm.group_count", 16, &sizes->n_k_head) ||
        !gi_hparams_u32(reader, "ssm.time_step_rank", 16, &sizes->n_head) ||
        !gi_hparams_u32(reader, "ssm.inner_size", sizes->n_head * sizes->dim, &n_inner)) {
        return false;
    }
    const bool is_sound = sizes->n_taps >= 2 && sizes->n_taps <= 8 && sizes->dim >= 16 &&
                          sizes->dim <= 128 && 128 % sizes->dim == 0 && sizes->n_head > 0 &&
                          sizes->n_head <= 256 && sizes->n_k_head > 0 &&
                          sizes->n_head % sizes->n_k_head == 0;
    return (is_sound && n_inner == sizes->n_head * sizes->dim) ||
           GI_HPARAMS_FAIL(
               reader, UNSUPPORTED,
               "unsupported linear attention of %u heads of %u in %u groups, %u inner "
               "elements, and a convolution of %u: heads have 16, 32, 64 or 128 elements, "
               "convolutions 2 to 8",
               sizes->n_head, sizes->dim, sizes->n_k_head, n_inner, sizes->n_taps);
}

// Finds the layers with linear attention: from a list, or all except every interval'th layer.
static bool read_kinds(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    char key[96];
    struct gi_gguf_array list = {0};
    uint32_t interval;
    snprintf(key, sizeof(key), "%s.attention.recurrent_layers", reader->prefix);
    if (!gi_hparams_u32(reader, "full_attention_interval", 4, &interval)) {
        return false;
    }
    if (gi_gguf_has(reader->gguf, key) &&
        !gi_gguf_get_array(reader->gguf, key, GI_GGUF_KIND_BOOL, &list, reader->err)) {
        return false;
    }
    const bool has_list = list.count > 0;
    if (has_list && list.count < hparams->n_layer) {
        return GI_HPARAMS_FAIL(reader, BAD_FILE, "%s has %zu elements, and there are %u layers",
                               key, (size_t)list.count, hparams->n_layer);
    }
    for (uint32_t i = 0; i < hparams->n_layer; i++) {
        const bool is_linear =
            has_list ? list.data[i] != 0 : interval == 0 || (i + 1) % interval != 0;
        if (is_linear) {
            gi_set_recurrent(hparams, i);
        }
    }
    return true;
}

static bool read_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    struct gi_recurrent_hparams *sizes = &hparams->recurrent;
    const uint32_t two_tiles = 2 * GI_TILE_ROWS;
    uint32_t n_next;
    if (!read_sizes(reader, sizes) || !gi_hparams_u32(reader, "nextn_predict_layers", 0, &n_next)) {
        return false;
    }
    if (n_next >= hparams->n_layer) {
        return GI_HPARAMS_FAIL(reader, BAD_FILE,
                               "%u layers predict further tokens, and there are %u in all", n_next,
                               hparams->n_layer);
    }
    hparams->n_layer -= n_next;
    const struct gi_delta delta = {.params = {.n_head = sizes->n_head, .n_k_head = sizes->n_k_head},
                                   .dim = sizes->dim,
                                   .n_taps = sizes->n_taps};
    sizes->n_channel = gi_delta_channels(&delta);
    sizes->n_column = (uint32_t)(gi_round_up(sizes->n_channel, two_tiles) +
                                 gi_round_up((uint64_t)sizes->n_head * sizes->dim, two_tiles) +
                                 2 * gi_round_up(sizes->n_head, two_tiles));
    sizes->state_size = gi_delta_state_size(&delta);
    return read_kinds(reader, hparams);
}

#define QKV                                                                                        \
    {                                                                                              \
        .slot = GI_SLOT_QKV, .name = "attn_qkv", .order = GI_WEIGHT_ORDER_QKV_GATED,               \
        .cols = GI_DIM_EMBD, .sources[0] = {"blk.%u.attn_q", GI_DIM_Q_GATED},                      \
        .sources[1] = {"blk.%u.attn_k", GI_DIM_KV}, .sources[2] = {"blk.%u.attn_v", GI_DIM_KV},    \
        .next_norm = GI_NORM_NONE,                                                                 \
    }

static const struct gi_weight_spec weights[] = {
    QKV,
    GI_WEIGHT_OUT(GI_NORM_FFN),
    GI_WEIGHT_GATE_UP("ffn_gate", "ffn_up"),
    GI_WEIGHT_DOWN(GI_NORM_NEXT),
};

const struct gi_norm_spec gi_qwen35_norms[GI_QWEN35_N_NORMS] = {
    {GI_NORM_ATTN, "blk.%u.attn_norm", GI_DIM_EMBD},
    {GI_NORM_Q, "blk.%u.attn_q_norm", GI_DIM_HEAD},
    {GI_NORM_K, "blk.%u.attn_k_norm", GI_DIM_HEAD},
    {GI_NORM_FFN, "blk.%u.post_attention_norm", GI_DIM_EMBD},
};

//-- linear attention ------------------------------------------------------------------------------

#define LINEAR_IN                                                                                  \
    {                                                                                              \
        .slot = GI_SLOT_QKV, .name = "attn_qkv", .order = GI_WEIGHT_ORDER_STACKED,                 \
        .cols = GI_DIM_EMBD, .sources[0] = {"blk.%u.attn_qkv", GI_DIM_CHANNEL},                    \
        .sources[1] = {"blk.%u.attn_gate", GI_DIM_STATE},                                          \
        .sources[2] = {"blk.%u.ssm_beta", GI_DIM_STATE_HEADS},                                     \
        .sources[3] = {"blk.%u.ssm_alpha", GI_DIM_STATE_HEADS}, .next_norm = GI_NORM_NONE,         \
    }

static const struct gi_weight_spec linear_weights[] = {
    LINEAR_IN,
    GI_QWEN35_LINEAR_OUT,
    GI_WEIGHT_GATE_UP("ffn_gate", "ffn_up"),
    GI_WEIGHT_DOWN(GI_NORM_NEXT),
};

const struct gi_norm_spec gi_qwen35_linear_norms[GI_QWEN35_N_LINEAR_NORMS] = {
    {GI_NORM_ATTN, "blk.%u.attn_norm", GI_DIM_EMBD},
    {GI_NORM_FFN, "blk.%u.post_attention_norm", GI_DIM_EMBD},
    {GI_NORM_CONV, "blk.%u.ssm_conv1d", GI_DIM_CONV},
    {GI_NORM_STATE, "blk.%u.ssm_norm", GI_DIM_STATE_HEAD},
    {GI_NORM_DECAY_BIAS, "blk.%u.ssm_dt", GI_DIM_STATE_HEADS},
    {GI_NORM_DECAY_RATE, "blk.%u.ssm_a", GI_DIM_STATE_HEADS},
};

static void record_linear_layer(struct gi_graph *graph, uint32_t layer)
{
    gi_graph_delta_block(graph, layer);
    gi_graph_ffn_block(graph, layer);
}

static const struct gi_layer_tables linear_layers = {
    GI_WEIGHTS(linear_weights),
    GI_NORMS(gi_qwen35_linear_norms),
    .record_layer = record_linear_layer,
};

const struct gi_model_family gi_model_family_qwen35 = {
    .name = "qwen35",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    .read_hparams = read_hparams,
    GI_WEIGHTS(weights),
    GI_NORMS(gi_qwen35_norms),
    .record_layer = gi_head_norm_record_layer,
    .others = &linear_layers,
};

//-- mixtures --------------------------------------------------------------------------------------

bool gi_qwen35_expert_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams)
{
    const struct gi_router_rule rule = {.has_shared_gate = true, .scale = 1.0f};
    hparams->router = rule;
    return read_hparams(reader, hparams) && gi_hparams_read_shared(reader, hparams->n_ff, hparams);
}

const struct gi_weight_spec gi_qwen35_expert_weights[GI_QWEN35_N_WEIGHTS] = {
    QKV,
    GI_WEIGHT_OUT(GI_NORM_FFN),
    GI_WEIGHT_EXPERTS_GATE_UP,
    GI_WEIGHT_EXPERTS_DOWN,
    GI_WEIGHT_ROUTER_GATED,
};

static const struct gi_weight_spec linear_expert_weights[] = {
    LINEAR_IN,
    GI_QWEN35_LINEAR_OUT,
    GI_WEIGHT_EXPERTS_GATE_UP,
    GI_WEIGHT_EXPERTS_DOWN,
    GI_WEIGHT_ROUTER_GATED,
};

void gi_qwen35_record_linear_layer(struct gi_graph *graph, uint32_t layer)
{
    gi_graph_delta_block(graph, layer);
    gi_graph_experts_block(graph, layer);
}

static const struct gi_layer_tables linear_expert_layers = {
    GI_WEIGHTS(linear_expert_weights),
    GI_NORMS(gi_qwen35_linear_norms),
    .record_layer = gi_qwen35_record_linear_layer,
};

const struct gi_model_family gi_model_family_qwen35moe = {
    .name = "qwen35moe",
    .rope_pairing = GI_ROPE_PAIRING_HALVES,
    .read_hparams = gi_qwen35_expert_hparams,
    .has_experts = true,
    GI_WEIGHTS(gi_qwen35_expert_weights),
    GI_NORMS(gi_qwen35_norms),
    .record_layer = gi_head_norm_expert_record_layer,
    .others = &linear_expert_layers,
};
