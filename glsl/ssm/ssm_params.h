// Params of the kernels in glsl/ssm.
#ifndef GI_GLSL_SSM_PARAMS_H
#define GI_GLSL_SSM_PARAMS_H

#include "glsl/lib/params.h"

// clang-format off

// All kernels but the norm.
GI_PARAMS(ssm,
    uint n_head, n_group; // n_group: of b and c
    uint channels, dt; // columns of x: n_channel of them, (n_head)
    uint taps, taps_bias, dt_bias, decay_rate, skip; // offsets in vectors
    uint n_channel; // of x, b and c together
    uint matrix; // offset in the state; the ring is at 0
    uint x_stride, y_stride, out_stride; // of a batch
)

GI_PARAMS(ssm_norm,
    uint y_stride, width;
    uint gamma; // offset in vectors
    float eps;
)

#endif
