// y = W act of each chosen expert: the down projection of a mixture of experts.
//
//   dst     y (n_tokens, stride): n_used rows of width
//   source  act (n_tokens, source_stride): n_used rows of act_width, then the route (route.comp)
//   W       a part: the rows of each of its experts
//
// Grid y is tokens and z their experts; groups whose expert is not in the part do nothing. Sizes of
// groups and invocations: gemv/gemv.glsl.
#include "lib/common.glsl"
#include "lib/step_state.glsl"

#include "params/gemv_expert.glsl"

layout(std430, binding = 0) restrict writeonly buffer Y { float result[]; };

#define GEMV_NORM 0
#define GEMV_SOURCE                                                                                \
    (gl_WorkGroupID.y * params.source_stride + gl_WorkGroupID.z * params.act_width)

#include "gemv/gemv.glsl"

uint expert;

uvec2 gemv_tiles(uint pair)
{
    return uvec2(2u * pair, 2u * pair + 1u) + expert * 2u * params.n_pair;
}

void store(uint n, float y)
{
    if (n < params.n_row) {
        result[gl_WorkGroupID.y * params.stride + gl_WorkGroupID.z * params.width + n] = y;
    }
}

#if HAS_BIAS
vec2 bias;
#else
const vec2 bias = vec2(0.0);
#endif

void gemv_fetch(uint pair, uint row)
{
#if HAS_BIAS
    uint at = params.bias + (expert * params.n_pair + pair) * 16u + row;
    bias = uintBitsToFloat(uvec2(aux_at(at), aux_at(at + 8u)));
#endif
}

void gemv_prepare(uint pair, uint row) {}

void gemv_finish(uint pair, uint row, vec2 y)
{
    y += bias;
    store(pair * 16u + row, y.x);
    store(pair * 16u + row + 8u, y.y);
}

void main()
{
    vec4 route = gemv_source(gl_WorkGroupID.y * params.source_stride + params.route +
                             gl_WorkGroupID.z);
    expert = uint(route.x) - params.first_expert; // wraps to a large one before the part
    if (expert < params.n_expert && gl_WorkGroupID.y < state.n_tokens) {
        gemv_run();
    }
}
