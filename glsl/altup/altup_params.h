// Params of the kernels in glsl/altup.
#ifndef GI_GLSL_ALTUP_PARAMS_H
#define GI_GLSL_ALTUP_PARAMS_H

#include "glsl/lib/params.h"

// Offsets and strides in floats; n_step: quads from one of an invocation to its next.
// clang-format off

GI_PARAMS(altup_add,
    uint n_embd, stride, y_stride, gamma;
    uint n_step;
    float eps;
)

GI_PARAMS(altup_correct,
    uint n_embd, stride, x_stride, y_stride;
    uint router_norm, router, coefs, y_gamma;
    uint scale, z_begin, residual;
    float eps;
)

GI_PARAMS(altup_embed,
    uint n_embd, stride, x_begin, x_stride;
    uint y_stride, n_step;
)

GI_PARAMS(altup_merge,
    uint n_embd, x_stride, stride, u_stride;
    uint gamma, residual, norm, ssq;
)

GI_PARAMS(altup_predict,
    uint n_embd, stride, x_stride, y_stride;
    uint router_norm, router, coefs, input_gamma;
    uint gamma, residual, norm, ssq;
    float eps;
)

GI_PARAMS(laurel_join,
    uint n_embd, x_stride, y_stride, side_stride;
    uint x_gamma, y_gamma, l_gamma, l_begin;
    uint z_begin, gamma, residual, norm;
    uint ssq;
    float eps;
)

#endif
