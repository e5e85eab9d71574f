// The projections of a decode step: y = W x for one token, each fused with the operations before
// and after it in the model. Every op records one dispatch for each part of the weight.
#pragma once

#include "ops/embed/embed.h"
#include "ops/record/activation.h"
#include "ops/record/recorder.h"
#include "ops/record/stream.h"
#include "ops/record/weight.h"

// Returns true if projections read the sums of x that producers can write after x (stream.h).
bool gi_gemv_wants_sums(const struct gi_gpu *gpu);

// Returns true if gi_op_gemv_qkv can write a cache of the layer's types (q8_0 needs whole blocks)
// and the device may use a form of its kernel.
bool gi_gemv_qkv_suits(const struct gi_recorder *recorder, const struct gi_weight *weight,
                       const struct gi_kv_layer *layer);

// q, k, v = rope(W norm / rms + bias): reads norm, ssq and rope of the stream; writes q at the
// start of the layer's range and k, v into its cache at step_state.n_past. n_rot is the stream's,
// or 0: no rotation.
//   W (layout->n_rows, n_embd) in qkv order
void gi_op_gemv_qkv(struct gi_recorder *recorder, const char *label, const struct gi_weight *weight,
                    const struct gi_qkv_layout *layout, uint32_t n_rot,
                    const struct gi_stream *stream, const struct gi_kv_layer *layer);

// All ops here and below that read the stream also accept a parted residual (stream.h).

// y = W norm / rms + bias, for a following op that is not fused. y has weight->n_rows floats, in
// the GPU order of rows.
void gi_op_gemv_norm(struct gi_recorder *recorder, const char *label,
                     const struct gi_weight *weight, const struct gi_stream *stream,
                     struct gi_range y);
// y = W residual + bias, in the same layout.
void gi_op_gemv_stream(struct gi_recorder *recorder, const char *label,
                       const struct gi_weight *weight, const struct gi_stream *stream,
                       struct gi_range y);
// Returns the number of splits of k, 1 to GI_MAX_ADAPTER_SPLITS, of a product with matrices A of
// adapters (weight->adapts). y has the products of each split in turn; the product of the weight
// adds them up.
uint32_t gi_gemv_adapter_splits(const struct gi_recorder *recorder, const struct gi_weight *a);
// y = W x + bias, in the same layout. x is n_cols floats at x_offset floats of its range; with
// has_sums gi_x_size floats.
void gi_op_gemv(struct gi_recorder *recorder, const char *label, const struct gi_weight *weight,
                struct gi_range x, uint32_t x_offset, bool has_sums, struct gi_range y);

// residual += scale * (W x + bias); norm = residual * gamma; ssq = partial sums. x is n_cols floats
// at x_offset floats of its range; with has_sums gi_x_size floats. Sets stream->n_ssq and has_sums.
// Only tests have weights without gamma.
void gi_op_gemv_residual(struct gi_recorder *recorder, const char *label,
                         const struct gi_weight *weight, struct gi_range x, uint32_t x_offset,
                         bool has_sums, float scale, struct gi_stream *stream);

// Returns true if the list may have parted residuals and the weight holds the norm of its result.
bool gi_gemv_post_suits(const struct gi_recorder *recorder, const struct gi_weight *weight);
// residual = c * (residual + y * post / rms(y)), y = W x + bias; the residual becomes parted.
// norm = residual * gamma, if the weight has gamma. c is the weight's scale if is_scaled,
// else 1.
void gi_op_gemv_post(struct gi_recorder *recorder, const char *label,
                     const struct gi_weight *weight, struct gi_range x, uint32_t x_offset,
                     bool is_scaled, struct gi_stream *stream);

// act[i] = f(g[i]) * u[i], where g and u are the two halves of W norm / rms + bias, or of
// W residual + bias without has_norm: the gated FFN. An ungated W: act[i] = f(u[i]).
//   W (2 * n_ff rounded up to 16, n_embd) in gate_up order; act (n_ff) f32 at the start of its
//   range, gi_x_size floats.
// Sets *has_sums if the sums of act are written, too; has_sums may be NULL.
void gi_op_gemv_glu(struct gi_recorder *recorder, const char *label, const struct gi_weight *weight,
                    uint32_t n_ff, const struct gi_activation_rule *rule, bool has_norm,
                    const struct gi_stream *stream, struct gi_range act, bool *has_sums);

// norm = (residual - mean) / sqrt(variance + eps) * gamma + beta, offsets in vectors. Writes an ssq
// that makes 1 / rms equal 1 for the next projection. Sets stream->n_ssq, has_sums. One dispatch.
void gi_op_layernorm_step(struct gi_recorder *recorder, const char *label,
                          const struct gi_vectors *vectors, uint32_t gamma, uint32_t beta,
                          struct gi_stream *stream);

// residual = out_scale * (residual + y / rms(y) * gamma); norm = residual * next_gamma; ssq =
// partial sums: the end of a block whose result is normed. y is n_embd floats; gamma, next_gamma
// and out_scale are offsets in vectors. next_gamma UINT32_MAX: no norm follows, norm is not
// written; out_scale UINT32_MAX: 1. Sets stream->n_ssq. One dispatch.
void gi_op_post_norm(struct gi_recorder *recorder, const char *label, struct gi_range y,
                     const struct gi_vectors *vectors, uint32_t gamma, uint32_t next_gamma,
                     uint32_t out_scale, struct gi_stream *stream);

// inputs[begin + i] *= f(W residual)[i] for i < width: gates a layer's own input in place.
// W (width, n_embd); inputs has one row.
void gi_op_gemv_gate_input(struct gi_recorder *recorder, const char *label,
                           const struct gi_weight *weight, uint32_t begin, uint32_t width,
                           enum gi_activation activation, const struct gi_stream *stream,
                           struct gi_range inputs);

// The logits and, for each work group, the largest of them with its index (the lowest on ties;
// UINT32_MAX if any is NaN or infinite). One storage range of uints:
//   logits   (n_vocab) f32;   partial (n_partial) of { f32 value, uint index };   scratch: sample.h
struct gi_logits {
    struct gi_range range;
    uint32_t n_vocab;
    uint32_t partial; // offset in uints, a multiple of 4; logits are at 0
    uint32_t max_partial;
    bool is_fine;       // each group writes several partial results if there are few groups
    uint32_t n_partial; // set by gi_op_gemv_vocab
    uint32_t scratch;   // offset in uints of the scratch memory of sample.h
};
#define GI_MAX_SAMPLE_GROUPS 128
// Sizes in uints: counters and sums, which are zero between steps; and all of the scratch memory
// (glsl/sample/scratch.glsl).
#define GI_SAMPLE_ZEROS   (64 + 4 * 512)
#define GI_SAMPLE_SCRATCH (GI_SAMPLE_ZEROS + 64 + 2 * 512 + 4 * GI_MAX_SAMPLE_GROUPS)
// Sets the offsets, scratch to a multiple of 256 bytes; returns the bytes that the range must have.
uint64_t gi_logits_layout(struct gi_logits *logits, uint32_t n_vocab);

// logits = scale * (W norm / rms + bias); if softcap > 0 then softcap * tanh(logits / softcap).
// W (n_vocab rounded up, n_embd).
void gi_op_gemv_vocab(struct gi_recorder *recorder, const char *label,
                      const struct gi_weight *weight, const struct gi_stream *stream, float scale,
                      float softcap, struct gi_logits *logits);
