// gpt-oss: mixtures whose gate and up alternate, as MXFP4 blocks or, in copies, as plain numbers.
#include "hf/families/hf_families.h"
#include "hf/families/hf_fixed.h"
#include "hf/families/hf_layers.h"
#include "hf/families/hf_rows.h"

#define EXPERTS "layers.%.mlp.experts."

static const struct gi_hf_row rows[] = {
    GI_HF_EMBEDDING,
    GI_HF_OUTPUT(GI_HF_NONE),
    {"layers.%.input_layernorm.weight", "blk.%.attn_norm.weight", GI_HF_NONE},
    {"layers.%.post_attention_layernorm.weight", "blk.%.post_attention_norm.weight", GI_HF_NONE},
    GI_HF_ATTENTION(GI_HF_NONE, GI_HF_NONE),
    GI_HF_ATTENTION_BIASES(GI_HF_NONE, GI_HF_NONE),
    {"layers.%.self_attn.sinks", "blk.%.attn_sinks.weight", GI_HF_NONE},
    {"layers.%.mlp.router.weight", "blk.%.ffn_gate_inp.weight", GI_HF_NONE},
    {"layers.%.mlp.router.bias", "blk.%.ffn_gate_inp.bias", GI_HF_NONE},
    {EXPERTS "gate_up_proj_bias", "blk.%.ffn_gate_exps.bias", GI_HF_EVEN_COLUMNS},
    {EXPERTS "gate_up_proj_bias", "blk.%.ffn_up_exps.bias", GI_HF_ODD_COLUMNS},
    {EXPERTS "down_proj_bias", "blk.%.ffn_down_exps.bias", GI_HF_NONE},
    {EXPERTS "gate_up_proj", "blk.%.ffn_gate_exps.weight", GI_HF_TRANSPOSE_EVEN},
    {EXPERTS "gate_up_proj", "blk.%.ffn_up_exps.weight", GI_HF_TRANSPOSE_ODD},
    {EXPERTS "down_proj", "blk.%.ffn_down_exps.weight", GI_HF_TRANSPOSE},
    GI_HF_SWITCH(EXPERTS), // of MLX
    {EXPERTS "gate_proj.bias", "blk.%.ffn_gate_exps.bias", GI_HF_NONE},
    {EXPERTS "up_proj.bias", "blk.%.ffn_up_exps.bias", GI_HF_NONE},
    {EXPERTS "down_proj.bias", "blk.%.ffn_down_exps.bias", GI_HF_NONE},
};
static const struct gi_hf_row packed_rows[] = {
    {EXPERTS "gate_up_proj", "blk.%.ffn_gate_exps.weight", GI_HF_EVEN_ROWS},
    {EXPERTS "gate_up_proj", "blk.%.ffn_up_exps.weight", GI_HF_ODD_ROWS},
    {EXPERTS "down_proj", "blk.%.ffn_down_exps.weight", GI_HF_NONE},
};

static void build(struct gi_hf_build *b)
{
    gi_hf_add_decoder(b);
    gi_hf_add_experts(b, "num_local_experts");
    gi_hf_add_u32(b, "expert_feed_forward_length", gi_hf_u32(b, "intermediate_size"));
    gi_hf_add_u32(b, "attention.sliding_window", gi_hf_u32(b, "sliding_window"));
    gi_hf_add_windows(b, 2, 2, false);
    GI_HF_ADD_ROWS(b, rows);
    gi_hf_add_packed(b, packed_rows, sizeof(packed_rows) / sizeof(packed_rows[0]));
}

#define DEFAULTS                                                                                   \
    "{\"head_dim\":64,\"max_position_embeddings\":131072,\"num_key_value_heads\":8,"               \
    "\"rms_norm_eps\":1e-5,\"rope_theta\":150000,\"sliding_window\":128}"

static const struct gi_hf_fixed fixed[] = {
    GI_HF_SILU,   GI_HF_WHOLE_ROPE,          GI_HF_WINDOWS,
    GI_HF_BIASES, {"swiglu_alpha", "1.702"}, {"swiglu_limit", "7"},
    {NULL, NULL},
};

const struct gi_hf_family gi_hf_gpt_oss_families[] = {
    {"gpt_oss", NULL, "gpt-oss", build, DEFAULTS, fixed},
    {NULL, NULL, NULL, NULL, NULL, NULL},
};
