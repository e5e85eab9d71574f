// How a family names its weights: which tensors of the file make each weight matrix of a layer, in which
// order of rows, and what their shapes must be. Tables of these are data of models/*.c; the engine finds
// and checks the tensors by them.
#ifndef GI_GRAPH_WEIGHT_SPEC_H
#define GI_GRAPH_WEIGHT_SPEC_H

#include "graph/model_facts.h"

// The weight matrices of a layer, as the blocks of graph.h use them.
enum gi_slot {
    GI_SLOT_QKV,
    GI_SLOT_OUT,
    GI_SLOT_GATE_UP,
    GI_SLOT_DOWN,
    GI_SLOT_COUNT,
};

// The norms of a layer.
enum gi_norm {
    GI_NORM_ATTN,
    GI_NORM_FFN,
    GI_NORM_COUNT,
    GI_NORM_NEXT, // the first norm of the next layer, or the one before the output
    GI_NORM_NONE,
};

enum gi_weight_order { // ops/weight.h draws them
    GI_WEIGHT_ORDER_PLAIN,
    GI_WEIGHT_ORDER_QKV,
    GI_WEIGHT_ORDER_GATE_UP,
};

enum gi_dim {
    GI_DIM_NONE,
    GI_DIM_EMBD,
    GI_DIM_Q,  // n_head * head_dim
    GI_DIM_KV, // n_kv_head * head_dim
    GI_DIM_FF,
    GI_DIM_VOCAB,
};

#define GI_MAX_SOURCES 3

struct gi_weight_spec {
    enum gi_slot slot;
    const char *name; // "attn_qkv": for labels
    enum gi_weight_order order;
    enum gi_dim cols;
    struct {
        const char
            *name; // "blk.%u.attn_q", without .weight and .bias; a bias is taken where there is one
        enum gi_dim rows;
    } sources[GI_MAX_SOURCES];
    enum gi_norm next_norm; // the norm that follows, whose gamma travels with the matrix
};

struct gi_norm_spec {
    enum gi_norm norm;
    const char *name; // "blk.%u.attn_norm", without .weight
};

// Elements of a dimension.
uint32_t gi_dim_size(const struct gi_model_facts *facts, enum gi_dim dim);

#endif
