// Params of the kernels in glsl/norm.
#ifndef GI_GLSL_NORM_PARAMS_H
#define GI_GLSL_NORM_PARAMS_H

#include "glsl/lib/params.h"

// clang-format off

GI_PARAMS(gate_rows,
    uint x_stride, qkv_stride, gate_begin, n_column;
)

GI_PARAMS(layernorm,
    uint x_stride, y_stride, width, gamma;
    uint beta, residual, norm, ssq;
    float eps;
)

GI_PARAMS(post_norm,
    uint n_embd, gamma, next_gamma;
    uint residual, norm, ssq, out_scale;
    float eps;
)

GI_PARAMS(rmsnorm,
    uint x_stride, y_stride, width, gamma;
    uint scale;
    float eps;
)

GI_PARAMS(glu,
    uint gate_up_stride, act_stride;
    uint gate_begin, n_part; // columns of gate_up
    uint act_begin, n_column; // columns of act
    float square, fall, slope, edge; // of xielu
)

GI_PARAMS(sparse_glu,
    uint gate_up_stride, act_stride, up_begin, n;
    uint n_step;
    float deviations;
)

#endif
