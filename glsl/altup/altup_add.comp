// streams[m] += norm(y[m]) for all of its four rows but the first, norm(y) = y * y_gamma / sqrt(mean(y^2) + eps):
// what the last layer makes of its own input (altup/altup_predict.comp adds that of the others).
//
//   streams  (n_tokens, stride)  four rows of n_embd
//   y        (n_tokens, y_stride)
//   vectors  y_gamma (n_embd)
//
// Groups of a token share its columns; each reads all of y for the sum of squares, a few kilobytes.
#include "lib/common.glsl"
#include "lib/group.glsl"
#include "lib/reduce.glsl"
#include "lib/step_state.glsl"

layout(std430, binding = 0) restrict buffer Streams { vec4 streams[]; };
layout(std430, binding = 1) restrict readonly buffer Y { vec4 y[]; };
layout(std430, binding = 2) restrict readonly buffer Vectors { vec4 vectors[]; };

#include "params/altup.glsl"

void main()
{
    uint token = min(gl_WorkGroupID.y, state.n_tokens - 1u), n_quad = params.n_embd / 4u;
    uint at = token * params.stride / 4u, y_at = token * params.y_stride / 4u;
    float sum = 0.0;
    for (uint i = gl_LocalInvocationIndex; i < n_quad; i += uint(WG_SIZE)) {
        sum += dot(y[y_at + i], y[y_at + i]);
    }
    float scale = inversesqrt(reduce_sum(sum, uint(WG_SIZE)) / float(params.n_embd) + params.eps);
    uint n_own = gl_WorkGroupID.y < state.n_tokens ? n_quad : 0u;
    for (uint i = gl_GlobalInvocationID.x; i < n_own; i += params.n_step) {
        vec4 own = y[y_at + i] * scale * vectors[params.y_gamma / 4u + i];
        streams[at + n_quad + i] += own;
        streams[at + 2u * n_quad + i] += own;
        streams[at + 3u * n_quad + i] += own;
    }
}
