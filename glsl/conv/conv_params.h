// Params of the kernels in glsl/conv.
#ifndef GI_GLSL_CONV_PARAMS_H
#define GI_GLSL_CONV_PARAMS_H

#include "glsl/lib/params.h"

// clang-format off

GI_PARAMS(short_conv,
    uint y_stride, bcx_stride, section, n_channel;
    uint taps; // offset in vectors
)

#endif
