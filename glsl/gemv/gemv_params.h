// Params of the kernels in glsl/gemv.
#ifndef GI_GLSL_GEMV_PARAMS_H
#define GI_GLSL_GEMV_PARAMS_H

#include "glsl/lib/params.h"

// clang-format off

// Each begins with the fields that gemv/gemv.glsl reads: source in vec4 of x, bias in uints of aux.

GI_PARAMS(gemv_glu,
    uint n_block, n_pair, source, bias;
    uint ssq, n_ssq;
    float inv_n_embd, norm_eps;
    uint ff_begin, n_ff;
    float square, fall, slope, edge; // of xielu
)

GI_PARAMS(gemv_plain,
    uint n_block, n_pair, source, bias;
    uint ssq, n_ssq;
    float inv_n_embd, norm_eps;
    uint row_begin;
)

GI_PARAMS(gemv_post,
    uint n_block, n_pair, source, bias;
    uint post, gamma, scale, residual;
    uint norm, u_offset; // floats from r to u, and from r gamma to u gamma
    uint sums, old_sums, n_old;
    uint row_begin, n_embd;
    float inv_n_embd, norm_eps;
)

GI_PARAMS(gemv_qkv,
    uint n_block, n_pair, source, bias;
    uint ssq, n_ssq;
    float inv_n_embd, norm_eps;
    uint pair_begin, k_begin, v_begin, n_q_pair;
    uint n_kv_pair, n_rot_pair, rope, n_ctx;
    uint k, v;
)

GI_PARAMS(gemv_residual,
    uint n_block, n_pair, source, bias;
    uint gamma, residual, norm, ssq;
    uint row_begin, n_embd;
    float scale;
)

GI_PARAMS(gemv_vocab,
    uint n_block, n_pair, source, bias;
    uint ssq, n_ssq;
    float inv_n_embd, norm_eps;
    uint row_begin, n_vocab, partial;
    float scale, softcap;
)

#endif
