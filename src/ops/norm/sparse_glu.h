// The activation of a gated network in which few gates are open.
#pragma once

#include "ops/record/activation.h"
#include "ops/record/recorder.h"

// A gate is shut if it is less than `deviations` standard deviations above the token's mean gate.
struct gi_sparsity {
    uint32_t n; // gates of a token, a multiple of 4
    float deviations;
    enum gi_activation activation; // one without parameters of the layer
};

// act[m][i] = f(max(gate[m][i] - cutoff, 0)) * up[m][i], where cutoff is computed from gate[m]. up
// begins at column up_begin of gate_up. For a batch, or for the one row of a step, whose columns
// are divided among groups. One dispatch; fails like gi_recorder_add.
void gi_op_sparse_glu(struct gi_recorder *recorder, const char *label, bool is_batch,
                      const struct gi_sparsity *sparsity, const struct gi_rows *gate_up,
                      uint32_t up_begin, const struct gi_rows *act);
