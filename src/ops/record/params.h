// The Params block (UBO 0) of every kernel: one list per kernel of its fields, 4-byte scalars only,
// in the order of the std140 block in its .comp file. The lists give the C structs, which a
// dispatch table pads to 16 bytes; the kernel tests compare their offsets with those of every built
// program.
#ifndef GI_OPS_PARAMS_H
#define GI_OPS_PARAMS_H

#include <stdint.h>

// kernel and name of its struct gi_<name>_params; list GI_PARAMS_<KERNEL> of X(type, field).
#define GI_PARAMS_MAP(X)                                                                           \
    X(GEMV_QKV, gemv_qkv)                                                                          \
    X(GEMV_RESIDUAL, gemv_residual)                                                                \
    X(GEMV_GLU, gemv_glu)                                                                          \
    X(GEMV_VOCAB, gemv_vocab)                                                                      \
    X(GEMV_PLAIN, gemv_plain)                                                                      \
    X(GEMV_POST, gemv_post)                                                                        \
    X(GEMV_EXPERT_GLU, gemv_expert_glu)                                                            \
    X(GEMV_EXPERT, gemv_expert)                                                                    \
    X(ROUTE, route)                                                                                \
    X(SORT_EXPERTS, sort_experts)                                                                  \
    X(GATHER_ROWS, gather_rows)                                                                    \
    X(ADD_EXPERTS, add_experts)                                                                    \
    X(NORM_ROPE_KV, norm_rope_kv)                                                                  \
    X(POST_NORM, post_norm)                                                                        \
    X(ADJUST, adjust)                                                                              \
    X(ARGMAX, argmax)                                                                              \
    X(TOP_K, top_k)                                                                                \
    X(FULL_BINS, full_bins)                                                                        \
    X(FULL_SAMPLE, full_sample)                                                                    \
    X(EMBED_TOKEN, embed_token)                                                                    \
    X(EMBED_BATCH, embed_batch)                                                                    \
    X(ADD_INPUTS, add_inputs)                                                                      \
    X(GATE_INPUT, gate_input)                                                                      \
    X(ADD_POSITIONS, add_positions)                                                                \
    X(LAST_ROW, last_row)                                                                          \
    X(LOGIT_ROWS, logit_rows)                                                                      \
    X(LOGPROB, logprob)                                                                            \
    X(RMSNORM, rmsnorm)                                                                            \
    X(LAYERNORM, layernorm)                                                                        \
    X(GEMM, gemm)                                                                                  \
    X(GEMM_LANE, gemm_lane)                                                                        \
    X(GEMM_ROW, gemm_row)                                                                          \
    X(GEMM_WIDE, gemm_wide)                                                                        \
    X(GEMM_HALF, gemm_half)                                                                        \
    X(GEMV_BATCH, gemv_batch)                                                                      \
    X(GEMV_BATCH_HALF, gemv_batch_half)                                                            \
    X(RATE_FMA, rate_fma)                                                                          \
    X(ROPE_KV, rope_kv)                                                                            \
    X(GLU, glu)                                                                                    \
    X(SPARSE_GLU, sparse_glu)                                                                      \
    X(ALTUP_EMBED, altup_embed)                                                                    \
    X(ALTUP_PREDICT, altup_predict)                                                                \
    X(LAUREL_JOIN, laurel_join)                                                                    \
    X(ALTUP_CORRECT, altup_correct)                                                                \
    X(ALTUP_ADD, altup_add)                                                                        \
    X(ALTUP_MERGE, altup_merge)                                                                    \
    X(DELTA_STEP, delta_step)                                                                      \
    X(DELTA_CONV, delta_conv)                                                                      \
    X(DELTA_SCAN, delta_scan)                                                                      \
    X(DELTA_SCAN_SUBGROUP, delta_scan_subgroup)                                                    \
    X(DELTA_NORM, delta_norm)                                                                      \
    X(SHORT_CONV, short_conv)                                                                      \
    X(SSM_STEP, ssm_step)                                                                          \
    X(SSM_CONV, ssm_conv)                                                                          \
    X(SSM_SCAN, ssm_scan)                                                                          \
    X(SSM_NORM, ssm_norm)                                                                          \
    X(HALF_ROWS, half_rows)                                                                        \
    X(PACK_ROWS, pack_rows)                                                                        \
    X(GATE_ROWS, gate_rows)                                                                        \
    X(ATTENTION, attention)                                                                        \
    X(ATTENTION_SUBGROUP, attention_subgroup)                                                      \
    X(ATTENTION_VEC8, attention_vec8)                                                              \
    X(ATTENTION_ROW, attention_row)                                                                \
    X(ATTENTION_BATCH, attention_batch)                                                            \
    X(ATTENTION_HALF, attention_half)                                                              \
    X(ATTENTION_BATCH_ROW, attention_batch_row)

// Parameters that gemv/gemv.glsl reads. Offsets of stream parts are in vec4, of aux in uints.
#define GI_PARAMS_GEMV(X)                                                                          \
    X(uint32_t, n_block)                                                                           \
    X(uint32_t, n_pair) /* pairs of tiles of the part */                                           \
    X(uint32_t, source) /* x */                                                                    \
    X(uint32_t, bias)   /* read with HAS_BIAS */

#define GI_PARAMS_GEMV_NORM(X)                                                                     \
    X(uint32_t, ssq)                                                                               \
    X(uint32_t, n_ssq)                                                                             \
    X(float, inv_n_embd)                                                                           \
    X(float, norm_eps)

// Pairs below are rotary pairs, counted over the whole stack.
#define GI_PARAMS_GEMV_QKV(X)                                                                      \
    GI_PARAMS_GEMV(X)                                                                              \
    GI_PARAMS_GEMV_NORM(X)                                                                         \
    X(uint32_t, pair_begin) /* of the part */                                                      \
    X(uint32_t, k_begin)                                                                           \
    X(uint32_t, v_begin)                                                                           \
    X(uint32_t, n_q_pair)  /* pairs of q without padding */                                        \
    X(uint32_t, n_kv_pair) /* of k, of v */                                                        \
    X(uint32_t, n_rot_pair)                                                                        \
    X(uint32_t, rope)                                                                              \
    X(uint32_t, n_ctx)                                                                             \
    X(uint32_t, k) /* in uints of the layer's range */                                             \
    X(uint32_t, v)

// Offsets of residual, norm and ssq are in floats: this kernel writes them.
#define GI_PARAMS_GEMV_RESIDUAL(X)                                                                 \
    GI_PARAMS_GEMV(X)                                                                              \
    X(uint32_t, gamma)                                                                             \
    X(uint32_t, residual)                                                                          \
    X(uint32_t, norm)                                                                              \
    X(uint32_t, ssq) /* of the part's first partial sum */                                         \
    X(uint32_t, row_begin)                                                                         \
    X(uint32_t, n_embd)                                                                            \
    X(float, scale)

#define GI_PARAMS_GEMV_GLU(X)                                                                      \
    GI_PARAMS_GEMV(X)                                                                              \
    GI_PARAMS_GEMV_NORM(X)                                                                         \
    X(uint32_t, ff_begin) /* of the part */                                                        \
    X(uint32_t, n_ff)                                                                              \
    X(float, square)                                                                               \
    X(float, fall)                                                                                 \
    X(float, slope)                                                                                \
    X(float, edge)

#define GI_PARAMS_GEMV_VOCAB(X)                                                                    \
    GI_PARAMS_GEMV(X)                                                                              \
    GI_PARAMS_GEMV_NORM(X)                                                                         \
    X(uint32_t, row_begin)                                                                         \
    X(uint32_t, n_vocab)                                                                           \
    X(uint32_t, partial) /* of the part's first partial result, in uints */                        \
    X(float, scale)                                                                                \
    X(float, softcap)

#define GI_PARAMS_GEMV_PLAIN(X)                                                                    \
    GI_PARAMS_GEMV(X)                                                                              \
    GI_PARAMS_GEMV_NORM(X)                                                                         \
    X(uint32_t, row_begin)

// Offsets in the stream are in floats.
#define GI_PARAMS_GEMV_POST(X)                                                                     \
    GI_PARAMS_GEMV(X)                                                                              \
    X(uint32_t, post)                                                                              \
    X(uint32_t, gamma)                                                                             \
    X(uint32_t, scale)                                                                             \
    X(uint32_t, residual)                                                                          \
    X(uint32_t, norm)                                                                              \
    X(uint32_t, behind)                                                                            \
    X(uint32_t, sums) /* of the part's first */                                                    \
    X(uint32_t, old_sums)                                                                          \
    X(uint32_t, n_old)                                                                             \
    X(uint32_t, row_begin)                                                                         \
    X(uint32_t, n_embd)                                                                            \
    X(float, inv_n_embd)                                                                           \
    X(float, norm_eps)

// Parameters of one part, results of an expert and a token: glsl/experts/gemv_expert_glu.comp.
#define GI_PARAMS_GEMV_EXPERT_GLU(X)                                                               \
    GI_PARAMS_GEMV(X)                                                                              \
    GI_PARAMS_GEMV_NORM(X)                                                                         \
    X(uint32_t, source_stride)                                                                     \
    X(uint32_t, first_expert)                                                                      \
    X(uint32_t, n_expert)                                                                          \
    X(uint32_t, n_row)                                                                             \
    X(uint32_t, stride)                                                                            \
    X(uint32_t, width)                                                                             \
    X(uint32_t, route)

#define GI_PARAMS_GEMV_EXPERT(X)                                                                   \
    GI_PARAMS_GEMV_EXPERT_GLU(X)                                                                   \
    X(uint32_t, act_width)

#define GI_PARAMS_ROUTE(X)                                                                         \
    X(uint32_t, n_expert)                                                                          \
    X(uint32_t, n_used)                                                                            \
    X(uint32_t, stride)                                                                            \
    X(uint32_t, act_stride)                                                                        \
    X(uint32_t, route)                                                                             \
    X(uint32_t, one)                                                                               \
    X(uint32_t, bias)                                                                              \
    X(uint32_t, is_normalised)                                                                     \
    X(uint32_t, n_shared)                                                                          \
    X(uint32_t, shared_gate)                                                                       \
    X(float, scale)

// In vec4 but for counts.
#define GI_PARAMS_SORT_EXPERTS(X)                                                                  \
    X(uint32_t, n_used)                                                                            \
    X(uint32_t, route)                                                                             \
    X(uint32_t, tiles)                                                                             \
    X(uint32_t, tile_tokens)                                                                       \
    X(uint32_t, row_step)

#define GI_PARAMS_GATHER_ROWS(X)                                                                   \
    X(uint32_t, n_used)                                                                            \
    X(uint32_t, n_quad)                                                                            \
    X(uint32_t, x_stride)                                                                          \
    X(uint32_t, input_begin)

// Offsets and strides in floats.
#define GI_PARAMS_ADD_EXPERTS(X)                                                                   \
    X(uint32_t, n_embd)                                                                            \
    X(uint32_t, n_used)                                                                            \
    X(uint32_t, x_stride)                                                                          \
    X(uint32_t, y_stride)                                                                          \
    X(uint32_t, y_width)                                                                           \
    X(uint32_t, act_stride)                                                                        \
    X(uint32_t, route)                                                                             \
    X(uint32_t, gamma)                                                                             \
    X(uint32_t, residual)                                                                          \
    X(uint32_t, norm)                                                                              \
    X(uint32_t, ssq)                                                                               \
    X(float, scale)

#define GI_PARAMS_ADJUST(X)                                                                        \
    X(uint32_t, n_vocab)                                                                           \
    X(uint32_t, partial) /* in uints */                                                            \
    X(uint32_t, n_part)                                                                            \
    X(uint32_t, bias) /* in uints of the table, as the two behind it */                            \
    X(uint32_t, mask)                                                                              \
    X(uint32_t, window)                                                                            \
    X(uint32_t, n_slot)

#define GI_PARAMS_ARGMAX(X)                                                                        \
    X(uint32_t, n_vocab)                                                                           \
    X(uint32_t, n_partial)                                                                         \
    X(uint32_t, partial) /* in uints */                                                            \
    X(uint32_t, scratch) /* likewise */

#define GI_PARAMS_TOP_K(X)       GI_PARAMS_ARGMAX(X)
#define GI_PARAMS_FULL_BINS(X)   GI_PARAMS_ARGMAX(X)
#define GI_PARAMS_FULL_SAMPLE(X) GI_PARAMS_ARGMAX(X)

#define GI_PARAMS_EMBED_TOKEN(X)                                                                   \
    X(uint32_t, row_begin) /* of the part */                                                       \
    X(uint32_t, n_rows)                                                                            \
    X(uint32_t, n_block)                                                                           \
    X(uint32_t, n_embd)                                                                            \
    X(uint32_t, residual) /* offsets in floats of the stream */                                    \
    X(uint32_t, norm)                                                                              \
    X(uint32_t, ssq)                                                                               \
    X(uint32_t, rope_row)                                                                          \
    X(uint32_t, gamma) /* in floats of the vectors */                                              \
    X(uint32_t, rope_table)                                                                        \
    X(uint32_t, n_rot)                                                                             \
    X(float, scale)

#define GI_PARAMS_EMBED_BATCH(X)                                                                   \
    X(uint32_t, row_begin) /* of the part */                                                       \
    X(uint32_t, n_rows)                                                                            \
    X(uint32_t, n_block)                                                                           \
    X(uint32_t, stride)                                                                            \
    X(float, scale)

#define GI_PARAMS_ADD_INPUTS(X)                                                                    \
    X(uint32_t, stride)                                                                            \
    X(uint32_t, y_stride)                                                                          \
    X(uint32_t, width)                                                                             \
    X(uint32_t, gamma)                                                                             \
    X(float, eps)

#define GI_PARAMS_GATE_INPUT(X)                                                                    \
    X(uint32_t, gate_stride)                                                                       \
    X(uint32_t, stride)                                                                            \
    X(uint32_t, begin)                                                                             \
    X(uint32_t, width)                                                                             \
    X(uint32_t, act_stride)

#define GI_PARAMS_ADD_POSITIONS(X)                                                                 \
    X(uint32_t, x_stride)                                                                          \
    X(uint32_t, width)                                                                             \
    X(uint32_t, table)

#define GI_PARAMS_LAST_ROW(X)                                                                      \
    X(uint32_t, stride)                                                                            \
    X(uint32_t, n_embd)                                                                            \
    X(uint32_t, gamma)                                                                             \
    X(uint32_t, norm)                                                                              \
    X(uint32_t, ssq)                                                                               \
    X(uint32_t, residual)

#define GI_PARAMS_LOGIT_ROWS(X)                                                                    \
    X(uint32_t, stride)                                                                            \
    X(uint32_t, n_vocab)                                                                           \
    X(uint32_t, partial)                                                                           \
    X(float, scale)                                                                                \
    X(float, softcap)

#define GI_PARAMS_LOGPROB(X)                                                                       \
    X(uint32_t, stride)                                                                            \
    X(uint32_t, n_vocab)                                                                           \
    X(uint32_t, one)                                                                               \
    X(float, scale)                                                                                \
    X(float, softcap)

#define GI_PARAMS_RATE_FMA(X)                                                                      \
    X(uint32_t, n_round)                                                                           \
    X(float, factor)                                                                               \
    X(float, addend)

#define GI_PARAMS_RMSNORM(X)                                                                       \
    X(uint32_t, x_stride)                                                                          \
    X(uint32_t, y_stride)                                                                          \
    X(uint32_t, width)                                                                             \
    X(uint32_t, gamma)                                                                             \
    X(uint32_t, scale)                                                                             \
    X(float, eps)

// Offsets and strides in floats.
#define GI_PARAMS_LAYERNORM(X)                                                                     \
    X(uint32_t, x_stride)                                                                          \
    X(uint32_t, y_stride)                                                                          \
    X(uint32_t, width)                                                                             \
    X(uint32_t, gamma)                                                                             \
    X(uint32_t, beta)                                                                              \
    X(uint32_t, residual)                                                                          \
    X(uint32_t, norm)                                                                              \
    X(uint32_t, ssq)                                                                               \
    X(float, eps)

#define GI_PARAMS_GEMM(X)                                                                          \
    X(uint32_t, n_rows) /* of the part */                                                          \
    X(uint32_t, n_block)                                                                           \
    X(uint32_t, x_stride)                                                                          \
    X(uint32_t, y_stride)                                                                          \
    X(uint32_t, y_begin)                                                                           \
    X(uint32_t, bias)                                                                              \
    X(float, scale)                                                                                \
    X(uint32_t, is_added) /* of gemm_half; others have a define */                                 \
    X(uint32_t, x_begin)  /* from here on with EXPERTS; in vec4 */                                 \
    X(uint32_t, tiles)                                                                             \
    X(uint32_t, first_expert) /* of the part */                                                    \
    X(uint32_t, n_expert)                                                                          \
    X(uint32_t, n_used)

#define GI_PARAMS_GEMM_LANE(X)       GI_PARAMS_GEMM(X)
#define GI_PARAMS_GEMM_ROW(X)        GI_PARAMS_GEMM(X)
#define GI_PARAMS_GEMM_HALF(X)       GI_PARAMS_GEMM(X)
#define GI_PARAMS_GEMM_WIDE(X)       GI_PARAMS_GEMM(X)
#define GI_PARAMS_GEMV_BATCH(X)      GI_PARAMS_GEMM(X)
#define GI_PARAMS_GEMV_BATCH_HALF(X) GI_PARAMS_GEMM(X)

// Pairs are rotary pairs; k and v in uints of the layer's range, rope in pairs of the vectors.
#define GI_PARAMS_ROPE_KV(X)                                                                       \
    X(uint32_t, q_stride)                                                                          \
    X(uint32_t, qkv_stride)                                                                        \
    X(uint32_t, n_q_pair) /* of a token */                                                         \
    X(uint32_t, n_kv_pair)                                                                         \
    X(uint32_t, q_begin) /* columns of qkv */                                                      \
    X(uint32_t, k_begin)                                                                           \
    X(uint32_t, v_begin)                                                                           \
    X(uint32_t, n_head_pair) /* of a head */                                                       \
    X(uint32_t, n_rot_pair)                                                                        \
    X(uint32_t, n_ctx)                                                                             \
    X(uint32_t, k)                                                                                 \
    X(uint32_t, v)                                                                                 \
    X(uint32_t, k_scale)                                                                           \
    X(uint32_t, v_scale)                                                                           \
    X(uint32_t, rope)                                                                              \
    X(uint32_t, slot_cache) /* from one slot's to the next's, in uints */                          \
    X(float, temperature)                                                                          \
    X(uint32_t, period)

// Norms are of so many pairs; their weights are in pairs of the vectors.
#define GI_PARAMS_NORM_ROPE_KV(X)                                                                  \
    GI_PARAMS_ROPE_KV(X)                                                                           \
    X(uint32_t, q_norm_pair)                                                                       \
    X(uint32_t, kv_norm_pair)                                                                      \
    X(uint32_t, q_gamma)                                                                           \
    X(uint32_t, k_gamma)                                                                           \
    X(float, eps)

// Offsets in floats.
#define GI_PARAMS_POST_NORM(X)                                                                     \
    X(uint32_t, n_embd)                                                                            \
    X(uint32_t, gamma)                                                                             \
    X(uint32_t, next_gamma)                                                                        \
    X(uint32_t, residual)                                                                          \
    X(uint32_t, norm)                                                                              \
    X(uint32_t, ssq)                                                                               \
    X(uint32_t, out_scale)                                                                         \
    X(float, eps)

#define GI_PARAMS_HALF_ROWS(X)                                                                     \
    X(uint32_t, x_stride)                                                                          \
    X(uint32_t, width)

#define GI_PARAMS_PACK_ROWS(X) GI_PARAMS_HALF_ROWS(X)

#define GI_PARAMS_GLU(X)                                                                           \
    X(uint32_t, gate_up_stride)                                                                    \
    X(uint32_t, act_stride)                                                                        \
    X(uint32_t, gate_begin) /* columns of gate_up */                                               \
    X(uint32_t, n_part)                                                                            \
    X(uint32_t, act_begin)                                                                         \
    X(uint32_t, n_column)                                                                          \
    X(float, square)                                                                               \
    X(float, fall)                                                                                 \
    X(float, slope)                                                                                \
    X(float, edge)

// n_step: quads from one of an invocation to its next.
#define GI_PARAMS_SPARSE_GLU(X)                                                                    \
    X(uint32_t, gate_up_stride)                                                                    \
    X(uint32_t, act_stride)                                                                        \
    X(uint32_t, up_begin)                                                                          \
    X(uint32_t, n)                                                                                 \
    X(uint32_t, n_step)                                                                            \
    X(float, deviations)

// The kernels of glsl/altup have offsets and strides in floats, n_step as above.
#define GI_PARAMS_ALTUP_EMBED(X)                                                                   \
    X(uint32_t, n_embd)                                                                            \
    X(uint32_t, stride)                                                                            \
    X(uint32_t, x_begin)                                                                           \
    X(uint32_t, x_stride)                                                                          \
    X(uint32_t, y_stride)                                                                          \
    X(uint32_t, n_step)

#define GI_PARAMS_ALTUP_PREDICT(X)                                                                 \
    X(uint32_t, n_embd)                                                                            \
    X(uint32_t, stride)                                                                            \
    X(uint32_t, x_stride)                                                                          \
    X(uint32_t, y_stride)                                                                          \
    X(uint32_t, router_norm)                                                                       \
    X(uint32_t, router)                                                                            \
    X(uint32_t, coefs)                                                                             \
    X(uint32_t, input_gamma)                                                                       \
    X(uint32_t, gamma)                                                                             \
    X(uint32_t, residual)                                                                          \
    X(uint32_t, norm)                                                                              \
    X(uint32_t, ssq)                                                                               \
    X(float, eps)

#define GI_PARAMS_LAUREL_JOIN(X)                                                                   \
    X(uint32_t, n_embd)                                                                            \
    X(uint32_t, x_stride)                                                                          \
    X(uint32_t, y_stride)                                                                          \
    X(uint32_t, side_stride)                                                                       \
    X(uint32_t, x_gamma)                                                                           \
    X(uint32_t, y_gamma)                                                                           \
    X(uint32_t, l_gamma)                                                                           \
    X(uint32_t, l_begin)                                                                           \
    X(uint32_t, z_begin)                                                                           \
    X(uint32_t, gamma)                                                                             \
    X(uint32_t, residual)                                                                          \
    X(uint32_t, norm)                                                                              \
    X(uint32_t, ssq)                                                                               \
    X(float, eps)

#define GI_PARAMS_ALTUP_CORRECT(X)                                                                 \
    X(uint32_t, n_embd)                                                                            \
    X(uint32_t, stride)                                                                            \
    X(uint32_t, x_stride)                                                                          \
    X(uint32_t, y_stride)                                                                          \
    X(uint32_t, router_norm)                                                                       \
    X(uint32_t, router)                                                                            \
    X(uint32_t, coefs)                                                                             \
    X(uint32_t, y_gamma)                                                                           \
    X(uint32_t, scale)                                                                             \
    X(uint32_t, z_begin)                                                                           \
    X(uint32_t, residual)                                                                          \
    X(float, eps)

#define GI_PARAMS_ALTUP_ADD(X)                                                                     \
    X(uint32_t, n_embd)                                                                            \
    X(uint32_t, stride)                                                                            \
    X(uint32_t, y_stride)                                                                          \
    X(uint32_t, gamma)                                                                             \
    X(uint32_t, n_step)                                                                            \
    X(float, eps)

#define GI_PARAMS_ALTUP_MERGE(X)                                                                   \
    X(uint32_t, n_embd)                                                                            \
    X(uint32_t, x_stride)                                                                          \
    X(uint32_t, stride)                                                                            \
    X(uint32_t, u_stride)                                                                          \
    X(uint32_t, gamma)                                                                             \
    X(uint32_t, residual)                                                                          \
    X(uint32_t, norm)                                                                              \
    X(uint32_t, ssq)

// Parameters of all kernels of attention. k and v in words of 16 bytes of the layer's range, their
// scales in uints, partial and counter in floats of the scratch, strides in floats.
#define GI_PARAMS_ATTENTION(X)                                                                     \
    X(uint32_t, n_head)                                                                            \
    X(uint32_t, n_kv_head)                                                                         \
    X(uint32_t, n_ctx)                                                                             \
    X(uint32_t, window)                                                                            \
    X(uint32_t, k)                                                                                 \
    X(uint32_t, v)                                                                                 \
    X(uint32_t, k_scale)                                                                           \
    X(uint32_t, v_scale)                                                                           \
    X(float, scale)                                                                                \
    X(float, softcap)                                                                              \
    X(uint32_t, max_range) /* of a decode step */                                                  \
    X(uint32_t, partial)                                                                           \
    X(uint32_t, counter)                                                                           \
    X(uint32_t, q_stride) /* of a batch */                                                         \
    X(uint32_t, out_stride)                                                                        \
    X(uint32_t, q_begin) /* glsl/attention/attention_qkv.glsl: in quads of qkv */                  \
    X(uint32_t, k_begin)                                                                           \
    X(uint32_t, v_begin)                                                                           \
    X(uint32_t, rope) /* in quads of the vectors */                                                \
    X(uint32_t, rope_stride)                                                                       \
    X(uint32_t, n_rot)                                                                             \
    X(uint32_t, q_gamma)                                                                           \
    X(uint32_t, k_gamma)                                                                           \
    X(float, norm_eps)                                                                             \
    X(uint32_t, slot_cache)   /* from one slot to the next, in words of 16 bytes */                \
    X(uint32_t, slot_scratch) /* in floats */                                                      \
    X(uint32_t, after)        /* keys behind its own that a token of a batch sees */               \
    X(float, max_bias)                                                                             \
    X(uint32_t, sinks) /* in floats of the vectors */

#define GI_PARAMS_ATTENTION_SUBGROUP(X)  GI_PARAMS_ATTENTION(X)
#define GI_PARAMS_ATTENTION_VEC8(X)      GI_PARAMS_ATTENTION(X)
#define GI_PARAMS_ATTENTION_ROW(X)       GI_PARAMS_ATTENTION(X)
#define GI_PARAMS_ATTENTION_BATCH(X)     GI_PARAMS_ATTENTION(X)
#define GI_PARAMS_ATTENTION_HALF(X)      GI_PARAMS_ATTENTION(X)
#define GI_PARAMS_ATTENTION_BATCH_ROW(X) GI_PARAMS_ATTENTION(X)

#define GI_PARAMS_GATE_ROWS(X)                                                                     \
    X(uint32_t, x_stride)                                                                          \
    X(uint32_t, qkv_stride)                                                                        \
    X(uint32_t, gate_begin)                                                                        \
    X(uint32_t, n_column)

// Columns of the projection, offsets in the vectors and in the state.
#define GI_PARAMS_DELTA_STEP(X)                                                                    \
    X(uint32_t, n_head)                                                                            \
    X(uint32_t, n_k_head)                                                                          \
    X(uint32_t, z)                                                                                 \
    X(uint32_t, rate)                                                                              \
    X(uint32_t, decay)                                                                             \
    X(uint32_t, taps)                                                                              \
    X(uint32_t, gamma)                                                                             \
    X(uint32_t, decay_bias)                                                                        \
    X(uint32_t, decay_rate)                                                                        \
    X(uint32_t, matrix)                                                                            \
    X(float, eps)

#define GI_PARAMS_DELTA_CONV(X)                                                                    \
    X(uint32_t, x_stride)                                                                          \
    X(uint32_t, y_stride)                                                                          \
    X(uint32_t, n_head)                                                                            \
    X(uint32_t, n_k_head)                                                                          \
    X(uint32_t, rate)                                                                              \
    X(uint32_t, decay)                                                                             \
    X(uint32_t, taps)                                                                              \
    X(uint32_t, decay_bias)                                                                        \
    X(uint32_t, decay_rate)                                                                        \
    X(float, eps)

#define GI_PARAMS_DELTA_SCAN(X)                                                                    \
    X(uint32_t, x_stride)                                                                          \
    X(uint32_t, y_stride)                                                                          \
    X(uint32_t, out_stride)                                                                        \
    X(uint32_t, n_head)                                                                            \
    X(uint32_t, n_k_head)                                                                          \
    X(uint32_t, matrix)
#define GI_PARAMS_DELTA_SCAN_SUBGROUP(X) GI_PARAMS_DELTA_SCAN(X)

#define GI_PARAMS_DELTA_NORM(X)                                                                    \
    X(uint32_t, x_stride)                                                                          \
    X(uint32_t, o_stride)                                                                          \
    X(uint32_t, out_stride)                                                                        \
    X(uint32_t, z)                                                                                 \
    X(uint32_t, gamma)                                                                             \
    X(float, eps)

// Columns of the projection, and an offset in the vectors.
#define GI_PARAMS_SHORT_CONV(X)                                                                    \
    X(uint32_t, y_stride)                                                                          \
    X(uint32_t, bcx_stride)                                                                        \
    X(uint32_t, section)                                                                           \
    X(uint32_t, n_channel)                                                                         \
    X(uint32_t, taps)

// Columns of the projection, offsets in the vectors, and that of the matrices in the state.
#define GI_PARAMS_SSM_STEP(X)                                                                      \
    X(uint32_t, n_head)                                                                            \
    X(uint32_t, n_group)                                                                           \
    X(uint32_t, channels)                                                                          \
    X(uint32_t, dt)                                                                                \
    X(uint32_t, taps)                                                                              \
    X(uint32_t, taps_bias)                                                                         \
    X(uint32_t, dt_bias)                                                                           \
    X(uint32_t, decay_rate)                                                                        \
    X(uint32_t, skip)                                                                              \
    X(uint32_t, matrix)

#define GI_PARAMS_SSM_CONV(X)                                                                      \
    X(uint32_t, x_stride)                                                                          \
    X(uint32_t, y_stride)                                                                          \
    X(uint32_t, n_channel)                                                                         \
    X(uint32_t, n_head)                                                                            \
    X(uint32_t, channels)                                                                          \
    X(uint32_t, dt)                                                                                \
    X(uint32_t, taps)                                                                              \
    X(uint32_t, taps_bias)                                                                         \
    X(uint32_t, dt_bias)                                                                           \
    X(uint32_t, decay_rate)                                                                        \
    X(uint32_t, skip)

#define GI_PARAMS_SSM_SCAN(X)                                                                      \
    X(uint32_t, x_stride)                                                                          \
    X(uint32_t, y_stride)                                                                          \
    X(uint32_t, out_stride)                                                                        \
    X(uint32_t, n_head)                                                                            \
    X(uint32_t, n_group)                                                                           \
    X(uint32_t, channels)                                                                          \
    X(uint32_t, matrix)

#define GI_PARAMS_SSM_NORM(X)                                                                      \
    X(uint32_t, y_stride)                                                                          \
    X(uint32_t, width)                                                                             \
    X(uint32_t, gamma)                                                                             \
    X(float, eps)

#define GI_PARAMS_FIELD(type, field) type field;
#define GI_PARAMS_STRUCT(kernel, name)                                                             \
    struct gi_##name##_params {                                                                    \
        GI_PARAMS_##kernel(GI_PARAMS_FIELD)                                                        \
    };
GI_PARAMS_MAP(GI_PARAMS_STRUCT)
#undef GI_PARAMS_STRUCT
#undef GI_PARAMS_FIELD

#endif
