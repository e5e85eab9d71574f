// A weight matrix on the GPU: (n_rows, n_cols) in the layout of quant/quant.h, split by rows into
// parts so that no range exceeds the largest storage block and each part has one type. Rows are
// in GPU order, which is the file's order except for stacked or paired projections:
//
//   qkv      q, k and v stacked. Rows come in pairs (first, second): pair p of a section of n_pair
//            pairs lies in tiles 2 (p / 8) and 2 (p / 8) + 1, in row p % 8 of each; n_pair is
//            rounded up to 8. In q and k pair p is the rotary pair p % (head_dim / 2) of head
//            p / (head_dim / 2), whichever rows the model family pairs in the file; pairs from
//            n_rot / 2 on are not rotated. In v, and in the gates of attention's output, which may
//            follow v, pair p is rows 2 p and 2 p + 1. Gates of whole heads are in the order of
//            heads.
//   gate_up  each part holds gate rows, rounded up to whole tiles, then as many up rows; the parts
//            follow each other through n_ff.
//   stacked  the rows of each matrix in turn, rounded up to two tiles.
//   experts  the rows of each expert in turn, rounded up to two tiles; or its gate rows, rounded up
//            to whole tiles, then as many up rows. A part holds whole experts.
//
// If gate and up have different types they are separate: the first half of the rows is all of gate,
// rounded up to two tiles (of each expert), the second half all of up, rounded up the same way. A
// part belongs to one of them.
//
// Kernels write q, k and v in "pair order": element 2 i of a head is the first and 2 i + 1 the
// second of pair i. Dot products of q and k do not depend on it; for v it is the natural order.
//
// Each part has two ranges: quads and aux. aux is uints: the scales, then the vectors of the
// matrix, each f32 with one value for each GPU row of the part. A part with adapters has a bias,
// followed by the matrices B of adapters (glsl/gemv/gemv_adapter.glsl).
//
// An adapter adds B A x to W x, where A has few rows and B as few columns. All adapters of a model
// count as one, whose rank is that of all together, rounded up. For a stack of matrices, such as
// q, k and v, A has `rank` rows for each of them in turn, rounded up to two tiles.
#pragma once

#include "gpu/memory/buffer.h"
#include "quant/quant.h"

#define GI_MAX_PARTS 64
#define GI_NO_OFFSET UINT32_MAX
// The most splits of k of a product with a matrix A (gi_gemv_adapter_splits).
#define GI_MAX_ADAPTER_SPLITS 16

struct gi_weight_part {
    const struct gi_quant *quant; // parts of a stack may differ in type
    struct gi_range quads, aux;
    uint32_t row_begin, n_rows; // multiples of 16
    // Offsets in aux in uints; GI_NO_OFFSET: the part has no such vector.
    uint32_t bias;  // added to each result
    uint32_t gamma; // weights of the norm that follows (gemv_residual)
    uint32_t post;  // weights of the norm of the result (gemv_post)
    uint32_t scale; // a number that then multiplies the residual; GI_NO_OFFSET: 1
};

struct gi_weight {
    const char *name; // "blk.0.attn_qkv": for labels and messages
    uint32_t n_rows;  // in GPU order, padding included: a multiple of 16
    uint32_t n_cols;
    bool is_normed;  // its result is normed, with weights in aux
    bool is_split;   // gate and up are separate: see above
    bool is_ungated; // a network's first matrix with rows of up only, in plain or experts' order
    const struct gi_weight *adapter; // matrices A of all adapters; borrowed; NULL: no adapters
    uint32_t adapter_rank;           // sum of the ranks of all adapters: a multiple of 4
    bool adapts;                     // is the matrices A of another weight
    uint32_t n_parts;
    struct gi_weight_part parts[GI_MAX_PARTS];
};

// Returns the number of parts of a weight, each of which takes a dispatch of a decode step.
static inline uint32_t gi_weight_splits(const struct gi_weight *weight)
{
    return weight->n_parts;
}

// Returns the type of the first rows of a weight.
static inline const struct gi_quant *gi_weight_quant(const struct gi_weight *weight)
{
    return weight->parts[0].quant;
}

static inline uint32_t gi_weight_blocks(const struct gi_weight *weight)
{
    return (weight->n_cols + GI_QUANT_BLOCK - 1) / GI_QUANT_BLOCK;
}

// Returns the uints that follow the bias of n_rows rows with adapters.
static inline uint32_t gi_adapter_words(uint32_t n_rows, uint32_t rank)
{
    return n_rows * (rank / 2 + 1);
}

// Returns the floats of the scales of adapters, with padding before what follows them.
static inline uint32_t gi_adapter_scales(uint32_t rank)
{
    return (rank + 63) / 64 * 64;
}

// Returns true if the quads and the aux of a part can be read through buffer textures.
bool gi_weight_part_fits_texels(const struct gi_limits *limits, const struct gi_weight_part *part);

// The rows of a stacked qkv matrix for these heads, and the first row of each section.
struct gi_qkv_layout {
    uint32_t n_head, n_kv_head, head_dim; // head_dim is even
    uint32_t q_begin, k_begin, v_begin, n_rows;
    uint32_t gate_begin; // a row for each row of q, or for each head; 0: no gates
    uint32_t gate_width; // rows of q that share a gate: 1, or head_dim
};
void gi_qkv_layout_init(struct gi_qkv_layout *layout, uint32_t n_head, uint32_t n_kv_head,
                        uint32_t head_dim);
// Adds the rows of the gates of attention's output after v: one for each `width` rows of q, which
// is 1 or head_dim.
void gi_qkv_layout_add_gate(struct gi_qkv_layout *layout, uint32_t width);
