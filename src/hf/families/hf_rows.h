// Rows of tensors that families share, for tables of struct gi_hf_row.
#pragma once

#include "hf/hf_build.h"

// clang-format off
#define GI_HF_EMBEDDING                                                                            \
    {"embed_tokens.weight", "token_embd.weight", GI_HF_NONE}
#define GI_HF_OUTPUT(change)                                                                       \
    {"norm.weight", "output_norm.weight", change}, {"lm_head.weight", "output.weight", GI_HF_NONE}

// Norms before attention and before the network.
#define GI_HF_PRE_NORMS                                                                            \
    {"layers.%.input_layernorm.weight", "blk.%.attn_norm.weight", GI_HF_NONE},                     \
    {"layers.%.post_attention_layernorm.weight", "blk.%.ffn_norm.weight", GI_HF_NONE}

// change_q and change_k: of the rows of q and k.
#define GI_HF_ATTENTION(change_q, change_k)                                                        \
    {"layers.%.self_attn.q_proj.weight", "blk.%.attn_q.weight", change_q},                         \
    {"layers.%.self_attn.k_proj.weight", "blk.%.attn_k.weight", change_k},                         \
    {"layers.%.self_attn.v_proj.weight", "blk.%.attn_v.weight", GI_HF_NONE},                       \
    {"layers.%.self_attn.o_proj.weight", "blk.%.attn_output.weight", GI_HF_NONE}
#define GI_HF_ATTENTION_BIASES(change_q, change_k)                                                 \
    {"layers.%.self_attn.q_proj.bias", "blk.%.attn_q.bias", change_q},                             \
    {"layers.%.self_attn.k_proj.bias", "blk.%.attn_k.bias", change_k},                             \
    {"layers.%.self_attn.v_proj.bias", "blk.%.attn_v.bias", GI_HF_NONE},                           \
    {"layers.%.self_attn.o_proj.bias", "blk.%.attn_output.bias", GI_HF_NONE}
// Norms of heads, or of all of q and k.
#define GI_HF_HEAD_NORMS(change)                                                                   \
    {"layers.%.self_attn.q_norm.weight", "blk.%.attn_q_norm.weight", change},                      \
    {"layers.%.self_attn.k_norm.weight", "blk.%.attn_k_norm.weight", change}

#define GI_HF_NETWORK                                                                              \
    {"layers.%.mlp.gate_proj.weight", "blk.%.ffn_gate.weight", GI_HF_NONE},                        \
    {"layers.%.mlp.up_proj.weight", "blk.%.ffn_up.weight", GI_HF_NONE},                            \
    {"layers.%.mlp.down_proj.weight", "blk.%.ffn_down.weight", GI_HF_NONE}
// Experts that MLX stacked, by the start of their names.
#define GI_HF_SWITCH(start)                                                                        \
    {start "gate_proj.weight", "blk.%.ffn_gate_exps.weight", GI_HF_NONE},                          \
    {start "up_proj.weight", "blk.%.ffn_up_exps.weight", GI_HF_NONE},                              \
    {start "down_proj.weight", "blk.%.ffn_down_exps.weight", GI_HF_NONE}
// Experts, each with tensors of its own.
#define GI_HF_EXPERTS                                                                              \
    {"layers.%.mlp.experts.#.gate_proj.weight", "blk.%.ffn_gate_exps.weight", GI_HF_NONE},         \
    {"layers.%.mlp.experts.#.up_proj.weight", "blk.%.ffn_up_exps.weight", GI_HF_NONE},             \
    {"layers.%.mlp.experts.#.down_proj.weight", "blk.%.ffn_down_exps.weight", GI_HF_NONE},         \
    {"layers.%.mlp.gate.weight", "blk.%.ffn_gate_inp.weight", GI_HF_NONE},                         \
    GI_HF_SWITCH("layers.%.mlp.switch_mlp.")
// clang-format on
