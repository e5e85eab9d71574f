// Names the weights of a family: which tensors of the file make each weight matrix of a layer, in
// which order of rows, and what their shapes must be. Tables of these are data of models/*.c; the
// engine finds and checks the tensors by them.
#ifndef GI_GRAPH_WEIGHT_SPEC_H
#define GI_GRAPH_WEIGHT_SPEC_H

#include "graph/hparams.h"

// The weight matrices of a layer, as the blocks of graph.h use them.
enum gi_slot {
    GI_SLOT_QKV,
    GI_SLOT_OUT,
    GI_SLOT_GATE_UP,
    GI_SLOT_DOWN,
    GI_SLOT_ROUTER, // of a mixture of experts
    GI_SLOT_SSM_IN, // of a state space model, to and from it
    GI_SLOT_SSM_OUT,
    GI_SLOT_INPUT_GATE, // from the residual to the layer's own input, and back
    GI_SLOT_INPUT_OUT,
    GI_SLOT_BRANCH_IN, // of the low-rank branch beside attention, to and from it
    GI_SLOT_BRANCH_OUT,
    GI_SLOT_COUNT,
};

// The norms of a layer.
enum gi_norm {
    GI_NORM_ATTN, // of the residual, before the projections of attention
    GI_NORM_Q,    // of each head of q, or of all of q
    GI_NORM_K,
    GI_NORM_ATTN_POST, // of what attention adds to the residual
    GI_NORM_FFN,       // of the residual, before the feed-forward network
    GI_NORM_FFN_POST,  // of what that network adds
    // Vectors added behind GI_NORM_ATTN and GI_NORM_FFN, which are then layernorms, as is the
    // output's.
    GI_NORM_ATTN_SHIFT,
    GI_NORM_FFN_SHIFT,
    GI_NORM_SINKS, // of attention: a score of each head that takes a weight and gives no value
    GI_NORM_ROUTER_BIAS, // of a mixture: it counts in the choice of experts alone
    GI_NORM_INPUT,       // of the projection to a layer's own input; the same for all layers
    GI_NORM_INPUT_POST,  // of what that input adds to the residual
    GI_NORM_OUT_SCALE,   // one number, which multiplies the residual behind the layer
    // Vectors of a layer with several streams of the residual: what their router reads, its matrix,
    // and what it makes of its results.
    GI_NORM_ROUTER,
    GI_NORM_ROUTER_MATRIX,
    GI_NORM_PREDICT,
    GI_NORM_CORRECT,
    GI_NORM_CORRECT_SCALE, // of the first stream, before the layer's own input
    GI_NORM_BRANCH_POST,   // of what the low-rank branch gives
    // Vectors of a recurrent layer.
    GI_NORM_CONV,       // weights of the convolution: (channel, tap)
    GI_NORM_CONV_SHIFT, // a number for each channel
    GI_NORM_STATE,      // of each head that a state gives, or of the heads of a group
    GI_NORM_DECAY_BIAS, // a number for each head
    GI_NORM_DECAY_RATE, // likewise
    GI_NORM_SKIP,       // likewise
    GI_NORM_COUNT,
    GI_NORM_NEXT, // the first norm of the next layer, or the one before the output
    GI_NORM_NONE,
};

enum gi_weight_order { // shown in ops/record/weight.h
    GI_WEIGHT_ORDER_PLAIN,
    GI_WEIGHT_ORDER_QKV,
    GI_WEIGHT_ORDER_QKV_GATED, // the first tensor has for each head rows of q, then those of its
                               // gate
    GI_WEIGHT_ORDER_STACKED,
    GI_WEIGHT_ORDER_GATE_UP,
    // One source, or gate and up, of all experts; behind them as many of the one that all tokens
    // share, which are left out where a model has none.
    GI_WEIGHT_ORDER_EXPERTS,
    GI_WEIGHT_ORDER_EXPERTS_GATE_UP,
};

enum gi_dim {
    GI_DIM_NONE,
    GI_DIM_EMBD,
    GI_DIM_HEAD,
    GI_DIM_Q,       // n_head * head_dim
    GI_DIM_Q_GATED, // twice as many
    GI_DIM_Q_ROWS,  // as many as GI_DIM_Q, a row for each head
    GI_DIM_KV,      // n_kv_head * head_dim; 0 of a layer that reads those of an earlier one
    GI_DIM_KV_ROWS, // as many, a row for each head
    GI_DIM_K_HEAD,  // head_dim, or 0 likewise
    GI_DIM_FF,
    GI_DIM_VOCAB,
    GI_DIM_EXPERT, // their number
    GI_DIM_EXPERT_FF,
    GI_DIM_SHARED_FF,   // of the expert that all tokens share
    GI_DIM_INPUT,       // of a layer's own input; 0: there is none
    GI_DIM_INPUTS,      // of all layers
    GI_DIM_INPUT_EMBD,  // the same as GI_DIM_EMBD if layers have inputs of their own, else 0
    GI_DIM_ONE,         // a number
    GI_DIM_BRANCH,      // of the low-rank branch
    GI_DIM_ROUTER,      // an n_embd for each stream, a row each
    GI_DIM_PREDICT,     // rows of a number for each stream: one for each pair of streams
    GI_DIM_CORRECT,     // likewise: one for each stream
    GI_DIM_HEADS,       // of q: their number
    GI_DIM_CHANNEL,     // of a recurrent layer: struct gi_recurrent_hparams
    GI_DIM_CONV,        // n_taps of each channel
    GI_DIM_STATE_KEYS,  // of all heads of k
    GI_DIM_STATE_HEADS, // how many
    GI_DIM_STATE_HEAD,  // elements of one
    GI_DIM_STATE,       // of all heads
    GI_DIM_STATE_RATES, // as many as heads, a row each
    GI_DIM_STATE_NORM,  // of the heads of a group, a row each; none where states have no norm
};

#define GI_MAX_SOURCES 6

struct gi_weight_spec {
    enum gi_slot slot;
    const char *name; // "attn_qkv": for labels
    enum gi_weight_order order;
    enum gi_dim cols;
    struct {
        // "blk.%u.attn_q", without .weight and .bias; a bias is taken if there is one. Sources of
        // one name are slices of a tensor's rows, one behind the other; or, if they alternate, of
        // each of them in turn the rows that belong to a state's head of k.
        const char *name;
        enum gi_dim rows;
        const char *instead; // what the matrix is where the file has none of that name; NULL: none
        bool is_alternating;
    } sources[GI_MAX_SOURCES];
    enum gi_norm next_norm; // the norm that follows, whose gamma travels with the matrix
    // The same matrix of files that have the first source of this one and lack ours; NULL: none.
    const struct gi_weight_spec *other;
    enum gi_norm post_norm; // likewise that of its result; GI_NORM_ATTN, which is none of one: none
};

struct gi_norm_spec {
    enum gi_norm norm;
    // "blk.%u.attn_norm", without what follows: gi_norm_suffix. NULL: zeros, the shift of a
    // layernorm that adds none.
    const char *name;
    enum gi_dim size;
};

// Lays out the weights of norms: those of a layer one behind the other, layer by layer, then the
// output's. Offsets are in floats, multiples of 32.
struct gi_norm_layout {
    uint32_t offsets[GI_NORM_COUNT]; // from a layer's first; UINT32_MAX: the model has none
    enum gi_dim dims[GI_NORM_COUNT];
    uint32_t n_layer, layer_size;
    uint32_t output_shift; // of the norm before the output; UINT32_MAX: none
    uint32_t size;         // of all
};

// Returns the elements of a dimension of a layer; 0: the layer has nothing that has it.
uint32_t gi_dim_size(const struct gi_hparams *hparams, uint32_t layer, enum gi_dim dim);

// Sets the shape of a norm's tensor; the whole is gi_dim_size.
void gi_norm_shape(const struct gi_hparams *hparams, uint32_t layer, enum gi_dim dim,
                   uint32_t *n_cols, uint32_t *n_rows);

// Returns what follows the name of a norm's tensor: "weight", "bias", or nothing.
const char *gi_norm_suffix(enum gi_norm norm);
// True for one that a file may lack: zeros take its place.
bool gi_norm_is_optional(enum gi_norm norm);

// Lays out those of two kinds of layers, the second of which may be none: all layers have room for
// both.
void gi_norm_layout_init(struct gi_norm_layout *layout, const struct gi_hparams *hparams,
                         const struct gi_norm_spec *specs, size_t n_specs,
                         const struct gi_norm_spec *more, size_t n_more);
// Returns the offset of a norm's weights; UINT32_MAX if there is none. GI_NORM_NEXT is the norm
// after a layer.
uint32_t gi_norm_offset(const struct gi_norm_layout *layout, uint32_t layer, enum gi_norm norm);
// Returns the offset of the vector added behind GI_NORM_ATTN, GI_NORM_FFN or GI_NORM_NEXT;
// UINT32_MAX if there is none.
uint32_t gi_norm_shift(const struct gi_norm_layout *layout, uint32_t layer, enum gi_norm norm);
#endif
