// The activation of a gated network of which few gates are open.
#ifndef GI_OPS_SPARSE_GLU_H
#define GI_OPS_SPARSE_GLU_H

#include "ops/record/activation.h"
#include "ops/record/recorder.h"

// Gates of a token that stand fewer than so many standard deviations over their mean are shut.
struct gi_sparsity {
    uint32_t n; // gates of a token, a multiple of 4
    float deviations;
    enum gi_activation activation; // of numbers that all layers share
};

// act[m][i] = f(max(gate[m][i] - cutoff, 0)) * up[m][i], the cutoff being that of gate[m]. up
// begins at column up_begin of gate_up. Of a batch, or of the one row of a step, whose groups share
// its columns. One dispatch; fails as gi_recorder_add does.
void gi_op_sparse_glu(struct gi_recorder *recorder, const char *label, bool is_batch,
                      const struct gi_sparsity *sparsity, const struct gi_rows *gate_up,
                      uint32_t up_begin, const struct gi_rows *act);

#endif
