// Describes the weights of a family: the tensors of the file that form each weight matrix of a
// layer, the order of rows, and the required shapes. models/*.c define tables of these; the engine
// uses them to find and check the tensors.
#pragma once

#include "graph/hparams.h"

// The weight matrices of a layer, as the blocks of graph.h use them.
enum gi_slot {
    GI_SLOT_QKV,
    GI_SLOT_OUT,
    GI_SLOT_GATE_UP,
    GI_SLOT_DOWN,
    GI_SLOT_ROUTER, // of a mixture of experts
    GI_SLOT_SSM_IN, // of a state space model: to it and from it
    GI_SLOT_SSM_OUT,
    GI_SLOT_INPUT_GATE, // from the residual to the layer's own input, and back
    GI_SLOT_INPUT_OUT,
    GI_SLOT_BRANCH_IN, // of the low-rank branch next to attention: to it and from it
    GI_SLOT_BRANCH_OUT,
    GI_SLOT_BESIDE_GATE_UP, // of the network next to a mixture of experts
    GI_SLOT_BESIDE_DOWN,
    GI_SLOT_COUNT,
};

// The norms and other vectors of a layer.
enum gi_norm {
    GI_NORM_ATTN, // of the residual, before the projections of attention
    GI_NORM_Q,    // of each head of q, or of all of q
    GI_NORM_K,
    GI_NORM_ATTN_POST, // of attention's output, before it is added to the residual
    GI_NORM_FFN,       // of the residual, before the feed-forward network
    GI_NORM_FFN_POST,  // of the network's output, before it is added to the residual
    // Vectors added after GI_NORM_ATTN and GI_NORM_FFN, which are then layernorms, like the norm
    // before the output.
    GI_NORM_ATTN_SHIFT,
    GI_NORM_FFN_SHIFT,
    GI_NORM_SINKS, // of attention: a score of each head that takes part in softmax without a value
    GI_NORM_ROUTER_BIAS, // of a mixture: added for the choice of experts only
    GI_NORM_INPUT,       // of the projection to a layer's own input; the same for all layers
    GI_NORM_INPUT_POST,  // of the term from that input that is added to the residual
    GI_NORM_OUT_SCALE,   // one number, which multiplies the residual after the layer
    // Vectors of a layer with several residual streams: the norm of their router's input, which a
    // mixture may have too, the router's matrix, and the coefficients that its results multiply.
    GI_NORM_ROUTER,
    GI_NORM_ROUTER_MATRIX,
    GI_NORM_PREDICT,
    GI_NORM_CORRECT,
    GI_NORM_CORRECT_SCALE, // of the first stream, before the layer's own input
    GI_NORM_BRANCH_POST,   // of the low-rank branch's output
    // Norms of a layer with a network next to its experts, where GI_NORM_FFN_POST is that of their
    // sum.
    GI_NORM_BESIDE_POST,   // of the network's output
    GI_NORM_EXPERTS,       // of the residual, before the experts
    GI_NORM_EXPERTS_POST,  // of the experts' output
    GI_NORM_EXPERT_FACTOR, // a number for each expert, which multiplies its share
    // Vectors of a recurrent layer.
    GI_NORM_CONV,       // weights of the convolution: (channel, tap)
    GI_NORM_CONV_SHIFT, // a number for each channel
    GI_NORM_STATE,      // of each head of the output, or of the heads of a group
    GI_NORM_DECAY_BIAS, // a number for each head
    GI_NORM_DECAY_RATE, // a number for each head
    GI_NORM_SKIP,       // a number for each head
    GI_NORM_COUNT,
    GI_NORM_NEXT, // the first norm of the next layer, or the one before the output
    GI_NORM_NONE,
};

enum gi_weight_order { // shown in ops/record/weight.h
    GI_WEIGHT_ORDER_PLAIN,
    GI_WEIGHT_ORDER_QKV,
    GI_WEIGHT_ORDER_QKV_GATED, // the first tensor has, for each head, rows of q, then rows of its
                               // gate
    GI_WEIGHT_ORDER_STACKED,
    GI_WEIGHT_ORDER_GATE_UP,
    // One source, or gate and up, of all experts, followed by the same of the shared expert if the
    // model has one.
    GI_WEIGHT_ORDER_EXPERTS,
    GI_WEIGHT_ORDER_EXPERTS_GATE_UP,
};

enum gi_dim {
    GI_DIM_NONE,
    GI_DIM_EMBD,
    GI_DIM_HEAD,
    GI_DIM_Q,       // n_head * head_dim
    GI_DIM_Q_GATED, // twice GI_DIM_Q
    GI_DIM_Q_ROWS,  // GI_DIM_Q, as a row for each head
    GI_DIM_KV,      // n_kv_head * head_dim; 0 for a layer that reads those of an earlier one
    GI_DIM_KV_ROWS, // GI_DIM_KV, as a row for each head
    GI_DIM_K_HEAD,  // head_dim; 0 for a layer that reads keys and values of an earlier one
    GI_DIM_FF,
    GI_DIM_VOCAB,
    GI_DIM_EXPERT, // the number of experts
    GI_DIM_EXPERT_FF,
    GI_DIM_SHARED_FF,   // of the shared expert
    GI_DIM_INPUT,       // of a layer's own input; 0: the model has no such inputs
    GI_DIM_INPUTS,      // the own inputs of all layers
    GI_DIM_INPUT_EMBD,  // GI_DIM_EMBD if layers have their own inputs, else 0
    GI_DIM_ONE,         // a number
    GI_DIM_BRANCH,      // rank of the low-rank branch
    GI_DIM_ROUTER,      // a row of n_embd for each stream
    GI_DIM_PREDICT,     // a row of a number for each stream, for each pair of streams
    GI_DIM_CORRECT,     // a row of a number for each stream, for each stream
    GI_DIM_HEADS,       // the number of heads of q
    GI_DIM_CHANNEL,     // of a recurrent layer: struct gi_recurrent_hparams
    GI_DIM_CONV,        // n_taps of each channel
    GI_DIM_STATE_KEYS,  // elements of all heads of k
    GI_DIM_STATE_HEADS, // the number of heads
    GI_DIM_STATE_HEAD,  // elements of a head
    GI_DIM_STATE,       // elements of all heads
    GI_DIM_STATE_RATES, // a row of one number for each head
    GI_DIM_STATE_NORM,  // a row of the heads of a group, for each group; 0 if states have no norm
};

#define GI_MAX_SOURCES 6
#define GI_TAPS        3u // rows that a convolution sees

struct gi_weight_spec {
    enum gi_slot slot;
    const char *name; // "attn_qkv": for labels
    enum gi_weight_order order;
    enum gi_dim cols;
    struct {
        // "blk.%u.attn_q", without .weight and .bias; a bias is used if the file has it. Sources of
        // the same name are successive slices of a tensor's rows; with is_alternating the slices
        // interleave: for each of a state's heads of k, its rows of each source in turn.
        const char *name;
        enum gi_dim rows;
        const char *instead; // the tensor to use if the file lacks `name`; NULL: it is required
        bool is_alternating;
    } sources[GI_MAX_SOURCES];
    enum gi_norm next_norm; // the norm that follows, whose gamma is stored with the matrix
    // The spec to use for files that have its first source and lack ours; NULL: no alternative.
    const struct gi_weight_spec *other;
    enum gi_norm post_norm; // norm of the result, stored with the matrix; GI_NORM_ATTN: no norm
};

struct gi_norm_spec {
    enum gi_norm norm;
    // "blk.%u.attn_norm", without gi_norm_suffix. NULL: zeros, for the shift of a layernorm that
    // has none.
    const char *name;
    enum gi_dim size;
};

// The layout of norm weights in one range: all norms of a layer, layer by layer, then the norm
// before the output. Offsets are in floats, multiples of 32.
struct gi_norm_layout {
    uint32_t offsets[GI_NORM_COUNT]; // from a layer's first; UINT32_MAX: the model lacks the norm
    enum gi_dim dims[GI_NORM_COUNT];
    uint32_t n_layer, layer_size;
    uint32_t n_turn;       // layers after which the norm before the output follows
    uint32_t output_shift; // of the norm before the output; UINT32_MAX: no shift
    uint32_t size;         // of the whole range
};

// Returns the elements of a dimension in a layer; 0 if the layer has no tensor with it.
uint32_t gi_dim_size(const struct gi_hparams *hparams, uint32_t layer, enum gi_dim dim);

// Sets the shape of a norm's tensor; n_cols * n_rows is gi_dim_size.
void gi_norm_shape(const struct gi_hparams *hparams, uint32_t layer, enum gi_dim dim,
                   uint32_t *n_cols, uint32_t *n_rows);

// Returns the suffix of the name of a norm's tensor: "weight", "bias", or nothing.
const char *gi_norm_suffix(enum gi_norm norm);
// Returns true for a norm that a file may lack: it is then filled with zeros.
bool gi_norm_is_optional(enum gi_norm norm);

// Lays out the norms of two kinds of layers; every layer has room for both. n_more may be 0.
void gi_norm_layout_init(struct gi_norm_layout *layout, const struct gi_hparams *hparams,
                         const struct gi_norm_spec *specs, size_t n_specs,
                         const struct gi_norm_spec *more, size_t n_more);
// Returns the offset of a norm's weights; UINT32_MAX if the model lacks it. GI_NORM_NEXT is the
// norm after a layer.
uint32_t gi_norm_offset(const struct gi_norm_layout *layout, uint32_t layer, enum gi_norm norm);
// Returns the offset of the vector added after GI_NORM_ATTN, GI_NORM_FFN or GI_NORM_NEXT;
// UINT32_MAX if there is none.
uint32_t gi_norm_shift(const struct gi_norm_layout *layout, uint32_t layer, enum gi_norm norm);
