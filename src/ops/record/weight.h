// A weight matrix on the GPU: (n_rows, n_cols) in the layout of quant/quant.h, split by rows into
// parts so that no range is over the largest storage block and each part is of one type. Rows are
// in GPU order, which is the file's except where a projection is stacked or paired:
//
//   qkv      q, k and v stacked. Rows come in pairs (first, second): pair p of a section of n_pair
//            pairs lies in tiles 2 (p / 8) and 2 (p / 8) + 1, in row p % 8 of each; n_pair is
//            rounded up to 8. In q and k pair p is the rotary pair p % (head_dim / 2) of head
//            p / (head_dim / 2), whatever rows the model family pairs in the file; pairs past
//            n_rot / 2 are not turned. In v, and in gates of attention's output, which may stand
//            behind it, it is rows 2 p and 2 p + 1.
//   gate_up  each part holds gate rows, rounded up to whole tiles, then as many up rows; the parts
//            follow each other through n_ff.
//   stacked  the rows of each matrix in turn, rounded up to two tiles.
//   experts  the rows of each expert in turn, rounded up to two tiles; or its gate rows, rounded up
//            to whole tiles, then as many up rows. A part holds whole experts.
//
// Where gate and up are of different types they lie apart: the first half of the rows is all of
// gate, rounded up to two tiles (of each expert), the second half likewise all of up. A part is of
// one of them.
//
// q, k and v leave the kernels in "pair order": element 2 i of a head is the first and 2 i + 1 the
// second of pair i. Dot products do not see the order of q and k, and for v it is the natural one.
//
// Each part has two ranges: quads and aux. aux is uints: the scales, then whatever vectors the
// matrix carries, each f32 with one value a GPU row of the part.
#ifndef GI_OPS_WEIGHT_H
#define GI_OPS_WEIGHT_H

#include "gpu/memory/buffer.h"
#include "quant/quant.h"

#define GI_MAX_PARTS 64
#define GI_NO_OFFSET UINT32_MAX

struct gi_weight_part {
    const struct gi_quant *quant; // parts of a stack may differ in type
    struct gi_range quads, aux;
    uint32_t row_begin, n_rows; // multiples of 16
    uint32_t bias;  // offset in aux in uints of the bias added to each result; GI_NO_OFFSET: none
    uint32_t gamma; // likewise of the weights of the norm that follows (gemv_residual);
                    // GI_NO_OFFSET: none
    uint32_t post;  // likewise of the weights of the norm of the result (gemv_post)
    uint32_t scale; // likewise of a number that then multiplies the residual; GI_NO_OFFSET: 1
};

struct gi_weight {
    const char *name; // "blk.0.attn_qkv": for labels and messages
    uint32_t n_rows;  // in GPU order, padding included: a multiple of 16
    uint32_t n_cols;
    bool is_normed;  // its result has a norm of its own, whose weights are in aux
    bool is_split;   // gate and up: see above
    bool is_ungated; // a network's first matrix whose rows are up's alone, in plain order
    uint32_t n_parts;
    struct gi_weight_part parts[GI_MAX_PARTS];
};

// Returns how many splits a weight has, each of which takes a dispatch of a decode step.
static inline uint32_t gi_weight_splits(const struct gi_weight *weight)
{
    return weight->n_parts;
}

static inline uint32_t gi_weight_blocks(const struct gi_weight *weight)
{
    return (weight->n_cols + GI_QUANT_BLOCK - 1) / GI_QUANT_BLOCK;
}

// True if a part can be read through buffer textures, its quads and its aux.
bool gi_weight_part_fits_texels(const struct gi_limits *limits, const struct gi_weight_part *part);

// Rows of a stacked qkv matrix of these heads, and where each section starts (in rows).
struct gi_qkv_layout {
    uint32_t n_head, n_kv_head, head_dim; // head_dim is even
    uint32_t q_begin, k_begin, v_begin, n_rows;
    uint32_t gate_begin; // a row for each of q; 0: there are none
};
void gi_qkv_layout_init(struct gi_qkv_layout *layout, uint32_t n_head, uint32_t n_kv_head,
                        uint32_t head_dim);
// Adds the rows of gates of attention's output behind v.
void gi_qkv_layout_add_gate(struct gi_qkv_layout *layout);

#endif
