// Params of the kernels in glsl/experts.
#ifndef GI_GLSL_EXPERTS_PARAMS_H
#define GI_GLSL_EXPERTS_PARAMS_H

#include "glsl/lib/params.h"

// clang-format off

GI_PARAMS(add_experts,
    uint n_embd, n_used, x_stride, y_stride;
    uint y_width, act_stride, route, gamma;
    uint residual, norm, ssq;
    float scale;
)

GI_PARAMS(gather_rows,
    uint n_used, n_quad;
    uint x_stride, input_begin; // in vec4
)

// gemv_expert.comp and gemv_expert_glu.comp.
GI_PARAMS(gemv_expert,
    uint n_block, n_pair, source, bias;
    uint ssq, n_ssq;
    float inv_n_embd, norm_eps;
    uint source_stride; // of a token, in vec4
    uint first_expert, n_expert; // of the part
    uint n_row; // results of an expert
    uint stride, width; // of a token's and of an expert's results
    uint route; // of the token, for gemv_expert in vec4
    uint act_width; // in vec4, of gemv_expert
)

GI_PARAMS(route,
    uint n_expert, n_used, stride, act_stride;
    uint route, one; // one is 1: see reduce_max
    uint bias, is_normalised, factor;
    uint n_shared, shared_gate; // the gate's logit of a row; ~0u: no gate
    float scale;
)

GI_PARAMS(sort_experts,
    uint n_used;
    uint route, tiles; // in vec4
    uint tile_tokens, row_step;
)

#endif
