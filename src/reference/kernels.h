// The kernels that have a reference, gi_ref_<name>: first and last program, name, tolerance and
// filled bindings, as struct gi_kernel has them. The head comment of a kernel in glsl gives its
// formula and the shapes of its bindings.
//
// delta_conv and ssm_conv: the addends of a convolution cancel, so that the error of a channel near
// zero reaches 115 roundings (kernel_test with 9 seeds, llvmpipe). The steps and scans of delta and
// ssm: a matrix has the roundings of each token. Attention: its reference counts those of each
// head.
#ifndef GI_REFERENCE_KERNELS_H
#define GI_REFERENCE_KERNELS_H

#include "reference/reference.h"

#define GI_KERNEL_MAP(X)                                                                           \
    X(ALTUP_EMBED, ALTUP_EMBED, altup_embed, 64, 0)                                                \
    X(ALTUP_PREDICT, ALTUP_PREDICT, altup_predict, 64, 1u << 3)                                    \
    X(LAUREL_JOIN, LAUREL_JOIN, laurel_join, 64, 1u << 1)                                          \
    X(ALTUP_CORRECT, ALTUP_CORRECT, altup_correct, 64, 1u << 3)                                    \
    X(ALTUP_ADD, ALTUP_ADD, altup_add, 64, 1u << 1)                                                \
    X(ALTUP_MERGE, ALTUP_MERGE, altup_merge, 64, 0)                                                \
    X(SPARSE_GLU, SPARSE_GLU, sparse_glu, 8, 0)                                                    \
    X(GATE_ROWS, GATE_ROWS, gate_rows, 2.5, 0)                                                     \
    X(ADD_POSITIONS, ADD_POSITIONS, add_positions, 1, 0)                                           \
    X(ADD_INPUTS, ADD_INPUTS, add_inputs, 18, 0)                                                   \
    X(GATE_INPUT, GATE_INPUT, gate_input, 8, 0)                                                    \
    X(LAST_ROW, LAST_ROW, last_row, 4, 0)                                                          \
    X(RMSNORM, RMSNORM, rmsnorm, 16, 0)                                                            \
    X(LAYERNORM, LAYERNORM, layernorm, 16, 0)                                                      \
    X(POST_NORM, POST_NORM, post_norm, 16, 0)                                                      \
    X(GLU, GLU, glu, 2.25, 0)                                                                      \
    X(HALF_ROWS, HALF_ROWS, half_rows, 0, 0)                                                       \
    X(PACK_ROWS, PACK_ROWS, pack_rows, 0, 1u << 0)                                                 \
    X(ROUTE, ROUTE, route, 4, 0)                                                                   \
    X(SORT_EXPERTS, SORT_EXPERTS, sort_experts, 0, 0)                                              \
    X(GATHER_ROWS, GATHER_ROWS, gather_rows, 0, 0)                                                 \
    X(ADD_EXPERTS, ADD_EXPERTS, add_experts, 16, 0)                                                \
    X(LOGIT_ROWS, LOGIT_ROWS, logit_rows, 4, 0)                                                    \
    X(LOGPROB, LOGPROB, logprob, 2, 0)                                                             \
    X(SHORT_CONV, SHORT_CONV, short_conv, 4, 0)                                                    \
    X(DELTA_STEP, DELTA_STEP, delta_step, 100, 0)                                                  \
    X(DELTA_CONV, DELTA_CONV, delta_conv, 200, 0)                                                  \
    X(DELTA_SCAN, DELTA_SCAN_SUBGROUP, delta_scan, 100, 0)                                         \
    X(DELTA_NORM, DELTA_NORM, delta_norm, 32, 0)                                                   \
    X(SSM_STEP, SSM_STEP, ssm_step, 100, 0)                                                        \
    X(SSM_CONV, SSM_CONV, ssm_conv, 200, 0)                                                        \
    X(SSM_SCAN, SSM_SCAN, ssm_scan, 100, 0)                                                        \
    X(SSM_NORM, SSM_NORM, ssm_norm, 32, 0)                                                         \
    X(GEMV_QKV_SPLIT, GEMV_QKV_TEXBITS, gemv_qkv, 16, 0)                                           \
    X(GEMV_RESIDUAL_SPLIT, GEMV_RESIDUAL_TEXBITS, gemv_residual, 16, 0)                            \
    X(GEMV_GLU_SPLIT, GEMV_GLU_TEXBITS, gemv_glu, 16, 0)                                           \
    X(GEMV_VOCAB_SPLIT, GEMV_VOCAB_TEXBITS, gemv_vocab, 16, 0)                                     \
    X(GEMV_PLAIN_SPLIT, GEMV_PLAIN_TEXBITS, gemv_plain, 16, 0)                                     \
    X(GEMV_POST_SPLIT, GEMV_POST_TEXEL, gemv_post, 16, 0)                                          \
    X(GEMV_EXPERT_GLU_SPLIT, GEMV_EXPERT_GLU_TEXBITS, gemv_expert_glu, 16, 0)                      \
    X(GEMV_EXPERT_SPLIT, GEMV_EXPERT_TEXBITS, gemv_expert, 16, 0)                                  \
    X(GEMM, GEMV_BATCH_HALF, gemm, 0, 0)                                                           \
    X(ROPE_KV, ROPE_KV, rope_kv, 4, 0)                                                             \
    X(NORM_ROPE_KV, NORM_ROPE_KV, norm_rope_kv, 4, 0)                                              \
    X(ATTENTION, ATTENTION_VEC8, attention, 0, 0)                                                  \
    X(ATTENTION_QKV, ATTENTION_QKV, attention_qkv, 4, 0)                                           \
    X(ATTENTION_ROW, ATTENTION_ROW, attention, 0, 0)                                               \
    X(ATTENTION_BATCH, ATTENTION_BATCH_ROW, attention_batch, 0, 0)

#define GI_KERNEL_REFERENCE(first, last, name, ...) void gi_ref_##name(struct gi_ref *ref);
GI_KERNEL_MAP(GI_KERNEL_REFERENCE)
#undef GI_KERNEL_REFERENCE

#endif
