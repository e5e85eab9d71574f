// act[i] = f(g[i]) * u[i] of each chosen expert: gemv_glu.comp for a mixture of experts.
//
//   dst     act (n_tokens, stride): n_used rows of width, then the route (route.comp), which is read
//   source  NORM 1: stream, norm (n_embd) and ssq; NORM 0: x (n_tokens, source_stride)
//   W       a part: for each of its experts gate rows, then as many up rows; with SIDE, as in gemv_glu.comp,
//           rows of one of them
//
// Grid y is tokens and z their experts; groups whose expert is not in the part do nothing. Reads
// the weights of a token's experts once for it. Sizes of groups and invocations: gemv/gemv.glsl.
#include "lib/common.glsl"
#include "norm/activation.glsl"
#include "lib/step_state.glsl"

#ifndef NORM
#error "NORM: 1 if x is multiplied by 1 / rms"
#endif

#include "params/gemv_expert.glsl"

layout(std430, binding = 0) restrict buffer Act { float act[]; };

#define GEMV_NORM NORM
#define GEMV_SOURCE (params.source + gl_WorkGroupID.y * params.source_stride)

#include "gemv/gemv.glsl"
#include "norm/glu.glsl"

uint expert;

uvec2 gemv_tiles(uint pair)
{
    return GLU_TILES * pair + uvec2(0u, GLU_SECOND) + expert * 2u * params.n_pair;
}

#if HAS_BIAS
vec2 bias;
#else
const vec2 bias = vec2(0.0);
#endif

void gemv_fetch(uint pair, uint row)
{
#if HAS_BIAS
    uint at = params.bias + expert * 16u * params.n_pair + GLU_TILES * pair * 8u + row;
    bias = uintBitsToFloat(uvec2(aux_at(at), aux_at(at + GLU_SECOND * 8u)));
#endif
}

void gemv_prepare(uint pair, uint row) {}

void gemv_finish(uint pair, uint row, vec2 y)
{
    uint begin = gl_WorkGroupID.y * params.stride + gl_WorkGroupID.z * params.width;
    glu_store(begin, GLU_TILES * pair * 8u + row, params.n_row, y + bias);
}

void main()
{
    uint route = gl_WorkGroupID.y * params.stride + params.route + 4u * gl_WorkGroupID.z;
    expert = uint(act[route]) - params.first_expert; // wraps to a large one before the part
    if (expert < params.n_expert && gl_WorkGroupID.y < state.n_tokens) {
        gemv_run();
    }
}
