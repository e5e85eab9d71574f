// Finds the tensors of a plan by their names and checks their types and shapes. The plan keeps the
// first failure, which names a tensor that is missing or wrong.
#pragma once

#include "engine/model/plan/model_plan.h"

#define GI_PLAN_NAME_SIZE 96

// Makes "blk.3.attn_q.weight" of "blk.%u.attn_q", 3 and "weight", after the tower's prefix; the
// suffix may be empty.
void gi_plan_name(const struct gi_tower *tower, const char *pattern, uint32_t layer,
                  const char *suffix, char name[GI_PLAN_NAME_SIZE]);

// Returns true if the file has the tensor.
bool gi_plan_has(const struct gi_model_plan *plan, const char *pattern, uint32_t layer,
                 const char *suffix);

// Fails with BAD_FILE if a tensor is not (n_matrix, n_rows, n_cols).
void gi_plan_check_shape(struct gi_model_plan *plan, const struct gi_gguf_tensor *tensor,
                         uint32_t n_cols, uint32_t n_rows, uint32_t n_matrix);

// Finds a tensor that must be there. Fails with BAD_FILE, and UNSUPPORTED (a type without a
// kernel).
void gi_plan_require(struct gi_model_plan *plan, const char *pattern, uint32_t layer,
                     const char *suffix, uint32_t n_cols, uint32_t n_rows, uint32_t n_matrix,
                     const struct gi_gguf_tensor **out);

// Finds a matrix by its pattern and layer, and its bias and its factors if there are any.
void gi_plan_find_source(struct gi_model_plan *plan, const char *pattern, uint32_t layer,
                         uint32_t n_cols, uint32_t n_rows, uint32_t n_matrix,
                         struct gi_plan_source *source);

// Fails with BAD_FILE: the tensor has weights that make all results undefined.
bool gi_plan_refuse_tensor(const struct gi_gguf *gguf, const struct gi_gguf_tensor *tensor,
                           struct glinfer_error *err);
// Reads a vector tensor of the file, or the first n of its elements, as floats. Fails with IO,
// NO_MEMORY.
bool gi_read_vector(const struct gi_gguf *gguf, const struct gi_gguf_tensor *tensor, size_t n,
                    float *out, struct glinfer_error *err);
