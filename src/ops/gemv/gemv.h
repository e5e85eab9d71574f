// The projections of a decode step: y = W x for one token, each with what comes before and after it
// in the model folded in. Every op records one dispatch a part of the weight.
#ifndef GI_OPS_GEMV_H
#define GI_OPS_GEMV_H

#include "ops/embed/embed.h"
#include "ops/record/activation.h"
#include "ops/record/recorder.h"
#include "ops/record/stream.h"
#include "ops/record/weight.h"

// True if projections read the sums of x that producers can leave behind it (stream.h).
bool gi_gemv_wants_sums(const struct gi_gpu *gpu);

// True if gi_op_gemv_qkv writes a cache of the layer's types (q8_0 takes whole blocks), and a form
// of its kernel may be used.
bool gi_gemv_qkv_suits(const struct gi_recorder *recorder, const struct gi_weight *weight,
                       const struct gi_kv_layer *layer);

// q, k, v = rope(W norm / rms + bias): reads stream norm, ssq and rope; writes q at the front of
// the layer's range and k, v into its cache at step_state.n_past. n_rot is the stream's, or 0:
// nothing is turned.
//   W (layout->n_rows, n_embd) in qkv order
void gi_op_gemv_qkv(struct gi_recorder *recorder, const char *label, const struct gi_weight *weight,
                    const struct gi_qkv_layout *layout, uint32_t n_rot,
                    const struct gi_stream *stream, const struct gi_kv_layer *layer);

// All that read the stream here or below read a parted residual (stream.h), too.

// y = W norm / rms + bias, for what has a dispatch of its own after it. y takes weight->n_rows
// floats, in the GPU order of rows.
void gi_op_gemv_norm(struct gi_recorder *recorder, const char *label,
                     const struct gi_weight *weight, const struct gi_stream *stream,
                     struct gi_range y);
// y = W residual + bias likewise.
void gi_op_gemv_stream(struct gi_recorder *recorder, const char *label,
                       const struct gi_weight *weight, const struct gi_stream *stream,
                       struct gi_range y);
// y = W x + bias likewise; x is n_cols floats at x_offset floats of x, with has_sums gi_x_size of
// them.
void gi_op_gemv(struct gi_recorder *recorder, const char *label, const struct gi_weight *weight,
                struct gi_range x, uint32_t x_offset, bool has_sums, struct gi_range y);

// residual += scale * (W x + bias); norm = residual * gamma; ssq = partial sums. x is n_cols floats
// at x_offset floats of x, with has_sums gi_x_size of them. Sets stream->n_ssq and has_sums.
// gamma may be absent from weight only in tests.
void gi_op_gemv_residual(struct gi_recorder *recorder, const char *label,
                         const struct gi_weight *weight, struct gi_range x, uint32_t x_offset,
                         bool has_sums, float scale, struct gi_stream *stream);

// True if a list may have parted residuals, and the weight the norm of its result.
bool gi_gemv_post_suits(const struct gi_recorder *recorder, const struct gi_weight *weight);
// residual = c * (residual + y * post / rms(y)), y = W x + bias, which leaves it parted; norm is
// that times gamma, if the weight has it. c is the number that the weight has, with is_scaled,
// or 1.
void gi_op_gemv_post(struct gi_recorder *recorder, const char *label,
                     const struct gi_weight *weight, struct gi_range x, uint32_t x_offset,
                     bool is_scaled, struct gi_stream *stream);

// act[i] = f(g[i]) * u[i], g and u the two halves of W norm / rms + bias: the gated FFN. Without
// has_norm of W residual + bias. Of an ungated W act[i] = f(u[i]).
//   W (2 * n_ff rounded up to 16, n_embd) in gate_up order; act (n_ff) f32 at act's start,
//   gi_x_size floats.
// *has_sums says whether the sums of act are written too; may be NULL.
void gi_op_gemv_glu(struct gi_recorder *recorder, const char *label, const struct gi_weight *weight,
                    uint32_t n_ff, const struct gi_activation_rule *rule, bool has_norm,
                    const struct gi_stream *stream, struct gi_range act, bool *has_sums);

// norm = (residual - mean) / sqrt(variance + eps) * gamma + beta, offsets in vectors, and what
// makes 1 / rms 1: what follows takes norm as it is. Sets stream->n_ssq and has_sums. One dispatch.
void gi_op_layernorm_step(struct gi_recorder *recorder, const char *label,
                          const struct gi_vectors *vectors, uint32_t gamma, uint32_t beta,
                          struct gi_stream *stream);

// residual = out_scale * (residual + y / rms(y) * gamma); norm = residual * next_gamma; ssq =
// partial sums: the end of a block whose result has a norm of its own. y is n_embd floats; gamma,
// next_gamma and out_scale are offsets in vectors, next_gamma UINT32_MAX where no norm follows
// (norm is not written then), out_scale UINT32_MAX where it is 1. Sets stream->n_ssq. One dispatch.
void gi_op_post_norm(struct gi_recorder *recorder, const char *label, struct gi_range y,
                     const struct gi_vectors *vectors, uint32_t gamma, uint32_t next_gamma,
                     uint32_t out_scale, struct gi_stream *stream);

// inputs[begin + i] *= f(W residual)[i] for i < width: what a layer makes of its own input, in the
// place of that. W (width, n_embd); inputs one row.
void gi_op_gemv_gate_input(struct gi_recorder *recorder, const char *label,
                           const struct gi_weight *weight, uint32_t begin, uint32_t width,
                           enum gi_activation activation, const struct gi_stream *stream,
                           struct gi_range inputs);

// Logits and, for each work group, their largest and its index (the lowest on ties; a NaN or
// infinity makes the index UINT32_MAX). One storage range of uints:
//   logits   (n_vocab) f32;   partial (n_partial) of { f32 value, uint index };   scratch: sample.h
struct gi_logits {
    struct gi_range range;
    uint32_t n_vocab;
    uint32_t partial; // offset in uints, a multiple of 4; logits are at 0
    uint32_t max_partial;
    bool is_fine;       // several partial results of each group are wanted, where groups are few
    uint32_t n_partial; // set by gi_op_gemv_vocab
    uint32_t scratch;   // an offset in uints, of what sample.h leaves
};
#define GI_MAX_SAMPLE_GROUPS 128
// In uints: counters and sums, which are zero between steps; largest and cuts; a list; bests
// (glsl/sample/scratch.glsl).
#define GI_SAMPLE_ZEROS   (64 + 4 * 512)
#define GI_SAMPLE_SCRATCH (GI_SAMPLE_ZEROS + 64 + 2 * 512 + 4 * GI_MAX_SAMPLE_GROUPS)
// Sets the offsets, scratch to a multiple of 256 bytes; returns the bytes that the range must have.
uint64_t gi_logits_layout(struct gi_logits *logits, uint32_t n_vocab);

// logits = scale * (W norm / rms + bias), with softcap over 0 softcap * tanh(those / softcap); W
// (n_vocab rounded up, n_embd).
void gi_op_gemv_vocab(struct gi_recorder *recorder, const char *label,
                      const struct gi_weight *weight, const struct gi_stream *stream, float scale,
                      float softcap, struct gi_logits *logits);

#endif
