// y[m] = x[m] * gamma / sqrt(mean(x[m]^2) + eps) for the rows of a batch; with ADD y[m] += that, with
// SCALED y[m] = scale * (y[m] + that).
//
//   y        (n_tokens, y_stride)  written, with ADD read too; with HALF in f16 (gemm/half_rows.glsl)
//   x        (n_tokens, x_stride)
//   vectors  gamma (width), with SCALED the scale
//
// A group owns a row; an invocation strides over its columns by fours, with HALF by eights, once
// for the sum of squares and once to write, the second time from the cache. Reads four bytes an
// element and writes four or two: bound by memory.
#include "lib/common.glsl"
#include "lib/group.glsl"
#include "lib/reduce.glsl"
#include "lib/step_state.glsl"

#if !defined(ADD) || !defined(HALF)
#error "ADD: 1 if y is added to, 0 if it is written; HALF: 1 if y is f16"
#endif

#ifndef SCALED
#define SCALED 0
#endif

#if HALF
#include "gemm/half_rows_write.glsl"
#elif ADD
layout(std430, binding = 0) restrict buffer Y { vec4 y[]; };
#else
layout(std430, binding = 0) restrict writeonly buffer Y { vec4 y[]; };
#endif
layout(std430, binding = 1) restrict readonly buffer X { vec4 x[]; };
layout(std430, binding = 2) restrict readonly buffer Vectors { vec4 vectors[]; };

#include "params/rmsnorm.glsl"

float row_sum(uint begin, uint n_quad)
{
    float sum = 0.0;
    for (uint i = gl_LocalInvocationID.x; i < n_quad; i += uint(WG_SIZE)) {
        vec4 value = x[begin + i];
        sum += dot(value, value);
    }
    return reduce_sum(sum, uint(WG_SIZE));
}

#if HALF
// Returns zero past the row's width.
vec4 normed_quad(uint begin, uint i, uint n_quad, float scale)
{
    uint at = min(i, n_quad - 1u);
    vec4 value = x[begin + at] * scale * vectors[params.gamma / 4u + at];
    return i < n_quad ? value : vec4(0.0);
}

void write_row(uint token, uint begin, uint n_quad, float scale)
{
    uint n_tile = (params.width + HALF_COLUMNS - 1u) / HALF_COLUMNS;
    for (uint first = 0u; first < 8u * n_tile; first += uint(WG_SIZE)) {
        uint word = first + gl_LocalInvocationID.x;
        vec4 a = normed_quad(begin, 2u * word, n_quad, scale);
        vec4 b = normed_quad(begin, 2u * word + 1u, n_quad, scale);
        bool is_there = word < 8u * n_tile && gl_WorkGroupID.x < state.n_tokens;
        write_half_word(token, word, n_tile, a, b, is_there);
    }
}
#else
void write_row(uint token, uint begin, uint n_quad, float scale)
{
    if (gl_WorkGroupID.x >= state.n_tokens) {
        return;
    }
    for (uint i = gl_LocalInvocationID.x; i < n_quad; i += uint(WG_SIZE)) {
        vec4 value = x[begin + i] * scale * vectors[params.gamma / 4u + i];
        uint at = token * params.y_stride / 4u + i;
#if ADD
        value += y[at];
#endif
#if SCALED
        value *= vectors[params.scale / 4u].x;
#endif
        y[at] = value;
    }
}
#endif

void main()
{
    uint token = min(gl_WorkGroupID.x, state.n_tokens - 1u);
    uint n_quad = params.width / 4u;
    uint begin = token * params.x_stride / 4u;
    float scale = inversesqrt(row_sum(begin, n_quad) / float(params.width) + params.eps);
    write_row(token, begin, n_quad, scale);
}
