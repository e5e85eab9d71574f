// Params of the kernels in glsl/delta.
#ifndef GI_GLSL_DELTA_PARAMS_H
#define GI_GLSL_DELTA_PARAMS_H

#include "glsl/lib/params.h"

// clang-format off

// All kernels of linear attention.
GI_PARAMS(delta,
    uint x_stride, y_stride, n_head, n_k_head; // strides are of a batch
    uint o_stride, out_stride;
    uint z; // column of x: (n_head, DIM)
    uint matrix; // offset in the state; the ring is at 0
    uint gamma; // offset in vectors
    float eps;
    uint rate, decay; // columns of x: (n_head)
    uint taps, decay_bias, decay_rate; // offsets in vectors
)

#endif
