// Params of the kernels in glsl/measure.
#ifndef GI_GLSL_MEASURE_PARAMS_H
#define GI_GLSL_MEASURE_PARAMS_H

#include "glsl/lib/params.h"

// clang-format off

GI_PARAMS(rate_fma,
    uint n_round;
    float factor, addend;
)

#endif
