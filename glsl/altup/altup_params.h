// Params of the kernels in glsl/altup.
#ifndef GI_GLSL_ALTUP_PARAMS_H
#define GI_GLSL_ALTUP_PARAMS_H

#include "glsl/lib/params.h"

// clang-format off

// All kernels. Offsets and strides in floats.
GI_PARAMS(altup,
    uint n_embd; // a multiple of 64, so that a stream can be bound by itself
    float eps; // of all norms
    uint router_norm, router, coefs; // weights (n_embd), matrix (4, n_embd), (16, 4) or (4, 4)
    uint x_gamma, y_gamma, l_gamma; // weights of norms of the residual, of y and of the branch
    uint gamma; // of the norm that follows in a step
    uint scale; // (n_embd) that the first stream is multiplied by
    uint stride, x_stride, y_stride, side_stride; // of streams, x, y and branch
    uint residual, norm, ssq; // of a step's stream
    uint l_begin, z_begin; // in a step's row: the branch, the residual after attention
    uint n_step; // quads from one of an invocation to its next
)

#endif
