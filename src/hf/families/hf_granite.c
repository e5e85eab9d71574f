// Granite 3 and 4: Llama's tensors with scales; mixtures, whose gate and up are one tensor; hybrids
// with Mamba-2.
#include "hf/families/hf_families.h"
#include "hf/families/hf_fixed.h"
#include "hf/families/hf_layers.h"
#include "hf/families/hf_rows.h"

#include <string.h>

static const struct gi_hf_row base_rows[] = {
    GI_HF_EMBEDDING,
    GI_HF_OUTPUT(GI_HF_NONE),
    GI_HF_PRE_NORMS,
    GI_HF_ATTENTION(GI_HF_ROPE_PAIRS_Q, GI_HF_ROPE_PAIRS_K),
    GI_HF_ATTENTION_BIASES(GI_HF_ROPE_PAIRS_Q, GI_HF_ROPE_PAIRS_K),
};
static const struct gi_hf_row network_rows[] = {
    GI_HF_NETWORK,
    {"layers.%.shared_mlp.input_linear.weight", "blk.%.ffn_gate.weight", GI_HF_FIRST_HALF},
    {"layers.%.shared_mlp.input_linear.weight", "blk.%.ffn_up.weight", GI_HF_SECOND_HALF},
    {"layers.%.shared_mlp.output_linear.weight", "blk.%.ffn_down.weight", GI_HF_NONE},
};
#define MOE "layers.%.block_sparse_moe."
static const struct gi_hf_row expert_rows[] = {
    {MOE "router.layer.weight", "blk.%.ffn_gate_inp.weight", GI_HF_NONE},
    {MOE "input_linear.weight", "blk.%.ffn_gate_exps.weight", GI_HF_FIRST_HALF},
    {MOE "input_linear.weight", "blk.%.ffn_up_exps.weight", GI_HF_SECOND_HALF},
    {MOE "output_linear.weight", "blk.%.ffn_down_exps.weight", GI_HF_NONE},
    GI_HF_SWITCH(MOE "switch_mlp."),
    {"layers.%.shared_mlp.input_linear.weight", "blk.%.ffn_gate_shexp.weight", GI_HF_FIRST_HALF},
    {"layers.%.shared_mlp.input_linear.weight", "blk.%.ffn_up_shexp.weight", GI_HF_SECOND_HALF},
    {"layers.%.shared_mlp.output_linear.weight", "blk.%.ffn_down_shexp.weight", GI_HF_NONE},
};

static void add_scales(struct gi_hf_build *b)
{
    gi_hf_add_f32(b, "attention.scale", gi_hf_f32(b, "attention_multiplier"));
    gi_hf_add_f32(b, "embedding_scale", gi_hf_f32(b, "embedding_multiplier"));
    gi_hf_add_f32(b, "residual_scale", gi_hf_f32(b, "residual_multiplier"));
    gi_hf_add_f32(b, "logit_scale", gi_hf_f32(b, "logits_scaling"));
}

#define ATTENTION "attention|full_attention"

// Models of the hybrids' kind have rotations only where they say so.
static bool has_rope(struct gi_hf_build *b)
{
    return strcmp(gi_hf_text_or(b, "position_embedding_type", ""), "rope") == 0;
}

static void build_dense(struct gi_hf_build *b)
{
    gi_hf_add_decoder(b);
    add_scales(b);
    GI_HF_ADD_ROWS(b, base_rows);
    GI_HF_ADD_ROWS(b, network_rows);
}

static void add_experts(struct gi_hf_build *b)
{
    const uint32_t n_shared = gi_hf_u32_or(b, "shared_intermediate_size", 0);
    gi_hf_add_experts(b, "num_local_experts");
    if (n_shared > 0) {
        gi_hf_add_u32(b, "expert_shared_feed_forward_length", n_shared);
    }
    GI_HF_ADD_ROWS(b, expert_rows);
}

static void build_experts(struct gi_hf_build *b)
{
    gi_hf_add_decoder(b);
    add_scales(b);
    GI_HF_ADD_ROWS(b, base_rows);
    add_experts(b);
}

//-- hybrids ---------------------------------------------------------------------------------------

#define MAMBA "layers.%.mamba."
static const struct gi_hf_row mamba_rows[] = {
    {MAMBA "in_proj.weight", "blk.%.ssm_in.weight", GI_HF_NONE},
    {MAMBA "conv1d.weight", "blk.%.ssm_conv1d.weight", GI_HF_SQUEEZE},
    {MAMBA "conv1d.bias", "blk.%.ssm_conv1d.bias", GI_HF_NONE},
    {MAMBA "dt_bias", "blk.%.ssm_dt.bias", GI_HF_NONE},
    {MAMBA "out_proj.weight", "blk.%.ssm_out.weight", GI_HF_NONE},
};
static const struct gi_hf_row rate_row = {MAMBA "A_log", "blk.%.ssm_a", GI_HF_NEGATIVE_EXP};
static const struct gi_hf_row skip_row = {MAMBA "D", "blk.%.ssm_d", GI_HF_NONE};
static const struct gi_hf_row norm_row = {MAMBA "norm.weight", "blk.%.ssm_norm.weight", GI_HF_NONE};

// A norm has a row for each group.
static void add_mamba_rows(struct gi_hf_build *b, uint32_t n_group, uint32_t n_inner)
{
    GI_HF_ADD_ROWS(b, mamba_rows);
    gi_hf_add_folded(b, &rate_row, 1);
    gi_hf_add_folded(b, &skip_row, 1);
    gi_hf_add_folded(b, &norm_row, n_inner / (n_group > 0 ? n_group : 1));
}

// Fails if steps have limits, which the engine does not compute, or rotations are scaled.
static void check_hybrid(struct gi_hf_build *b)
{
    static const struct gi_hf_fixed plain_rope[] = {GI_HF_PLAIN_ROPE, {NULL, NULL}};
    const cJSON *limits = gi_hf_get(b, "time_step_limit");
    const cJSON *least = cJSON_GetArrayItem(limits, 0), *most = cJSON_GetArrayItem(limits, 1);
    if (limits && (!cJSON_IsNumber(least) || least->valuedouble != 0 || cJSON_IsNumber(most))) {
        gi_hf_fail(b, GLINFER_STATUS_UNSUPPORTED,
                   "config.json: time_step_limit is not 0 to infinity, which alone is supported");
    }
    if (has_rope(b)) {
        gi_hf_check_fixed(b, plain_rope);
    }
}

static void build_hybrid(struct gi_hf_build *b)
{
    enum { CONTEXT = 1 << 20 }; // hybrids have no positions
    struct gi_hf_layers attention;
    const bool has_list = gi_hf_read_layers(b, ATTENTION, &attention);
    const uint32_t n_head = gi_hf_u32(b, "mamba_n_heads"), n_group = gi_hf_u32(b, "mamba_n_groups");
    const uint32_t n_inner = n_head * gi_hf_u32(b, "mamba_d_head");
    if (!has_list) {
        gi_hf_fail(b, GLINFER_STATUS_BAD_FILE, "config.json: the key layer_types is missing");
        return;
    }
    check_hybrid(b);
    gi_hf_add_sizes(b);
    gi_hf_add_u32(b, "context_length", CONTEXT);
    gi_hf_add_layer_u32s(b, "attention.head_count_kv", &attention,
                         gi_hf_u32(b, "num_key_value_heads"), 0);
    gi_hf_add_u32(b, "rope.dimension_count", gi_hf_head_dim(b));
    gi_hf_add_f32(b, "rope.freq_base", gi_hf_rope_base(b, 10000.0f));
    gi_hf_add_bool(b, "rope.scaling.finetuned", has_rope(b));
    gi_hf_add_u32(b, "feed_forward_length", gi_hf_u32(b, "intermediate_size"));
    gi_hf_add_u32(b, "ssm.conv_kernel", gi_hf_u32(b, "mamba_d_conv"));
    gi_hf_add_u32(b, "ssm.state_size", gi_hf_u32(b, "mamba_d_state"));
    gi_hf_add_u32(b, "ssm.group_count", n_group);
    gi_hf_add_u32(b, "ssm.inner_size", n_inner);
    gi_hf_add_u32(b, "ssm.time_step_rank", n_head);
    add_scales(b);
    GI_HF_ADD_ROWS(b, base_rows);
    add_mamba_rows(b, n_group, n_inner);
    if (gi_hf_u32_or(b, "num_local_experts", 0) > 0) {
        add_experts(b);
    } else {
        GI_HF_ADD_ROWS(b, network_rows);
    }
}

// Returns true for a model of this kind whose layers all have attention.
static bool has_no_mamba(const struct gi_hf_build *b)
{
    const cJSON *list = gi_hf_get(b, "layer_types|layers_block_type"), *item;
    cJSON_ArrayForEach(item, list)
    {
        if (!cJSON_IsString(item) || !gi_hf_is_word(item->valuestring, ATTENTION)) {
            return false;
        }
    }
    return cJSON_IsArray(list);
}

static bool has_no_experts(const struct gi_hf_build *b)
{
    const cJSON *n = gi_hf_get(b, "num_local_experts");
    return !cJSON_IsNumber(n) || n->valuedouble == 0;
}

static void build_granite4(struct gi_hf_build *b)
{
    if (!has_no_mamba(b)) {
        build_hybrid(b);
        return;
    }
    b->arch = has_no_experts(b) ? "granite" : "granitemoe";
    if (!has_rope(b)) {
        gi_hf_add_bool(b, "rope.scaling.finetuned", false);
    }
    if (has_no_experts(b)) {
        build_dense(b);
    } else {
        build_experts(b);
    }
}

#define DEFAULTS                                                                                   \
    "{\"attention_multiplier\":1,\"embedding_multiplier\":1,\"logits_scaling\":1,"                 \
    "\"max_position_embeddings\":2048,\"residual_multiplier\":1,\"rms_norm_eps\":1e-6,"            \
    "\"rope_theta\":10000}"

#define FIXED GI_HF_SILU, GI_HF_WHOLE_ROPE

static const struct gi_hf_fixed fixed[] = {
    FIXED, GI_HF_BIASES, {"mlp_bias", "false"}, {NULL, NULL}};
static const struct gi_hf_fixed hybrid_fixed[] = {
    FIXED,
    GI_HF_NO_BIASES,
    {"layer_types", ATTENTION "|mamba|linear_attention"},
    {"position_embedding_type", "rope|nope"},
    {"normalization_function", "rmsnorm"},
    {"mamba_conv_bias", "true"},
    {"mamba_proj_bias", "false"},
    {NULL, NULL},
};

const struct gi_hf_family gi_hf_granite_families[] = {
    {"granite", NULL, "granite", build_dense, DEFAULTS, fixed},
    {"granitemoe", NULL, "granitemoe", build_experts, DEFAULTS, fixed},
    {"granitemoeshared", NULL, "granitemoe", build_experts, DEFAULTS, fixed},
    {"granitemoehybrid", NULL, "granitehybrid", build_granite4, DEFAULTS, hybrid_fixed},
    {NULL, NULL, NULL, NULL, NULL, NULL},
};
