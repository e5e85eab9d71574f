// What several families share: tables of weights in the names that their files use, and the plainest of layers.
#ifndef GI_MODELS_DECODER_WEIGHTS_H
#define GI_MODELS_DECODER_WEIGHTS_H

#include "graph/model_family.h"

// Rows of such tables: the layer's tensors by what follows "blk.%u.", a name given twice where one tensor has both, and
// the norm whose gamma the results carry.
#define GI_WEIGHT_QKV(q, k, v)                                                                     \
    {                                                                                              \
        .slot = GI_SLOT_QKV, .name = "attn_qkv", .order = GI_WEIGHT_ORDER_QKV,                     \
        .cols = GI_DIM_EMBD, .sources[0] = {"blk.%u." q, GI_DIM_Q},                                \
        .sources[1] = {"blk.%u." k, GI_DIM_KV}, .sources[2] = {"blk.%u." v, GI_DIM_KV},            \
        .next_norm = GI_NORM_NONE,                                                                 \
    }
#define GI_WEIGHT_OUT(norm)                                                                        \
    {                                                                                              \
        .slot = GI_SLOT_OUT, .name = "attn_out", .order = GI_WEIGHT_ORDER_PLAIN, .cols = GI_DIM_Q, \
        .sources[0] = {"blk.%u.attn_output", GI_DIM_EMBD}, .next_norm = (norm),                    \
    }
#define GI_WEIGHT_GATE_UP(gate, up)                                                                \
    {                                                                                              \
        .slot = GI_SLOT_GATE_UP, .name = "ffn_gate_up", .order = GI_WEIGHT_ORDER_GATE_UP,          \
        .cols = GI_DIM_EMBD, .sources[0] = {"blk.%u." gate, GI_DIM_FF},                            \
        .sources[1] = {"blk.%u." up, GI_DIM_FF}, .next_norm = GI_NORM_NONE,                        \
    }
#define GI_WEIGHT_DOWN(norm)                                                                       \
    {                                                                                              \
        .slot = GI_SLOT_DOWN, .name = "ffn_down", .order = GI_WEIGHT_ORDER_PLAIN,                  \
        .cols = GI_DIM_FF, .sources[0] = {"blk.%u.ffn_down", GI_DIM_EMBD}, .next_norm = (norm),    \
    }
#define GI_WEIGHT_EXPERTS_GATE_UP                                                                  \
    {                                                                                              \
        .slot = GI_SLOT_GATE_UP, .name = "ffn_gate_up", .order = GI_WEIGHT_ORDER_EXPERTS_GATE_UP,  \
        .cols = GI_DIM_EMBD, .sources[0] = {"blk.%u.ffn_gate_exps", GI_DIM_FF},                    \
        .sources[1] = {"blk.%u.ffn_up_exps", GI_DIM_FF}, .next_norm = GI_NORM_NONE,                \
    }
#define GI_WEIGHT_EXPERTS_DOWN                                                                     \
    {                                                                                              \
        .slot = GI_SLOT_DOWN, .name = "ffn_down", .order = GI_WEIGHT_ORDER_EXPERTS,                \
        .cols = GI_DIM_FF, .sources[0] = {"blk.%u.ffn_down_exps", GI_DIM_EMBD},                    \
        .next_norm = GI_NORM_NONE,                                                                 \
    }
#define GI_WEIGHT_ROUTER                                                                           \
    {                                                                                              \
        .slot = GI_SLOT_ROUTER, .name = "router", .order = GI_WEIGHT_ORDER_PLAIN,                  \
        .cols = GI_DIM_EMBD, .sources[0] = {"blk.%u.ffn_gate_inp", GI_DIM_EXPERT},                 \
        .next_norm = GI_NORM_NONE,                                                                 \
    }

// A matrix each for q, k, v, the attention's output, gate, up and down.
#define GI_DECODER_N_WEIGHTS 4
// With a norm before either block: what adds to the residual carries the gamma of the norm that follows.
extern const struct gi_weight_spec gi_pre_norm_weights[GI_DECODER_N_WEIGHTS];
// With a norm after either block, which a kernel of its own works out.
extern const struct gi_weight_spec gi_post_norm_weights[GI_DECODER_N_WEIGHTS];

// With a norm before either block and a mixture of experts for the feed-forward network.
#define GI_EXPERT_N_WEIGHTS 5
extern const struct gi_weight_spec gi_expert_weights[GI_EXPERT_N_WEIGHTS];

// The norms before the blocks.
#define GI_PRE_NORM_N_NORMS 2
extern const struct gi_norm_spec gi_pre_norm_norms[GI_PRE_NORM_N_NORMS];

// The norms before and after the blocks.
#define GI_SANDWICH_N_NORMS 4
extern const struct gi_norm_spec gi_sandwich_norms[GI_SANDWICH_N_NORMS];

// A layer of both: attention, then the feed-forward network.
bool gi_pre_norm_record_layer(struct gi_graph *graph, uint32_t layer, struct glinfer_error *err);

// What follows q, k and v in a layer with a norm after either block; before is the feed-forward network's, or
// GI_NORM_NONE.
bool gi_post_norm_record_rest(struct gi_graph *graph, uint32_t layer, enum gi_norm before,
                              struct glinfer_error *err);

// A layer with both, and none of q and k.
bool gi_sandwich_record_layer(struct gi_graph *graph, uint32_t layer, struct glinfer_error *err);

#endif
