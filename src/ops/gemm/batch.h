// Operations of prompt processing other than attention, on a batch of step_state.n_tokens rows, at
// most GI_MAX_BATCH. Grids follow n_tokens (GI_GRID_TOKENS), so one recording serves every batch.
#pragma once

#include "ops/embed/embed.h"
#include "ops/record/activation.h"
#include "ops/record/recorder.h"
#include "ops/record/stream.h"
#include "ops/record/weight.h"

// y[m] = x[m] / rms(x[m]) * gamma; rms over width with eps added to the mean of squares. y may be
// the same pointer as x, of rows in f32.
void gi_op_rmsnorm(struct gi_recorder *recorder, const char *label, const struct gi_rows *x,
                   uint32_t width, const struct gi_vectors *vectors, uint32_t gamma_offset,
                   float eps, const struct gi_rows *y);

// y[m] = scale * (y[m] + x[m] / rms(x[m]) * gamma), scale an offset in vectors; UINT32_MAX: 1.
void gi_op_rmsnorm_add(struct gi_recorder *recorder, const char *label, const struct gi_rows *x,
                       uint32_t width, const struct gi_vectors *vectors, uint32_t gamma,
                       uint32_t scale, float eps, const struct gi_rows *y);

// y[m] = (x[m] - mean) / sqrt(variance + eps) * gamma + beta, offsets in vectors.
void gi_op_layernorm(struct gi_recorder *recorder, const char *label, const struct gi_rows *x,
                     uint32_t width, const struct gi_vectors *vectors, uint32_t gamma,
                     uint32_t beta, float eps, const struct gi_rows *y);

// y[m] = W x[m] + bias, or y[m] += scale * (W x[m] + bias); columns of y in the GPU order of W's
// rows. The number of rows that x has room for selects the kernel.
void gi_op_gemm(struct gi_recorder *recorder, const char *label, const struct gi_weight *weight,
                const struct gi_rows *x, bool is_added, float scale, const struct gi_rows *y);

// The norm of rows before a product: x / rms(x) * gamma, gamma an offset in vectors.
struct gi_row_norm {
    const struct gi_vectors *vectors;
    uint32_t gamma;
    float eps;
};

// Records the product of gi_op_gemm in f16 for x in f32: of norm(x), or of x if norm is NULL.
// gi_gemm_converts must hold.
void gi_op_gemm_converted(struct gi_recorder *recorder, const char *label,
                          const struct gi_weight *weight, const struct gi_rows *x,
                          const struct gi_row_norm *norm, bool is_added, float scale,
                          const struct gi_rows *y);
// Returns true if the recorder allows f16, x is in f32 with room for fewer than GI_SMALL_BATCH
// rows, and the device has the kernel for them; with is_normed, if its groups hold all columns at a
// time.
bool gi_gemm_converts(const struct gi_recorder *recorder, const struct gi_weight *weight,
                      const struct gi_rows *x, bool is_normed);

// Returns true if products of rows may be in f16: the recorder allows f16, the device's form of a
// prompt is GI_BATCH_FORM_SPLIT, and GLINFER_GEMM names no kernel that only products in f32 have.
bool gi_gemm_takes_half(const struct gi_recorder *recorder);

// Rotates q and k of qkv[m] (qkv order, bias added) by the table's row of position n_past + m;
// writes rows of q in pair order, and k and v into the cache.
void gi_op_rope_kv(struct gi_recorder *recorder, const char *label,
                   const struct gi_qkv_layout *layout, const struct gi_rows *qkv,
                   const struct gi_vectors *vectors, const struct gi_rope *rope,
                   const struct gi_kv_layer *layer, const struct gi_rows *q);

// The norms of q and of k: offsets of their weights, in pair order, in floats of the vectors, and
// the number of elements that share a norm: one head's, or all of q and all of k.
struct gi_head_norm {
    uint32_t q_gamma, k_gamma;
    uint32_t q_width, k_width; // elements; also of gamma
    bool is_layernorm;         // of each head: subtracts the mean; each head has its own gamma
    bool has_v;                // heads of v are normed, too: x / rms(x)
    float eps;
};
// Like gi_op_rope_kv, with q and k normed before the rotation: x / rms(x) * gamma. If the layout
// has no heads of k and v, the cache is not written.
void gi_op_norm_rope_kv(struct gi_recorder *recorder, const char *label,
                        const struct gi_qkv_layout *layout, const struct gi_rows *qkv,
                        const struct gi_vectors *vectors, const struct gi_head_norm *norm,
                        const struct gi_rope *rope, const struct gi_kv_layer *layer,
                        const struct gi_rows *q);

// act[m][i] = f(g) * u for i < n_ff, from products with a gate_up weight: for each part of the
// weight, gate_up[m] has the gate results from column row_begin on and the up results n_rows / 2
// columns later. An ungated weight: act[m][i] = f(u). One dispatch a part. act may be in f16 only
// if gi_glu_has_halves: each part then begins with a tile of act.
bool gi_glu_has_halves(const struct gi_weight *weight);
void gi_op_glu(struct gi_recorder *recorder, const char *label, const struct gi_weight *weight,
               const struct gi_rows *gate_up, uint32_t n_ff, const struct gi_activation_rule *rule,
               const struct gi_rows *act);

// x[m] *= 1 / (1 + exp(-gate)) for the rows of a batch or the only row of a step. The gates follow
// v in a row of the stacked projection, in pair order.
void gi_op_gate_rows(struct gi_recorder *recorder, const char *label,
                     const struct gi_qkv_layout *layout, const struct gi_rows *qkv,
                     const struct gi_rows *x);
