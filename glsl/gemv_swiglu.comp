// act[i] = silu(g[i]) * u[i], g and u the gate and up rows of W norm / rms + bias: the gated FFN.
// silu(g) = g / (1 + exp(-g)).
//
//   dst     act (n_ff)
//   source  stream: norm (n_embd), ssq (n_ssq)
//   W       a part: gate rows, then the same number of up rows
//
// A pair is gate tile j and up tile j, so that an owner has both factors. Sizes: lib/gemv.glsl.
#include "lib/common.glsl"

#ifndef HAS_BIAS
#error "HAS_BIAS: 1 if aux holds a bias"
#endif

layout(std140, binding = 0) uniform Params
{
    uint n_block, n_pair, source, bias;
    uint ssq, n_ssq;
    float inv_n_embd, norm_eps;
    uint ff_begin, n_ff;
} params;

layout(std430, binding = 0) restrict writeonly buffer Act { float act[]; };

#define GEMV_NORM 1

#include "lib/gemv.glsl"

uvec2 gemv_tiles(uint pair)
{
    return uvec2(pair, pair + params.n_pair);
}

void gemv_finish(uint pair, uint row, vec2 y)
{
#if HAS_BIAS
    uint at = params.bias + pair * 8u + row;
    y += uintBitsToFloat(uvec2(aux_at(at), aux_at(at + params.n_pair * 8u)));
#endif
    uint i = params.ff_begin + pair * 8u + row;
    if (i < params.n_ff) {
        act[i] = y.x / (1.0 + exp(-y.x)) * y.y;
    }
}

void main()
{
    gemv_run();
}
