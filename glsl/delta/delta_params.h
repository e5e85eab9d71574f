// Params of the kernels in glsl/delta.
#ifndef GI_GLSL_DELTA_PARAMS_H
#define GI_GLSL_DELTA_PARAMS_H

#include "glsl/lib/params.h"

// clang-format off

// All kernels of linear attention.
GI_PARAMS(delta,
    uint n_head, n_k_head;
    uint z, rate, decay; // columns of x: (n_head, DIM), (n_head), (n_head)
    uint taps, gamma, decay_bias, decay_rate; // offsets in vectors
    float eps;
    uint matrix; // offset in the state; the ring is at 0
    uint x_stride, y_stride, o_stride, out_stride; // of a batch
)

#endif
