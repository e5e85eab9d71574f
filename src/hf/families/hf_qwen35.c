// Qwen 3.5, dense and with experts: norms are stored as their distance from 1, but not by MLX;
// heads of v that share a key lie side by side, where GGUF has the first heads of all keys first.
#include "hf/families/hf_families.h"
#include "hf/families/hf_fixed.h"
#include "hf/families/hf_layers.h"
#include "hf/families/hf_rows.h"

#include <stdio.h>
#include <string.h>

#define LINEAR "layers.%.linear_attn."
#define SHARED "layers.%.mlp.shared_expert"

static const struct gi_hf_row norm_rows[] = {
    GI_HF_OUTPUT(GI_HF_PLUS_ONE),
    {"layers.%.input_layernorm.weight", "blk.%.attn_norm.weight", GI_HF_PLUS_ONE},
    {"layers.%.post_attention_layernorm.weight", "blk.%.post_attention_norm.weight",
     GI_HF_PLUS_ONE},
    GI_HF_HEAD_NORMS(GI_HF_PLUS_ONE),
};
static const struct gi_hf_row rows[] = {
    GI_HF_EMBEDDING,
    GI_HF_ATTENTION(GI_HF_NONE, GI_HF_NONE),
    GI_HF_NETWORK,
    GI_HF_EXPERTS,
    {"layers.%.mlp.experts.gate_up_proj", "blk.%.ffn_gate_exps.weight", GI_HF_FIRST_HALF},
    {"layers.%.mlp.experts.gate_up_proj", "blk.%.ffn_up_exps.weight", GI_HF_SECOND_HALF},
    {"layers.%.mlp.experts.down_proj", "blk.%.ffn_down_exps.weight", GI_HF_NONE},
    {SHARED "_gate.weight", "blk.%.ffn_gate_inp_shexp.weight", GI_HF_NONE},
    {SHARED ".gate_proj.weight", "blk.%.ffn_gate_shexp.weight", GI_HF_NONE},
    {SHARED ".up_proj.weight", "blk.%.ffn_up_shexp.weight", GI_HF_NONE},
    {SHARED ".down_proj.weight", "blk.%.ffn_down_shexp.weight", GI_HF_NONE},
    {LINEAR "norm.weight", "blk.%.ssm_norm.weight", GI_HF_NONE},
};

//-- heads of v ------------------------------------------------------------------------------------

enum { MAX_HEADS = 256, NAME_SIZE = 96 };

struct sizes {
    uint32_t n_k_head, n_v_head, k_dim, v_dim;
};

// Adds a tensor whose rows from `begin` on belong to the heads of v, with these in GGUF's order.
static void add_reordered(struct gi_hf_build *b, const struct sizes *sizes, uint32_t layer,
                          const char *from, const char *to, uint64_t begin, uint32_t head_rows,
                          enum gi_hf_change change)
{
    struct gi_hf_piece pieces[MAX_HEADS + 1];
    char from_name[NAME_SIZE], to_name[NAME_SIZE];
    const uint32_t n_shared = sizes->n_v_head / sizes->n_k_head; // heads of v that share a key
    const uint64_t n_rows = begin + (uint64_t)sizes->n_v_head * head_rows;
    size_t n = 0;
    snprintf(from_name, sizeof(from_name), "layers.%u.linear_attn.%s", layer, from);
    snprintf(to_name, sizeof(to_name), "blk.%u.%s", layer, to);
    const struct gi_safetensor *tensor = gi_hf_find(b, from_name);
    if (tensor && (tensor->n_dims == 0 || tensor->dims[0] != n_rows)) {
        gi_hf_fail(b, GLINFER_STATUS_BAD_FILE,
                   "tensor %s does not have the %llu rows of its heads in config.json",
                   tensor->name, (unsigned long long)n_rows);
        return;
    }
    if (begin > 0) {
        pieces[n++] = (struct gi_hf_piece){from_name, 0, begin};
    }
    for (uint32_t i = 0; i < sizes->n_v_head; i++) {
        const uint32_t head = i % sizes->n_k_head * n_shared + i / sizes->n_k_head;
        const uint64_t first = begin + (uint64_t)head * head_rows;
        pieces[n++] = (struct gi_hf_piece){from_name, first, first + head_rows};
    }
    gi_hf_add_joined(b, to_name, pieces, n, change);
}

static void add_linear_layer(struct gi_hf_build *b, const struct sizes *sizes, uint32_t layer)
{
    const uint64_t qk = 2 * (uint64_t)sizes->n_k_head * sizes->k_dim;
    const uint32_t dim = sizes->v_dim;
    add_reordered(b, sizes, layer, "in_proj_qkv.weight", "attn_qkv.weight", qk, dim, GI_HF_NONE);
    add_reordered(b, sizes, layer, "in_proj_z.weight", "attn_gate.weight", 0, dim, GI_HF_NONE);
    add_reordered(b, sizes, layer, "in_proj_a.weight", "ssm_alpha.weight", 0, 1, GI_HF_NONE);
    add_reordered(b, sizes, layer, "in_proj_b.weight", "ssm_beta.weight", 0, 1, GI_HF_NONE);
    add_reordered(b, sizes, layer, "dt_bias", "ssm_dt.bias", 0, 1, GI_HF_NONE);
    add_reordered(b, sizes, layer, "A_log", "ssm_a", 0, 1, GI_HF_NEGATIVE_EXP);
    add_reordered(b, sizes, layer, "conv1d.weight", "ssm_conv1d.weight", qk, dim, GI_HF_SQUEEZE);
}

static bool read_sizes(struct gi_hf_build *b, struct sizes *sizes)
{
    *sizes = (struct sizes){
        .n_k_head = gi_hf_u32(b, "linear_num_key_heads"),
        .n_v_head = gi_hf_u32(b, "linear_num_value_heads"),
        .k_dim = gi_hf_u32(b, "linear_key_head_dim"),
        .v_dim = gi_hf_u32(b, "linear_value_head_dim"),
    };
    if (gi_hf_ok(b) && (sizes->n_k_head == 0 || sizes->n_v_head == 0 ||
                        sizes->n_v_head % sizes->n_k_head != 0 || sizes->n_v_head > MAX_HEADS)) {
        gi_hf_fail(b, GLINFER_STATUS_BAD_FILE,
                   "config.json: %u heads of v cannot share %u heads of k evenly, at most %d",
                   sizes->n_v_head, sizes->n_k_head, MAX_HEADS);
    }
    return gi_hf_ok(b);
}

//-- pairs -----------------------------------------------------------------------------------------

static void add_linear_pairs(struct gi_hf_build *b, const struct sizes *sizes)
{
    struct gi_hf_layers linear;
    gi_hf_add_u32(b, "ssm.conv_kernel", gi_hf_u32(b, "linear_conv_kernel_dim"));
    gi_hf_add_u32(b, "ssm.state_size", sizes->k_dim);
    gi_hf_add_u32(b, "ssm.group_count", sizes->n_k_head);
    gi_hf_add_u32(b, "ssm.time_step_rank", sizes->n_v_head);
    gi_hf_add_u32(b, "ssm.inner_size", sizes->n_v_head * sizes->v_dim);
    gi_hf_add_u32(b, "full_attention_interval", gi_hf_u32_or(b, "full_attention_interval", 4));
    if (gi_hf_read_layers(b, "linear_attention", &linear)) {
        gi_hf_add_bools(b, "attention.recurrent_layers", linear.is, linear.count);
    }
}

// Adds the sections of rotations by time, height and width, which are the same in text.
static void add_rope(struct gi_hf_build *b)
{
    uint32_t sections[4] = {11, 11, 10, 0}, n = 0;
    const cJSON *list = gi_hf_get(b, "rope_parameters.mrope_section|rope_scaling.mrope_section");
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        uint64_t value;
        if (n == 4 || !gi_hf_json_count(item, &value) || value > UINT16_MAX) {
            gi_hf_fail(b, GLINFER_STATUS_BAD_FILE,
                       "config.json: the key mrope_section is invalid, expected at most 4 numbers");
            return;
        }
        sections[n++] = (uint32_t)value;
    }
    gi_hf_add_u32s(b, "rope.dimension_sections", sections, 4);
    gi_hf_add_u32(b, "rope.dimension_count",
                  gi_hf_fraction_of(b, gi_hf_head_dim(b),
                                    "rope_parameters.partial_rotary_factor|partial_rotary_factor",
                                    0.25f));
    gi_hf_add_f32(b, "rope.freq_base", gi_hf_rope_base(b, 10000.0f));
}

//-- norms -----------------------------------------------------------------------------------------

// Returns true if mlx-lm converted the folder: it moves the taps of convolutions, and adds 1 to the
// norms.
static bool is_of_mlx(const struct gi_hf_build *b, uint32_t n_layer)
{
    const struct gi_safetensor *conv = NULL;
    for (uint32_t i = 0; !conv && i < n_layer; i++) {
        char name[NAME_SIZE];
        snprintf(name, sizeof(name), "layers.%u.linear_attn.conv1d.weight", i);
        conv = gi_hf_find(b, name);
    }
    return conv && conv->n_dims == 3 && conv->dims[1] > 1 && conv->dims[2] == 1;
}

static void add_norms(struct gi_hf_build *b, bool is_whole)
{
    struct gi_hf_row own[sizeof(norm_rows) / sizeof(norm_rows[0])];
    memcpy(own, norm_rows, sizeof(own));
    for (size_t i = 0; is_whole && i < sizeof(own) / sizeof(own[0]); i++) {
        own[i].change = GI_HF_NONE;
    }
    GI_HF_ADD_ROWS(b, own);
}

static void build(struct gi_hf_build *b)
{
    struct sizes sizes;
    if (!read_sizes(b, &sizes)) {
        return;
    }
    gi_hf_add_sizes(b);
    gi_hf_add_u32(b, "context_length", gi_hf_u32(b, "max_position_embeddings"));
    gi_hf_add_u32(b, "attention.head_count_kv", gi_hf_u32(b, "num_key_value_heads"));
    gi_hf_add_head_dim(b, gi_hf_head_dim(b));
    add_rope(b);
    add_linear_pairs(b, &sizes);
    const uint32_t n_layer = gi_hf_layer_count(b);
    for (uint32_t i = 0; i < n_layer && gi_hf_ok(b); i++) {
        add_linear_layer(b, &sizes, i);
    }
    add_norms(b, is_of_mlx(b, n_layer));
    GI_HF_ADD_ROWS(b, rows);
    // Columns of the heads of v.
    const struct gi_hf_row out = {LINEAR "out_proj.weight", "blk.%.ssm_out.weight",
                                  GI_HF_HEAD_COLUMNS};
    gi_hf_add_rows(b, &out, 1);
}

static void build_dense(struct gi_hf_build *b)
{
    gi_hf_add_u32(b, "feed_forward_length", gi_hf_u32(b, "intermediate_size"));
    build(b);
}

static void build_experts(struct gi_hf_build *b)
{
    gi_hf_add_experts(b, "num_experts");
    gi_hf_add_u32(b, "expert_feed_forward_length", gi_hf_u32(b, "moe_intermediate_size"));
    gi_hf_add_shared_expert(b);
    build(b);
}

#define SIZES                                                                                      \
    "\"head_dim\":256,\"linear_conv_kernel_dim\":4,\"linear_key_head_dim\":128,"                   \
    "\"linear_num_key_heads\":16,\"linear_num_value_heads\":32,\"linear_value_head_dim\":128,"     \
    "\"max_position_embeddings\":32768,\"rms_norm_eps\":1e-6"
#define DEFAULTS "{" SIZES ",\"num_key_value_heads\":4}"
#define EXPERT_DEFAULTS                                                                            \
    "{" SIZES ",\"moe_intermediate_size\":512,\"num_key_value_heads\":2,"                          \
    "\"shared_expert_intermediate_size\":512}"

static const struct gi_hf_fixed fixed[] = {
    GI_HF_SILU,
    GI_HF_NO_BIASES,
    GI_HF_PLAIN_ROPE,
    {"layer_types", "full_attention|linear_attention"},
    {"attn_output_gate", "true"},
    {"norm_topk_prob", "true"},
    {NULL, NULL},
};

const struct gi_hf_family gi_hf_qwen35_families[] = {
    {"qwen3_5", NULL, "qwen35", build_dense, DEFAULTS, fixed},
    {"qwen3_5_text", NULL, "qwen35", build_dense, DEFAULTS, fixed},
    {"qwen3_5_moe", NULL, "qwen35moe", build_experts, EXPERT_DEFAULTS, fixed},
    {"qwen3_5_moe_text", NULL, "qwen35moe", build_experts, EXPERT_DEFAULTS, fixed},
    {NULL, NULL, NULL, NULL, NULL, NULL},
};
