// The projections of a batch of few tokens: each weight is read and dequantised once for all of
// them. gi_op_gemm calls these where they are faster than tiles made for many tokens.
#pragma once

#include "glsl/gemm/gemm_params.h"
#include "ops/gemm/batch.h"
#include "ops/record/recorder.h"
#include "ops/record/weight.h"

// Returns the params of a product with one part of a weight, but for its input.
static inline struct gi_gemm_params gi_gemm_part_params(const struct gi_weight *weight,
                                                        const struct gi_weight_part *part,
                                                        bool is_added, float scale,
                                                        const struct gi_rows *y)
{
    return (struct gi_gemm_params){
        .n_rows = part->n_rows,
        .n_block = gi_weight_blocks(weight),
        .y_stride = y->stride,
        .y_begin = part->row_begin,
        .bias = part->bias,
        .scale = scale,
        .is_added = is_added,
    };
}

// Returns true if this form is used for batches of at most max_tokens on the device.
bool gi_gemv_batch_suits(const struct gi_gpu *gpu, uint32_t max_tokens);

// y[m] = W x[m] + bias or, if is_added, y[m] += params->scale * (W x[m] + bias), for one part of
// the weight: one dispatch.
void gi_gemv_batch_record(struct gi_recorder *recorder, const char *label,
                          const struct gi_weight_part *part, const struct gi_rows *x, bool is_added,
                          const struct gi_rows *y, const struct gi_gemm_params *params);
// Records the product as gi_gemv_batch_record does, in f16, for x in GI_HALF_FORM_SMALL
// (ops/gemm/half_rows.h) or in f32, then of norm(x) unless norm is NULL. Adds if params->is_added.
void gi_gemv_batch_half_record(struct gi_recorder *recorder, const char *label,
                               const struct gi_weight_part *part, const struct gi_rows *x,
                               const struct gi_row_norm *norm, const struct gi_rows *y,
                               const struct gi_gemm_params *params);