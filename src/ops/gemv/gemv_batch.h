// The projections of a batch of few tokens: each weight is read and dequantised once for all of
// them. gi_op_gemm calls these where they are faster than tiles made for many tokens.
#pragma once

#include "glsl/gemm/gemm_params.h"
#include "ops/record/recorder.h"
#include "ops/record/weight.h"

// Returns true if this form is used for batches of at most max_tokens on the device.
bool gi_gemv_batch_suits(const struct gi_gpu *gpu, uint32_t max_tokens);

// y[m] = W x[m] + bias or, if is_added, y[m] += params->scale * (W x[m] + bias), for one part of
// the weight: one dispatch.
void gi_gemv_batch_record(struct gi_recorder *recorder, const char *label,
                          const struct gi_weight_part *part, const struct gi_rows *x, bool is_added,
                          const struct gi_rows *y, const struct gi_gemm_params *params);
// Records the product as gi_gemv_batch_record does, in f16, for x in GI_HALF_FORM_SMALL
// (ops/gemm/half_rows.h). Adds if params->is_added.
void gi_gemv_batch_half_record(struct gi_recorder *recorder, const char *label,
                               const struct gi_weight_part *part, const struct gi_rows *x,
                               const struct gi_rows *y, const struct gi_gemm_params *params);
