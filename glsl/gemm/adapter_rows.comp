// y[m][n] += factor * sum over j < RANK of B[n][j] * scale[m][j] * t[m][j]: the term that
// low-rank adapters add to a product of a batch, t = A x.
//
//   y      (n_tokens, y_stride)      columns from y_begin on read and written
//   t      (n_tokens, t_stride)      RANK columns for each matrix that the weight stacks
//   scale  (n_tokens, scale_stride)  or one row for all tokens, with scale_stride 0
//   aux    B: gemv/gemv_adapter.glsl
//
// An invocation owns a column of TOKENS rows of y, so that it reads a row of B once for these. Bound
// by the loads of t, which the invocations of a tile share.
#include "lib/common.glsl"
#include "lib/group.glsl"
#include "lib/step_state.glsl"

#if !defined(RANK) || !defined(TOKENS)
#error "RANK: columns of B, a multiple of 4; TOKENS: rows of an invocation"
#endif

layout(std430, binding = 0) restrict buffer Y { float y[]; };
layout(std430, binding = 1) restrict readonly buffer T { vec4 t[]; };
layout(std430, binding = 2) restrict readonly buffer Scale { vec4 scale[]; };
layout(std430, binding = 3) restrict readonly buffer Aux { uint aux[]; };

#include "params/adapter_rows.glsl"

void main()
{
    uint n = gl_GlobalInvocationID.x, first = gl_WorkGroupID.y * uint(TOKENS);
    if (n >= params.n_rows) {
        return;
    }
    uint at = params.adapter + n / 8u * 8u * uint(RANK / 2 + 1) + n % 8u;
    uint begin = aux[at];
    float sums[TOKENS];
    for (int m = 0; m < TOKENS; m++) {
        sums[m] = 0.0;
    }
    for (uint i = 0u; i < uint(RANK / 4); i++) {
        highp vec2 low = unpackHalf2x16(aux[at + 16u * i + 8u]);
        highp vec2 high = unpackHalf2x16(aux[at + 16u * i + 16u]);
        vec4 b = vec4(low, high);
        for (int m = 0; m < TOKENS; m++) {
            uint token = min(first + uint(m), state.n_tokens - 1u);
            vec4 x = scale[token * (params.scale_stride / 4u) + i];
            sums[m] += dot(x * t[token * (params.t_stride / 4u) + begin + i], b);
        }
    }
    for (int m = 0; m < TOKENS; m++) {
        uint token = first + uint(m);
        if (token < state.n_tokens) {
            y[token * params.y_stride + params.y_begin + n] += params.factor * sums[m];
        }
    }
}
