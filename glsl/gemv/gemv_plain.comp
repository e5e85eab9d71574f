// y = W x + bias, with NORM y = W norm / rms + bias: a projection by itself.
//
//   dst     y (n_rows), in the GPU order of rows; with K_SPLITS (K_SPLITS, n_rows): the products of
//           each split of k
//   source  x (n_cols), or with NORM the stream: norm (n_embd), ssq (n_ssq)
//   W       (n_rows, n_cols)          sizes of groups: gemv/gemv.glsl
#include "lib/common.glsl"
#include "lib/publish.glsl"

#if !defined(HAS_BIAS) || !defined(NORM)
#error "HAS_BIAS: 1 if aux holds a bias; NORM: 1 if x is multiplied by 1 / rms"
#endif

#include "params/gemv_plain.glsl"

layout(std430, binding = 0) restrict writeonly buffer Y { float result[]; };

#define GEMV_NORM NORM

#ifndef K_SPLITS
#define K_SPLITS 1
#endif
#if K_SPLITS > 1
#define GEMV_FIRST_BLOCK (gl_WorkGroupID.y * uint(N_BLOCK))
#define GEMV_SOURCE (params.source + 8u * GEMV_FIRST_BLOCK)
#endif

#include "gemv/gemv.glsl"
#include "gemv/gemv_pairs.glsl"

#if HAS_BIAS
vec2 bias;
#else
const vec2 bias = vec2(0.0);
#endif

void gemv_prepare(uint pair, uint row)
{
#if ADAPTER_IS_BIAS
    bias += gemv_adapter(pair, row);
#endif
}

void gemv_fetch(uint pair, uint row)
{
#if HAS_BIAS
    bias = gemv_aux(params.bias, pair, row);
#endif
}

void gemv_finish(uint pair, uint row, vec2 y)
{
    uint n = pair * 16u + row;
#if K_SPLITS > 1
    n += gl_WorkGroupID.y * params.n_pair * 16u;
#endif
    y += bias;
    result[params.row_begin + n] = PUBLISH(y.x);
    result[params.row_begin + n + 8u] = PUBLISH(y.y);
}

void main()
{
    gemv_run();
}
