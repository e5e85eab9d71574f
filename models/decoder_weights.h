// Shared by families: tables of weights under the names that their files use, and the plainest
// layers.
#pragma once

#include "graph/model_family.h"

// Rows of such tables: the layer's tensors by what follows "blk.%u." (a name is given twice if one
// tensor has both), and the norm whose gamma the results carry.
#define GI_WEIGHT_QKV(q, k, v)                                                                     \
    {                                                                                              \
        .slot = GI_SLOT_QKV, .name = "attn_qkv", .order = GI_WEIGHT_ORDER_QKV,                     \
        .cols = GI_DIM_EMBD, .sources[0] = {"blk.%u." q, GI_DIM_Q},                                \
        .sources[1] = {"blk.%u." k, GI_DIM_KV}, .sources[2] = {"blk.%u." v, GI_DIM_KV},            \
        .next_norm = GI_NORM_NONE,                                                                 \
    }
#define GI_WEIGHT_GATE_UP(gate, up)                                                                \
    {                                                                                              \
        .slot = GI_SLOT_GATE_UP, .name = "ffn_gate_up", .order = GI_WEIGHT_ORDER_GATE_UP,          \
        .cols = GI_DIM_EMBD, .sources[0] = {"blk.%u." gate, GI_DIM_FF},                            \
        .sources[1] = {"blk.%u." up, GI_DIM_FF}, .next_norm = GI_NORM_NONE,                        \
    }
// Holds the experts of a mixture, and of the one that all tokens share in a model that has it.
#define GI_WEIGHT_EXPERTS_GATE_UP                                                                  \
    {                                                                                              \
        .slot = GI_SLOT_GATE_UP, .name = "ffn_gate_up", .order = GI_WEIGHT_ORDER_EXPERTS_GATE_UP,  \
        .cols = GI_DIM_EMBD, .sources[0] = {"blk.%u.ffn_gate_exps", GI_DIM_EXPERT_FF},             \
        .sources[1] = {"blk.%u.ffn_up_exps", GI_DIM_EXPERT_FF},                                    \
        .sources[2] = {"blk.%u.ffn_gate_shexp", GI_DIM_SHARED_FF},                                 \
        .sources[3] = {"blk.%u.ffn_up_shexp", GI_DIM_SHARED_FF}, .next_norm = GI_NORM_NONE,        \
    }
#define GI_WEIGHT_EXPERTS_DOWN                                                                     \
    {                                                                                              \
        .slot = GI_SLOT_DOWN, .name = "ffn_down", .order = GI_WEIGHT_ORDER_EXPERTS,                \
        .cols = GI_DIM_EXPERT_FF, .sources[0] = {"blk.%u.ffn_down_exps", GI_DIM_EMBD},             \
        .sources[1] = {"blk.%u.ffn_down_shexp", GI_DIM_EMBD}, .next_norm = GI_NORM_NONE,           \
    }
#define GI_WEIGHT_ROUTER                                                                           \
    GI_WEIGHT_ONE(GI_SLOT_ROUTER, "router", GI_WEIGHT_ORDER_PLAIN, GI_DIM_EMBD, "ffn_gate_inp",    \
                  GI_DIM_EXPERT, GI_NORM_NONE)
// The router's matrix, followed by the gate of the shared expert.
#define GI_WEIGHT_ROUTER_GATED                                                                     \
    {                                                                                              \
        .slot = GI_SLOT_ROUTER, .name = "router", .order = GI_WEIGHT_ORDER_STACKED,                \
        .cols = GI_DIM_EMBD, .sources[0] = {"blk.%u.ffn_gate_inp", GI_DIM_EXPERT},                 \
        .sources[1] = {"blk.%u.ffn_gate_inp_shexp", GI_DIM_ONE}, .next_norm = GI_NORM_NONE,        \
    }
#define GI_WEIGHT_ONE(slot_, name_, order_, cols_, tensor, rows, norm)                             \
    {                                                                                              \
        .slot = (slot_), .name = (name_), .order = (order_), .cols = (cols_),                      \
        .sources[0] = {"blk.%u." tensor, rows}, .next_norm = (norm),                               \
    }
#define GI_WEIGHT_UP                                                                               \
    GI_WEIGHT_ONE(GI_SLOT_GATE_UP, "ffn_up", GI_WEIGHT_ORDER_PLAIN, GI_DIM_EMBD, "ffn_up",         \
                  GI_DIM_FF, GI_NORM_NONE)
#define GI_WEIGHT_OUT(norm)                                                                        \
    GI_WEIGHT_ONE(GI_SLOT_OUT, "attn_out", GI_WEIGHT_ORDER_PLAIN, GI_DIM_Q, "attn_output",         \
                  GI_DIM_EMBD, norm)
// The same where the result has a norm of its own before it is added.
#define GI_WEIGHT_NORMED(slot_, name_, cols_, tensor, norm, post)                                  \
    {                                                                                              \
        .slot = (slot_), .name = (name_), .order = GI_WEIGHT_ORDER_PLAIN, .cols = (cols_),         \
        .sources[0] = {"blk.%u." tensor, GI_DIM_EMBD}, .next_norm = (norm), .post_norm = (post),   \
    }
#define GI_WEIGHT_OUT_NORMED                                                                       \
    GI_WEIGHT_NORMED(GI_SLOT_OUT, "attn_out", GI_DIM_Q, "attn_output", GI_NORM_FFN,                \
                     GI_NORM_ATTN_POST)
#define GI_WEIGHT_DOWN_NORMED                                                                      \
    GI_WEIGHT_NORMED(GI_SLOT_DOWN, "ffn_down", GI_DIM_FF, "ffn_down", GI_NORM_NEXT,                \
                     GI_NORM_FFN_POST)
#define GI_WEIGHT_DOWN(norm)                                                                       \
    GI_WEIGHT_ONE(GI_SLOT_DOWN, "ffn_down", GI_WEIGHT_ORDER_PLAIN, GI_DIM_FF, "ffn_down",          \
                  GI_DIM_EMBD, norm)

// A matrix each for q, k, v, the attention's output, gate, up and down: with a norm before either
// block, where what adds to the residual carries the gamma of the norm that follows; and with a
// norm after either block, which has a kernel of its own.
extern const struct gi_weight_spec gi_pre_norm_weights[4];
extern const struct gi_weight_spec gi_post_norm_weights[4];
// The first of these with a network that has no gate.
extern const struct gi_weight_spec gi_ungated_weights[4];
// With a norm before either block, and a mixture of experts for the feed-forward network, with or
// without a shared one that has no gate.
extern const struct gi_weight_spec gi_expert_weights[5];
// The same with a gate of the shared expert.
extern const struct gi_weight_spec gi_gated_expert_weights[5];

// Norms before the blocks; these as layernorms; these and norms of each head of q and k; norms
// before and after the blocks.
extern const struct gi_norm_spec gi_pre_norm_norms[2];
extern const struct gi_norm_spec gi_layernorm_norms[4];
extern const struct gi_norm_spec gi_head_norm_norms[4];
extern const struct gi_norm_spec gi_sandwich_norms[4];

// Record a layer of attention and a feed-forward network or a mixture of experts, with norms
// before.
void gi_pre_norm_record_layer(struct gi_graph *graph, uint32_t layer);
void gi_expert_record_layer(struct gi_graph *graph, uint32_t layer);
// Record the same with norms of q and of k.
void gi_head_norm_record_layer(struct gi_graph *graph, uint32_t layer);
void gi_head_norm_expert_record_layer(struct gi_graph *graph, uint32_t layer);

// Record the same with these norms after the rotation.
void gi_turned_norm_record_layer(struct gi_graph *graph, uint32_t layer);
void gi_turned_norm_expert_record_layer(struct gi_graph *graph, uint32_t layer);

// Records what follows q, k and v in a layer with a norm after either block; before is the norm of
// the feed-forward network's input, or GI_NORM_NONE.
void gi_post_norm_record_rest(struct gi_graph *graph, uint32_t layer, enum gi_norm before);
// Records a layer with norms before and after the blocks, and none of q and k.
void gi_sandwich_record_layer(struct gi_graph *graph, uint32_t layer);

// Reads the epsilon of layernorms.
bool gi_layernorm_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams);

// Reads a window in three of four layers, or as the file says, whose rotations are not scaled.
bool gi_plain_window_hparams(const struct gi_hparams_reader *reader, struct gi_hparams *hparams);

// Returns the rotations of a layer, which differ in one with a window.
const struct gi_rope *gi_layer_rope(const struct gi_graph *graph, uint32_t layer);

// Fields of struct gi_model_family.
#define GI_WEIGHTS(table) .weights = (table), .n_weights = sizeof(table) / sizeof((table)[0])
#define GI_NORMS(table)   .norms = (table), .n_norms = sizeof(table) / sizeof((table)[0])
#define GI_PRE_NORM_BLOCKS                                                                         \
    GI_WEIGHTS(gi_pre_norm_weights), GI_NORMS(gi_pre_norm_norms),                                  \
        .record_layer = gi_pre_norm_record_layer
#define GI_EXPERT_BLOCKS                                                                           \
    .has_experts = true, GI_WEIGHTS(gi_expert_weights), GI_NORMS(gi_pre_norm_norms),               \
    .record_layer = gi_expert_record_layer
#define GI_SANDWICH_BLOCKS GI_NORMS(gi_sandwich_norms), .record_layer = gi_sandwich_record_layer
