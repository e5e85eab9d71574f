// The rest of prompt processing: operations on a batch of step_state.n_tokens rows, GI_MAX_BATCH at
// most. Grids follow n_tokens (GI_GRID_TOKENS), so that one recording serves every batch.
#ifndef GI_OPS_BATCH_H
#define GI_OPS_BATCH_H

#include "ops/embed/embed.h"
#include "ops/record/activation.h"
#include "ops/record/recorder.h"
#include "ops/record/stream.h"
#include "ops/record/weight.h"

// y[m] = x[m] / rms(x[m]) * gamma; rms over width with eps added to the mean of squares.
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
// rows. The kernel is chosen by the rows that x has room for.
void gi_op_gemm(struct gi_recorder *recorder, const char *label, const struct gi_weight *weight,
                const struct gi_rows *x, bool is_added, float scale, const struct gi_rows *y);

// False if GLINFER_GEMM names what only products in f32 have.
bool gi_gemm_takes_half(const struct gi_gpu *gpu);

// Takes qkv[m] (qkv order, bias added), turns q and k by the rotations of position n_past + m,
// writes q rows in pair order and k, v into the cache. The table is that of the vectors.
void gi_op_rope_kv(struct gi_recorder *recorder, const char *label,
                   const struct gi_qkv_layout *layout, const struct gi_rows *qkv,
                   const struct gi_vectors *vectors, const struct gi_rope *rope,
                   const struct gi_kv_layer *layer, const struct gi_rows *q);

// The weights of a norm of q and of k, in pair order: offsets in floats of the vectors, and how
// many elements share a norm: a head's, or all of q's and k's.
struct gi_head_norm {
    uint32_t q_gamma, k_gamma;
    uint32_t q_width, k_width; // widths of gamma, too
    bool is_layernorm;         // of each head: x less its mean, with a gamma of its own
    bool has_v;                // heads of v are normed too: x / rms(x)
    float eps;
};
// The same with q and k normed before they are turned: x / rms(x) * gamma. A layout without heads
// of k and v leaves the cache as it is.
void gi_op_norm_rope_kv(struct gi_recorder *recorder, const char *label,
                        const struct gi_qkv_layout *layout, const struct gi_rows *qkv,
                        const struct gi_vectors *vectors, const struct gi_head_norm *norm,
                        const struct gi_rope *rope, const struct gi_kv_layer *layer,
                        const struct gi_rows *q);

// act[m][i] = f(g) * u over the parts of a gate_up weight: part by part, gate_up[m] holds the
// part's gate results at column row_begin and its up results n_rows / 2 further. i < n_ff. A
// dispatch a part. Of an ungated weight act[m][i] = f(u). act is in f16 only where
// gi_glu_has_halves: parts begin with tiles of it.
bool gi_glu_has_halves(const struct gi_weight *weight);
void gi_op_glu(struct gi_recorder *recorder, const char *label, const struct gi_weight *weight,
               const struct gi_rows *gate_up, uint32_t n_ff, const struct gi_activation_rule *rule,
               const struct gi_rows *act);

// x[m] *= 1 / (1 + exp(-gate)), the gate of each element standing behind v in rows of the stacked
// projection, in pair order: of a batch or, in a list of steps, of the only row.
void gi_op_gate_rows(struct gi_recorder *recorder, const char *label,
                     const struct gi_qkv_layout *layout, const struct gi_rows *qkv,
                     const struct gi_rows *x);

#endif
