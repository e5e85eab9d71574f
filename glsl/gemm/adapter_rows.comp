// y[m][n] += factor * sum over j < RANK of B[n][j] * scale[m][j] * t[m][j]: the term that
// low-rank adapters add to a product of a batch, t = A x.
//
//   y      (n_tokens, y_stride)      columns from y_begin on read and written
//   t      (n_tokens, t_stride)      RANK columns for each matrix that the weight stacks
//   scale  (scale_stride) for all tokens, or with EACH 1 (n_tokens, scale_stride)
//   aux    B: gemv/gemv_adapter.glsl
//
// An invocation owns two columns of TOKENS rows of y, of one tile and so of one matrix, which read
// the same of t. Bound by the loads of t.
#include "lib/common.glsl"
#include "lib/group.glsl"
#include "lib/step_state.glsl"

#if !defined(RANK) || !defined(TOKENS) || !defined(EACH)
#error "RANK: columns of B, a multiple of 4; TOKENS: rows of an invocation; EACH: see above"
#endif

layout(std430, binding = 0) restrict buffer Y { float y[]; };
layout(std430, binding = 1) restrict readonly buffer T { vec4 t[]; };
layout(std430, binding = 2) restrict readonly buffer Scale { vec4 scale[]; };
layout(std430, binding = 3) restrict readonly buffer Aux { uint aux[]; };

#include "params/adapter_rows.glsl"

// Columns 4 i to 4 i + 3 of the row of B whose words are at `at`.
vec4 columns_at(uint at, uint i)
{
    highp vec2 low = unpackHalf2x16(aux[at + 16u * i + 8u]);
    highp vec2 high = unpackHalf2x16(aux[at + 16u * i + 16u]);
    return vec4(low, high);
}

void main()
{
    uint n_tile = params.n_rows / 8u, tile = gl_GlobalInvocationID.x / 4u;
    uint row = gl_GlobalInvocationID.x % 4u, first = gl_WorkGroupID.y * uint(TOKENS);
    uint at = params.adapter + min(tile, n_tile - 1u) * 8u * uint(RANK / 2 + 1) + row;
    uint begin = aux[at];
    vec2 sums[TOKENS];
    for (int m = 0; m < TOKENS; m++) {
        sums[m] = vec2(0.0);
    }
    for (uint i = 0u; i < uint(RANK / 4); i++) {
        vec4 columns_a = columns_at(at, i), columns_b = columns_at(at + 4u, i);
#if !EACH
        columns_a *= scale[i];
        columns_b *= scale[i];
#endif
        for (int m = 0; m < TOKENS; m++) {
            uint token = min(first + uint(m), state.n_tokens - 1u);
            vec4 x = t[token * (params.t_stride / 4u) + begin + i];
#if EACH
            x *= scale[token * (params.scale_stride / 4u) + i];
#endif
            sums[m] += vec2(dot(x, columns_a), dot(x, columns_b));
        }
    }
    for (int m = 0; m < TOKENS; m++) {
        uint token = first + uint(m);
        if (token < state.n_tokens && tile < n_tile) {
            uint n = token * params.y_stride + params.y_begin + 8u * tile + row;
            y[n] += params.factor * sums[m].x;
            y[n + 4u] += params.factor * sums[m].y;
        }
    }
}
