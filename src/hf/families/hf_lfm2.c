// LFM2: short convolutions in place of attention in most layers, with and without experts.
#include "hf/families/hf_families.h"
#include "hf/families/hf_fixed.h"
#include "hf/families/hf_layers.h"
#include "hf/families/hf_rows.h"

// w1 is the gate, w3 up, w2 down.
#define NETWORK(part, to)                                                                          \
    {"layers.%.feed_forward." part "w1.weight", "blk.%.ffn_gate" to, GI_HF_NONE},                  \
        {"layers.%.feed_forward." part "w3.weight", "blk.%.ffn_up" to, GI_HF_NONE},                \
    {                                                                                              \
        "layers.%.feed_forward." part "w2.weight", "blk.%.ffn_down" to, GI_HF_NONE                 \
    }

static const struct gi_hf_row rows[] = {
    GI_HF_EMBEDDING,
    {"embedding_norm.weight", "token_embd_norm.weight", GI_HF_NONE},
    {"lm_head.weight", "output.weight", GI_HF_NONE},
    {"layers.%.operator_norm.weight", "blk.%.attn_norm.weight", GI_HF_NONE},
    {"layers.%.ffn_norm.weight", "blk.%.ffn_norm.weight", GI_HF_NONE},
    {"layers.%.conv.in_proj.weight", "blk.%.shortconv.in_proj.weight", GI_HF_NONE},
    {"layers.%.conv.conv.weight", "blk.%.shortconv.conv.weight", GI_HF_SQUEEZE},
    {"layers.%.conv.out_proj.weight", "blk.%.shortconv.out_proj.weight", GI_HF_NONE},
    GI_HF_ATTENTION(GI_HF_NONE, GI_HF_NONE),
    {"layers.%.self_attn.out_proj.weight", "blk.%.attn_output.weight", GI_HF_NONE},
    {"layers.%.self_attn.q_layernorm.weight", "blk.%.attn_q_norm.weight", GI_HF_NONE},
    {"layers.%.self_attn.k_layernorm.weight", "blk.%.attn_k_norm.weight", GI_HF_NONE},
    NETWORK("", ".weight"),
    NETWORK("experts.#.", "_exps.weight"),
    GI_HF_SWITCH("layers.%.feed_forward.switch_mlp."),
    {"layers.%.feed_forward.gate_proj.weight", "blk.%.ffn_gate.weight", GI_HF_NONE}, // of MLX
    {"layers.%.feed_forward.up_proj.weight", "blk.%.ffn_up.weight", GI_HF_NONE},
    {"layers.%.feed_forward.down_proj.weight", "blk.%.ffn_down.weight", GI_HF_NONE},
    {"layers.%.feed_forward.gate.weight", "blk.%.ffn_gate_inp.weight", GI_HF_NONE},
    {"layers.%.feed_forward.expert_bias", "blk.%.exp_probs_b.bias", GI_HF_NONE},
};

// Finds the layers with attention. Older files have a list of their numbers.
static bool find_attention(struct gi_hf_build *b, struct gi_hf_layers *attention)
{
    const cJSON *list = gi_hf_get(b, "full_attn_idxs"), *item;
    if (gi_hf_read_layers(b, "full_attention", attention) || !cJSON_IsArray(list)) {
        return attention->count > 0 && gi_hf_get(b, "layer_types");
    }
    cJSON_ArrayForEach(item, list)
    {
        uint64_t layer;
        if (!gi_hf_json_count(item, &layer) || layer >= attention->count) {
            gi_hf_fail(b, GLINFER_STATUS_BAD_FILE,
                       "config.json: the key full_attn_idxs is invalid, expected numbers below %u",
                       attention->count);
            return false;
        }
        attention->is[layer] = true;
    }
    return true;
}

static void add_layers(struct gi_hf_build *b)
{
    struct gi_hf_layers attention;
    if (!find_attention(b, &attention)) {
        gi_hf_fail(b, GLINFER_STATUS_BAD_FILE, "config.json: the key layer_types is missing");
        return;
    }
    gi_hf_add_layer_u32s(b, "attention.head_count_kv", &attention,
                         gi_hf_u32(b, "num_key_value_heads"), 0);
    gi_hf_add_f32(b, "rope.freq_base", gi_hf_rope_base(b, 1000000.0f));
    gi_hf_add_u32(b, "shortconv.l_cache", gi_hf_u32(b, "conv_L_cache"));
    gi_hf_add_sizes(b);
    gi_hf_add_u32(b, "context_length", gi_hf_u32(b, "max_position_embeddings"));
    GI_HF_ADD_ROWS(b, rows);
}

// Returns the width of the network, of which config.json has the one before it was adjusted.
static uint32_t find_width(struct gi_hf_build *b)
{
    uint64_t width = gi_hf_u32(b, "block_ff_dim|intermediate_size");
    const uint32_t multiple = gi_hf_u32(b, "block_multiple_of");
    const float factor = gi_hf_f32(b, "block_ffn_dim_multiplier");
    if (!gi_hf_ok(b) || multiple == 0 || !(factor > 0.0f && factor <= 16.0f)) {
        gi_hf_fail(b, GLINFER_STATUS_BAD_FILE,
                   "config.json: block_multiple_of is %u and block_ffn_dim_multiplier %g, expected "
                   "positive numbers, the latter at most 16",
                   multiple, factor);
        return 0;
    }
    if (gi_hf_bool_or(b, "block_auto_adjust_ff_dim", true)) {
        width = (uint64_t)((double)(2 * width / 3) * factor);
        width = (width + multiple - 1) / multiple * multiple;
    }
    return width <= UINT32_MAX ? (uint32_t)width : 0;
}

static void build_dense(struct gi_hf_build *b)
{
    gi_hf_add_u32(b, "feed_forward_length", find_width(b));
    add_layers(b);
}

static void build_experts(struct gi_hf_build *b)
{
    enum { SIGMOID = 2 };
    gi_hf_add_u32(b, "feed_forward_length", gi_hf_u32(b, "intermediate_size"));
    gi_hf_add_experts(b, "num_experts");
    gi_hf_add_u32(b, "expert_feed_forward_length", gi_hf_u32(b, "moe_intermediate_size"));
    gi_hf_add_u32(b, "leading_dense_block_count", gi_hf_u32(b, "num_dense_layers"));
    gi_hf_add_u32(b, "expert_gating_func", SIGMOID);
    add_layers(b);
}

#define DEFAULTS                                                                                   \
    "{\"block_ffn_dim_multiplier\":1,\"block_multiple_of\":256,\"conv_L_cache\":3,"                \
    "\"max_position_embeddings\":128000,\"norm_eps\":1e-5,\"num_key_value_heads\":8,"              \
    "\"tie_word_embeddings\":true}"

static const struct gi_hf_fixed fixed[] = {
    GI_HF_PLAIN_ROPE,
    GI_HF_WHOLE_ROPE,
    {"conv_bias", "false"},
    {"layer_types", "full_attention|conv|short_conv"},
    {"use_pos_enc", "true"},
    {"block_use_swiglu", "true"},
    {"norm_topk_prob", "true"},
    {"routed_scaling_factor", "1"},
    {"use_expert_bias", "true"},
    {NULL, NULL},
};

const struct gi_hf_family gi_hf_lfm2_families[] = {
    {"lfm2", NULL, "lfm2", build_dense, DEFAULTS, fixed},
    {"lfm2_moe", NULL, "lfm2moe", build_experts, DEFAULTS, fixed},
    {NULL, NULL, NULL, NULL, NULL, NULL},
};
