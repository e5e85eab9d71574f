// Llama, Mistral and Mixtral, Qwen 2 and 3 with and without experts: decoders with norms before the
// blocks and matrices of their own for q, k, v, gate and up.
//   transformers, models/llama, models/mistral, models/mixtral, models/qwen2, models/qwen3
#include "hf/families/hf_families.h"
#include "hf/families/hf_fixed.h"
#include "hf/families/hf_layers.h"
#include "hf/families/hf_rows.h"

#include <string.h>

#define OUTER_ROWS GI_HF_EMBEDDING, GI_HF_OUTPUT(GI_HF_NONE), GI_HF_PRE_NORMS

#define ATTENTION_ROWS(change_q, change_k)                                                         \
    GI_HF_ATTENTION(change_q, change_k), GI_HF_ATTENTION_BIASES(change_q, change_k),               \
        GI_HF_HEAD_NORMS(GI_HF_NONE)

#define NETWORK_ROWS                                                                               \
    GI_HF_NETWORK, {"layers.%.mlp.gate_proj.bias", "blk.%.ffn_gate.bias", GI_HF_NONE},             \
        {"layers.%.mlp.up_proj.bias", "blk.%.ffn_up.bias", GI_HF_NONE},                            \
    {                                                                                              \
        "layers.%.mlp.down_proj.bias", "blk.%.ffn_down.bias", GI_HF_NONE                           \
    }

// Experts one by one, or stacked as newer files have them.
#define EXPERT_ROWS                                                                                \
    GI_HF_EXPERTS,                                                                                 \
        {"layers.%.mlp.experts.gate_up_proj", "blk.%.ffn_gate_exps.weight", GI_HF_FIRST_HALF},     \
        {"layers.%.mlp.experts.gate_up_proj", "blk.%.ffn_up_exps.weight", GI_HF_SECOND_HALF},      \
        {"layers.%.mlp.experts.down_proj", "blk.%.ffn_down_exps.weight", GI_HF_NONE},              \
        {"layers.%.mlp.shared_expert_gate.weight", "blk.%.ffn_gate_inp_shexp.weight",              \
         GI_HF_SQUEEZE},                                                                           \
        {"layers.%.mlp.shared_expert.gate_proj.weight", "blk.%.ffn_gate_shexp.weight",             \
         GI_HF_NONE},                                                                              \
        {"layers.%.mlp.shared_expert.up_proj.weight", "blk.%.ffn_up_shexp.weight", GI_HF_NONE},    \
    {                                                                                              \
        "layers.%.mlp.shared_expert.down_proj.weight", "blk.%.ffn_down_shexp.weight", GI_HF_NONE   \
    }

static const struct gi_hf_row llama_rows[] = {
    OUTER_ROWS,
    ATTENTION_ROWS(GI_HF_ROPE_PAIRS_Q, GI_HF_ROPE_PAIRS_K),
    NETWORK_ROWS,
};
static const struct gi_hf_row mixtral_rows[] = {
    {"layers.%.block_sparse_moe.gate.weight", "blk.%.ffn_gate_inp.weight", GI_HF_NONE},
    {"layers.%.block_sparse_moe.experts.#.w1.weight", "blk.%.ffn_gate_exps.weight", GI_HF_NONE},
    {"layers.%.block_sparse_moe.experts.#.w2.weight", "blk.%.ffn_down_exps.weight", GI_HF_NONE},
    {"layers.%.block_sparse_moe.experts.#.w3.weight", "blk.%.ffn_up_exps.weight", GI_HF_NONE},
    GI_HF_SWITCH("layers.%.block_sparse_moe.switch_mlp."),
};
static const struct gi_hf_row qwen_rows[] = {
    OUTER_ROWS,
    ATTENTION_ROWS(GI_HF_NONE, GI_HF_NONE),
    NETWORK_ROWS,
    EXPERT_ROWS,
};

static void build_llama(struct gi_hf_build *b)
{
    gi_hf_add_decoder(b);
    GI_HF_ADD_ROWS(b, llama_rows);
}

static void build_mistral(struct gi_hf_build *b)
{
    gi_hf_limit_context(b);
    build_llama(b);
}

static void build_mixtral(struct gi_hf_build *b)
{
    build_mistral(b);
    gi_hf_add_experts(b, "num_local_experts");
    GI_HF_ADD_ROWS(b, mixtral_rows);
}

static void build_qwen(struct gi_hf_build *b)
{
    gi_hf_limit_context(b);
    gi_hf_add_decoder(b);
    GI_HF_ADD_ROWS(b, qwen_rows);
}

static void build_qwen_moe(struct gi_hf_build *b)
{
    build_qwen(b);
    gi_hf_add_experts(b, "num_experts");
    gi_hf_add_u32(b, "expert_feed_forward_length", gi_hf_u32(b, "moe_intermediate_size"));
}

static void build_qwen2_moe(struct gi_hf_build *b)
{
    build_qwen_moe(b);
    if (gi_hf_get(b, "shared_expert_intermediate_size")) {
        gi_hf_add_shared_expert(b);
    }
}

// Every fourth layer of SmolLM 3 has no rotations, which the engine knows.
static void build_smollm3(struct gi_hf_build *b)
{
    const cJSON *list = gi_hf_get(b, "no_rope_layers"), *item;
    uint32_t layer = 0;
    cJSON_ArrayForEach(item, list)
    {
        layer++;
        if (!cJSON_IsNumber(item) || (item->valuedouble != 0) != (layer % 4 != 0)) {
            gi_hf_fail(b, GLINFER_STATUS_UNSUPPORTED,
                       "config.json: no_rope_layers is not 0 in every fourth layer and 1 in all "
                       "others, which alone is supported");
        }
    }
    build_mistral(b);
}

// Mistral 3 is Mistral in a model with vision, or Ministral 3, whose contexts are stretched.
static void build_mistral3(struct gi_hf_build *b)
{
    build_mistral(b);
    if (gi_hf_get(b, "rope_parameters.llama_4_scaling_beta")) {
        gi_hf_add_f32(b, "rope.scaling.yarn_log_multiplier",
                      gi_hf_f32(b, "rope_parameters.mscale_all_dim"));
        gi_hf_add_f32(b, "attention.temperature_scale",
                      gi_hf_f32(b, "rope_parameters.llama_4_scaling_beta"));
    }
}

#define LLAMA_DEFAULTS   "{\"max_position_embeddings\":2048}"
#define MISTRAL_DEFAULTS "{\"max_position_embeddings\":131072,\"num_key_value_heads\":8}"
#define MIXTRAL_DEFAULTS                                                                           \
    "{\"max_position_embeddings\":131072,\"num_experts_per_tok\":2,\"num_key_value_heads\":8,"     \
    "\"num_local_experts\":8,\"rms_norm_eps\":1e-5,\"rope_theta\":1000000}"
#define QWEN_DEFAULTS "{\"max_position_embeddings\":32768,\"use_sliding_window\":false}"
#define QWEN_EXPERT_DEFAULTS                                                                       \
    "{\"max_position_embeddings\":32768,\"norm_topk_prob\":false,\"use_sliding_window\":false}"
#define SMOLLM3_DEFAULTS                                                                           \
    "{\"max_position_embeddings\":32768,\"num_key_value_heads\":4,\"rope_theta\":2000000,"         \
    "\"tie_word_embeddings\":true,\"use_sliding_window\":false}"
#define MINISTRAL3_DEFAULTS                                                                        \
    "{\"max_position_embeddings\":262144,\"num_key_value_heads\":8,\"rms_norm_eps\":1e-5,"         \
    "\"rope_theta\":1000000}"

#define FIXED GI_HF_SILU, GI_HF_WHOLE_ROPE, GI_HF_WINDOWS

static const struct gi_hf_fixed llama_fixed[] = {
    FIXED, GI_HF_BIASES, {"mlp_bias", "layers.0.mlp.up_proj.bias"}, {NULL, NULL}};
static const struct gi_hf_fixed mistral_fixed[] = {FIXED, {NULL, NULL}};
static const struct gi_hf_fixed qwen3_fixed[] = {FIXED, GI_HF_BIASES, {NULL, NULL}};
static const struct gi_hf_fixed mistral3_fixed[] = {
    FIXED, {"rope_parameters.mscale", "1"}, {NULL, NULL}};
static const struct gi_hf_fixed qwen2_moe_fixed[] = {
    FIXED, GI_HF_ALL_EXPERTS, {"qkv_bias", "true"}, {"norm_topk_prob", "false"}, {NULL, NULL}};
static const struct gi_hf_fixed qwen3_moe_fixed[] = {
    FIXED, GI_HF_BIASES, GI_HF_ALL_EXPERTS, {"norm_topk_prob", "true"}, {NULL, NULL}};
static const struct gi_hf_fixed smollm3_fixed[] = {FIXED,
                                                   GI_HF_BIASES,
                                                   {"mlp_bias", "layers.0.mlp.up_proj.bias"},
                                                   {"no_rope_layer_interval", "4"},
                                                   {NULL, NULL}};

const struct gi_hf_family gi_hf_llama_families[] = {
    {"llama", NULL, "llama", build_llama, LLAMA_DEFAULTS, llama_fixed},
    {"mistral", NULL, "llama", build_mistral, MISTRAL_DEFAULTS, mistral_fixed},
    {"mixtral", NULL, "llama", build_mixtral, MIXTRAL_DEFAULTS, mistral_fixed},
    {"qwen2", NULL, "qwen2", build_qwen, QWEN_DEFAULTS, mistral_fixed},
    {"qwen2_moe", NULL, "qwen2moe", build_qwen2_moe, QWEN_EXPERT_DEFAULTS, qwen2_moe_fixed},
    {"qwen3", NULL, "qwen3", build_qwen, QWEN_DEFAULTS, qwen3_fixed},
    {"qwen3_moe", NULL, "qwen3moe", build_qwen_moe, QWEN_EXPERT_DEFAULTS, qwen3_moe_fixed},
    {"smollm3", NULL, "smollm3", build_smollm3, SMOLLM3_DEFAULTS, smollm3_fixed},
    {"mistral3", NULL, "mistral3", build_mistral3, MINISTRAL3_DEFAULTS, mistral3_fixed},
    {"ministral3", NULL, "mistral3", build_mistral3, MINISTRAL3_DEFAULTS, mistral3_fixed},
    {NULL, NULL, NULL, NULL, NULL, NULL},
};
