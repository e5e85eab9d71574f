// Params of the kernels in glsl/gemm.
#ifndef GI_GLSL_GEMM_PARAMS_H
#define GI_GLSL_GEMM_PARAMS_H

#include "glsl/lib/params.h"

// clang-format off

// half_rows and pack_rows.
GI_PARAMS(half_rows,
    uint x_stride, width;
)

// All kernels of a product of rows: gemm*, gemv_batch*.
GI_PARAMS(gemm,
    uint n_rows, n_block, x_stride, y_stride;
    uint y_begin, bias;
    float scale;
    uint is_added; // gemm_half, gemv_batch_half: 1: y += the product, 0: y = it; one program for both
    // n_set to eps of gemv_batch_half alone
    uint n_set; // pairs of tiles of rows of a cluster, one after the other
    uint n_slice; // of k, of a cluster: a power of two from 8 to STEPS
    uint x_form; // 0: tiles, 1: rows in f32, 2: rows in f32 that the kernel norms
    uint gamma; // of the norm, in floats of the vectors
    float eps; // of the norm
    uint x_begin, tiles; // from here on with EXPERTS: in vec4, in uvec4 of gemm_half
    uint first_expert, n_expert, n_used;
)

GI_PARAMS(adapter_rows,
    uint n_rows, t_stride, y_stride, y_begin;
    uint adapter; // in uints of aux
    uint scale_stride;
    float factor;
)

#endif
