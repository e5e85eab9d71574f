// The Params block (uniform block 0) of every kernel, written once. GI_PARAMS(name, fields) lists
// its fields in the syntax that C and GLSL share: uint and float only, which std140 lays out as C
// does; tools/cmake/embed_glsl.cmake refuses other types.
//
//     GI_PARAMS(rmsnorm, uint x_stride, y_stride; float eps;)
//
// declares struct gi_rmsnorm_params in C. A kernel gets the block as `params` by
// #include "params/rmsnorm.glsl", a text that tools/cmake/embed_glsl.cmake makes of the same list.
// A folder of kernels has its lists in <folder>_params.h.
#ifndef GI_GLSL_LIB_PARAMS_H
#define GI_GLSL_LIB_PARAMS_H

#include <stdint.h>

#ifndef GI_PARAMS
typedef uint32_t uint; // as GLSL calls it
#define GI_PARAMS(name, ...)                                                                       \
    struct gi_##name##_params {                                                                    \
        __VA_ARGS__                                                                                \
    };
#endif

#endif
