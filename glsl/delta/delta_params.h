// Params of the kernels in glsl/delta.
#ifndef GI_GLSL_DELTA_PARAMS_H
#define GI_GLSL_DELTA_PARAMS_H

#include "glsl/lib/params.h"

// clang-format off

GI_PARAMS(delta_conv,
    uint x_stride, y_stride, n_head, n_k_head;
    uint rate, decay; // columns of x
    uint taps, decay_bias, decay_rate; // offsets in vectors
    float eps;
)

GI_PARAMS(delta_norm,
    uint x_stride, o_stride, out_stride;
    uint z, gamma; // a column of x, an offset in vectors
    float eps;
)

GI_PARAMS(delta_step,
    uint n_head, n_k_head;
    uint z, rate, decay; // columns of source
    uint taps, gamma, decay_bias, decay_rate; // offsets in vectors
    uint matrix; // offset in the state; the ring is at 0
    float eps;
)

GI_PARAMS(delta_scan,
    uint x_stride, y_stride, out_stride, n_head, n_k_head;
    uint matrix; // offset in the state; the ring is at 0
)

#endif
