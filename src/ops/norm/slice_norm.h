// RMSNorm of each slice of a row by itself: of heads, of groups of heads, of the inputs of layers.
#ifndef GI_OPS_SLICE_NORM_H
#define GI_OPS_SLICE_NORM_H

#include "ops/embed/embed.h"

struct gi_slice_norm {
    uint32_t width, n;   // n slices of width columns, a multiple of 4
    uint32_t gamma;      // an offset in floats in vectors, a multiple of 4: (width)
    bool has_each_gamma; // (n, width)
    float eps;
    bool is_added;              // y = (norm(x) + y) / sqrt(2)
    const struct gi_rows *gate; // y = norm(x) silu(gate), from column gate_begin on; NULL: no gate
    uint32_t gate_begin;        // a multiple of 4
};

// y = norm(x) for the rows of a batch or the only row of a step. x may be y if there is no gate and
// nothing is added. One dispatch; fails like gi_recorder_add.
void gi_op_slice_norm(struct gi_recorder *recorder, const char *label,
                      const struct gi_slice_norm *norm, bool is_batch, const struct gi_rows *x,
                      const struct gi_vectors *vectors, const struct gi_rows *y);

#endif
