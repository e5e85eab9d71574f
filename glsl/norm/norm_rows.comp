// RMSNorm, MEAN 0: y = x / sqrt(mean(x^2) + eps) * gamma for the rows of a batch; with ADD y += that, with
// SCALED y = scale * (y + that); with IN_PLACE x is y.
// LayerNorm, MEAN 1: y = (x - mean(x)) / sqrt(mean((x - mean(x))^2) + eps) * gamma + beta for the rows of a
// batch, or with BATCH 0 for the stream of a step: its norm from its residual. There the sum of squares is
// written as width * (1 - eps), so that readers who multiply by 1 / rms multiply by 1.
//
//   y        (n_tokens, y_stride)  written, with ADD read too, with HALF in f16 (gemm/half_rows.glsl); BATCH 0:
//                                  the stream, of which the residual is read
//   x        (n_tokens, x_stride)  BATCH 1, not IN_PLACE
//   vectors  gamma (width), with MEAN beta (width), with SCALED the scale
//
// A group owns a row; an invocation strides over its columns by fours, once for each sum and once to
// write, then with HALF by eights. Reads four bytes an element from memory, later from the cache, and
// writes four or two: bound by memory.
#include "lib/common.glsl"
#include "lib/group.glsl"
#include "lib/reduce.glsl"
#include "lib/step_state.glsl"

#if !defined(MEAN) || !defined(BATCH) || !defined(ADD) || !defined(HALF)
#error "MEAN; BATCH: 1 for rows, 0 for the stream of a step; ADD: 1 to add to y; HALF: 1 if y is f16"
#endif

#ifndef SCALED
#define SCALED 0
#endif
#ifndef IN_PLACE
#define IN_PLACE 0
#endif

#if WG_SIZE <= 32
#define sum_of_group(value) reduce_sum_by_eights(value, uint(WG_SIZE))
#else
#define sum_of_group(value) reduce_sum(value, uint(WG_SIZE))
#endif

#if HALF
#include "gemm/half_rows_write.glsl"
#elif ADD || !BATCH || IN_PLACE
layout(std430, binding = 0) restrict buffer Y { vec4 result[]; };
#else
layout(std430, binding = 0) restrict writeonly buffer Y { vec4 result[]; };
#endif
#if HALF || (BATCH && !IN_PLACE)
layout(std430, binding = 1) restrict readonly buffer X { vec4 source[]; };
#define source_quad(i) source[i]
#else
#define source_quad(i) result[i]
#endif
layout(std430, binding = 2) restrict readonly buffer Vectors { vec4 vectors[]; };

#if MEAN
#include "params/layernorm.glsl"
#define CENTERED(value) ((value) - mean)
#else
#include "params/rmsnorm.glsl"
#define CENTERED(value) (value)
#endif

vec4 normed_quad(uint from, uint i, float mean, float scale)
{
    vec4 value = CENTERED(source_quad(from + i)) * scale * vectors[params.gamma / 4u + i];
#if MEAN
    value += vectors[params.beta / 4u + i];
#endif
    return value;
}

#if HALF
// Returns zero past the row's width.
vec4 half_quad(uint from, uint i, uint n_quad, float mean, float scale)
{
    vec4 value = normed_quad(from, min(i, n_quad - 1u), mean, scale);
    return i < n_quad ? value : vec4(0.0);
}

void write_row(uint token, uint from, uint n_quad, float mean, float scale)
{
    uint n_tile = (params.width + HALF_COLUMNS - 1u) / HALF_COLUMNS;
    for (uint first = 0u; first < 8u * n_tile; first += uint(WG_SIZE)) {
        uint word = first + gl_LocalInvocationID.x;
        vec4 a = half_quad(from, 2u * word, n_quad, mean, scale);
        vec4 b = half_quad(from, 2u * word + 1u, n_quad, mean, scale);
        bool is_there = word < 8u * n_tile && gl_WorkGroupID.x < state.n_tokens;
        write_half_word(token, word, n_tile, a, b, is_there);
    }
}
#else
void write_row(uint token, uint from, uint n_quad, float mean, float scale)
{
    if (gl_WorkGroupID.x >= state.n_tokens) {
        return;
    }
    uint to = token * params.y_stride / 4u;
#if MEAN
    to += params.norm / 4u;
#endif
    for (uint i = gl_LocalInvocationID.x; i < n_quad; i += uint(WG_SIZE)) {
        vec4 value = normed_quad(from, i, mean, scale);
#if ADD
        value += result[to + i];
#endif
#if SCALED
        value *= vectors[params.scale / 4u].x;
#endif
        result[to + i] = value;
    }
#if !BATCH
    if (gl_LocalInvocationIndex == 0u) {
        result[params.ssq / 4u] = vec4(float(params.width) * (1.0 - params.eps), 0.0, 0.0, 0.0);
    }
#endif
}
#endif

void main()
{
    uint token = min(gl_WorkGroupID.x, state.n_tokens - 1u);
    uint n_quad = params.width / 4u, from = token * params.x_stride / 4u;
    float mean = 0.0, squares = 0.0;
#if MEAN
    from += params.residual / 4u;
    vec4 sum = vec4(0.0);
    for (uint i = gl_LocalInvocationID.x; i < n_quad; i += uint(WG_SIZE)) {
        sum += source_quad(from + i);
    }
    mean = sum_of_group((sum.x + sum.y) + (sum.z + sum.w)) / float(params.width);
    group_barrier(); // the next sum overwrites what this one reads
#endif
    for (uint i = gl_LocalInvocationID.x; i < n_quad; i += uint(WG_SIZE)) {
        vec4 value = CENTERED(source_quad(from + i));
        squares += dot(value, value);
    }
    float scale = inversesqrt(sum_of_group(squares) / float(params.width) + params.eps);
    write_row(token, from, n_quad, mean, scale);
}
