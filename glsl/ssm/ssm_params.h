// Params of the kernels in glsl/ssm.
#ifndef GI_GLSL_SSM_PARAMS_H
#define GI_GLSL_SSM_PARAMS_H

#include "glsl/lib/params.h"

// clang-format off

GI_PARAMS(ssm_conv,
    uint x_stride, y_stride, n_channel, n_head;
    uint channels, dt; // columns of x
    uint taps, taps_bias, dt_bias, decay_rate, skip; // offsets in vectors
)

GI_PARAMS(ssm_norm,
    uint y_stride, width;
    uint gamma; // offset in vectors
    float eps;
)

GI_PARAMS(ssm_scan,
    uint x_stride, y_stride, out_stride, n_head, n_group;
    uint channels; // a column of x
    uint matrix;   // offset in the state; the ring is at 0
)

GI_PARAMS(ssm_step,
    uint n_head, n_group;
    uint channels, dt; // columns of source
    uint taps, taps_bias, dt_bias, decay_rate, skip; // offsets in vectors
    uint matrix; // offset in the state; the ring is at 0
)

#endif
