#include "kernel_test.h"

extern const struct kt_suite kt_gemv_qkv, kt_gemv_residual, kt_gemv_glu, kt_gemv_glu_half,
    kt_gemv_vocab, kt_gemv_vocab_stay, kt_gemv_linear, kt_gemv_quant, kt_gemv_dot, kt_gemv_stay,
    kt_gemv_bench, kt_gemm_bench;
extern const struct kt_suite kt_gemv_plain, kt_post_norm, kt_rmsnorm_add, kt_norm_rope_kv;
extern const struct kt_suite kt_experts, kt_experts_step;
extern const struct kt_suite kt_argmax, kt_logprob, kt_philox, kt_sample, kt_sample_cuts;
extern const struct kt_suite kt_embed_token, kt_embed_batch, kt_last_row;
extern const struct kt_suite kt_layernorm, kt_layernorm_step;
extern const struct kt_suite kt_rmsnorm, kt_rmsnorm_scale, kt_gemm, kt_gemm_quant, kt_glu,
    kt_gemv_batch;
extern const struct kt_suite kt_rope_kv, kt_attention, kt_attention_batch, kt_attention_agree,
    kt_attention_direct, kt_attention_resident, kt_attention_qkv;
extern const struct kt_suite kt_attention_out, kt_glu_parts, kt_parts_tuned, kt_residual_parts;
extern const struct kt_suite kt_gemm_half;
extern const struct kt_suite kt_half_rows;
extern const struct kt_suite kt_rate_move, kt_rate_fma;

const struct kt_suite *const kt_suites[] = {
    &kt_gemv_qkv,
    &kt_gemv_residual,
    &kt_gemv_glu,
    &kt_gemv_glu_half,
    &kt_gemv_vocab,
    &kt_gemv_linear,
    &kt_gemv_quant,
    &kt_gemv_dot,
    &kt_gemv_stay,
    &kt_gemv_vocab_stay,
    &kt_gemv_plain,
    &kt_experts,
    &kt_experts_step,
    &kt_post_norm,
    &kt_rmsnorm_add,
    &kt_norm_rope_kv,
    &kt_argmax,
    &kt_logprob,
    &kt_philox,
    &kt_sample,
    &kt_sample_cuts,
    &kt_embed_token,
    &kt_embed_batch,
    &kt_last_row,
    &kt_rmsnorm,
    &kt_layernorm,
    &kt_layernorm_step,
    &kt_rmsnorm_scale,
    &kt_gemm,
    &kt_gemm_quant,
    &kt_gemv_batch,
    &kt_glu,
    &kt_rope_kv,
    &kt_attention,
    &kt_attention_batch,
    &kt_attention_agree,
    &kt_attention_direct,
    &kt_attention_resident,
    &kt_attention_qkv,
    &kt_attention_out,
    &kt_glu_parts,
    &kt_parts_tuned,
    &kt_residual_parts,
    &kt_rate_move,
    &kt_rate_fma,
    &kt_gemm_half,
    &kt_half_rows,
    NULL,
};

const struct kt_suite *const kt_bench_suites[] = {&kt_gemv_bench, &kt_gemm_bench, NULL};
