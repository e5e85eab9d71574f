// Params of the kernels in glsl/embed.
#ifndef GI_GLSL_EMBED_PARAMS_H
#define GI_GLSL_EMBED_PARAMS_H

#include "glsl/lib/params.h"

// clang-format off

GI_PARAMS(add_inputs,
    uint stride, y_stride, width, gamma;
    float eps;
)

GI_PARAMS(add_positions,
    uint x_stride, width, table;
)

GI_PARAMS(embed_batch,
    uint row_begin, n_rows, n_block, stride;
    float scale;
)

GI_PARAMS(embed_token,
    uint row_begin, n_rows, n_block, n_embd;
    uint residual, norm, ssq, rope_row;
    uint gamma, rope_table, n_rot;
    float scale;
)

GI_PARAMS(gate_input,
    uint gate_stride, stride, begin, width;
    uint act_stride;
)

GI_PARAMS(last_row,
    uint stride, n_embd, gamma, norm;
    uint ssq, residual;
)

#endif
