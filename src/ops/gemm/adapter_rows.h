// The term that low-rank adapters add to a product of a batch (ops/record/weight.h).
#pragma once

#include "ops/record/recorder.h"
#include "ops/record/weight.h"

// The inputs of that term: the results of matrix A, and the scale of each of its columns, one row
// for all tokens (scale_stride 0) or one for each.
struct gi_adapter_rows {
    struct gi_rows t;
    struct gi_range scales; // (n_tokens, scale_stride) f32
    uint32_t scale_stride;  // floats
};

// y[m] += factor * B (scale[m] * t[m]), columns of y in the GPU order of W's rows. One dispatch for
// each part of W.
void gi_op_adapter_rows(struct gi_recorder *recorder, const char *label,
                        const struct gi_weight *weight, const struct gi_adapter_rows *rows,
                        float factor, const struct gi_rows *y);
