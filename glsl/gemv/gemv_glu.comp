// act[i] = f(g[i]) * u[i], g and u the gate and up rows of W norm / rms + bias, or without NORM of
// W x + bias: the gated FFN, a gated linear unit. f is the activation.
//
//   dst     act (n_ff), with WRITE_SUMS its sums        with SIDE 2 and 3 read, too
//   source  stream: norm (n_embd), ssq (n_ssq), or x (n_embd)
//   W       a part: gate rows, then the same number of up rows; with SIDE rows of one of them
//
// A pair is gate tile j and up tile j, so that an owner has both factors. Where the two are of
// different types each has a dispatch of its own: norm/glu.glsl. Sizes: gemv/gemv.glsl.
#include "lib/common.glsl"
#include "norm/activation.glsl"

#if !defined(HAS_BIAS) || !defined(NORM)
#error "HAS_BIAS: 1 if aux holds a bias; NORM: 1 if x is multiplied by 1 / rms"
#endif

#include "params/gemv_glu.glsl"

#if SIDE >= 2
layout(std430, binding = 0) restrict buffer Act { float act[]; };
#else
layout(std430, binding = 0) restrict writeonly buffer Act { float act[]; };
#endif

#define GEMV_NORM NORM

#include "gemv/gemv.glsl"
#include "gemv/gemv_sums.glsl"
#include "norm/glu.glsl"

uvec2 gemv_tiles(uint pair)
{
    return GLU_TILES * pair + uvec2(0u, GLU_SECOND);
}

#if HAS_BIAS
vec2 bias;
#else
const vec2 bias = vec2(0.0);
#endif

void gemv_fetch(uint pair, uint row)
{
#if HAS_BIAS
    uint at = params.bias + GLU_TILES * pair * 8u + row;
    bias = uintBitsToFloat(uvec2(aux_at(at), aux_at(at + GLU_SECOND * 8u)));
#endif
}

void gemv_prepare(uint pair, uint row)
{
#if ADAPTER_IS_BIAS
    bias += gemv_adapter(pair, row);
#endif
}

void gemv_finish(uint pair, uint row, vec2 y)
{
    uint i = params.ff_begin + GLU_TILES * pair * 8u + row;
    y += bias;
    glu_store(0u, i, params.n_ff, y);
#if WRITE_SUMS // SIDE 0
    gemv_note(pair, row, i < params.n_ff ? activate(y.x) * linear_factor(y.y) : 0.0);
#endif
}

void main()
{
    gemv_run();
#if WRITE_SUMS
    group_barrier();
    if (gemv_has_sum(2u)) {
        uint pair = 2u * gl_LocalInvocationIndex;
        bool has_next = GEMV_GROUP * GROUP_PAIRS + pair + 1u < params.n_pair;
        float next = gemv_pair_sum(pair + 1u);
        uint at = sums_begin(params.n_ff) + params.ff_begin / SUM_SIZE + gemv_sum_index(2u);
        act[at] = gemv_pair_sum(pair) + (has_next ? next : 0.0);
    }
#endif
}
