// Params of the kernels in glsl/ssm.
#ifndef GI_GLSL_SSM_PARAMS_H
#define GI_GLSL_SSM_PARAMS_H

#include "glsl/lib/params.h"

// clang-format off

// All kernels but the norm.
GI_PARAMS(ssm,
    uint x_stride, y_stride, n_head, n_channel; // strides are of a batch; channels of x, b and c together
    uint out_stride, n_group; // n_group: of b and c
    uint channels; // column of x: n_channel of them
    uint matrix; // offset in the state; the ring is at 0
    uint dt; // column of x: (n_head)
    uint taps, taps_bias, dt_bias, decay_rate, skip; // offsets in vectors
)

GI_PARAMS(ssm_norm,
    uint y_stride, width;
    uint gamma; // offset in vectors
    float eps;
)

#endif
