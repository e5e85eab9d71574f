// The order of a weight's rows on the GPU (ops/record/weight.h): which row of which tensor of the
// file each of them is. Plain arithmetic over a plan.
#pragma once

#include "engine/model/plan/model_plan.h"

// Returns the number of sources that hold all experts, 0 for orders without experts. The sources
// after them belong to the expert that all tokens share.
uint32_t gi_plan_expert_sources(enum gi_weight_order order);
// Return true for orders of a mixture's experts; for orders that pair gate and up.
bool gi_plan_has_experts(enum gi_weight_order order);
bool gi_plan_has_gate(enum gi_weight_order order);

// The sections of a weight whose matrices are concatenated, such as q, k and v.
struct gi_plan_sections {
    uint32_t n;
    uint32_t begins[GI_MAX_SOURCES + 2]; // GPU rows, the end of the last one too
    uint32_t sources[GI_MAX_SOURCES + 1];
};
// Returns the sections of a weight; n is 0 if its order has none.
struct gi_plan_sections gi_plan_sections(const struct gi_model_plan *plan,
                                         const struct gi_plan_weight *weight);

// Finds the source, and the row of its tensor, of GPU row `row` of a part; false for padding.
bool gi_plan_weight_row(const struct gi_model_plan *plan, const struct gi_plan_weight *weight,
                        const struct gi_weight_part *part, uint32_t row, uint32_t *source,
                        uint32_t *source_row);

// Returns what multiplies a row of a source: 1, or an element of factors[source], (n_matrix)
// numbers; NULL: the source has none.
float gi_plan_factor(const struct gi_plan_weight *weight, float *const factors[GI_MAX_SOURCES],
                     uint32_t source, uint32_t source_row);

// Returns the byte of the source row at which GPU row `row` begins: 0 except for the shared
// expert's down, where each piece takes some columns.
uint64_t gi_plan_row_offset(const struct gi_model_plan *plan, const struct gi_plan_weight *weight,
                            const struct gi_weight_part *part, uint32_t row);

// Returns the row of a head, or of several, that is element `at` in pair order
// (ops/record/weight.h).
uint32_t gi_plan_pair_row(const struct gi_hparams *hparams, const struct gi_heads *heads,
                          uint32_t at);

// Returns the GPU rows of one expert; of its gate alone if gate and up are split.
uint32_t gi_plan_expert_rows(const struct gi_plan_weight *weight);
// Returns the experts of a weight, pieces of the shared one among them.
uint32_t gi_plan_experts(const struct gi_model_plan *plan, const struct gi_plan_weight *weight);

// Returns the bytes of a row of a tensor in the file.
uint64_t gi_plan_row_size(const struct gi_gguf_tensor *tensor);
// Returns the bytes of a row of a source in memory, where a convolution's has its taps in turn.
size_t gi_plan_kept_size(const struct gi_plan_source *source);
// Reads n rows of a convolution from `first` on. The taps of a column are neighbours in the file;
// in out, (n, n_tap, n_col), the columns of a tap are, with zeros after the last.
bool gi_read_taps(const struct gi_gguf *gguf, const struct gi_plan_source *source, uint32_t first,
                  size_t n, uint8_t *out, struct glinfer_error *err);
