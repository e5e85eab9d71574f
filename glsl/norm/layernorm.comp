// y = (x - mean(x)) / sqrt(mean((x - mean(x))^2) + eps) * gamma + beta, for the rows of a batch, or
// with BATCH 0 for the stream of a step: its norm from its residual. There the sum of squares is
// written as width * (1 - eps), so that readers who multiply by 1 / rms multiply by 1.
//
//   y        (n_tokens, y_stride)  written, with HALF in f16 (gemm/half_rows.glsl); BATCH 0: the stream, of which
//                                  the residual is read
//   x        (n_tokens, x_stride)  BATCH 1
//   vectors  gamma (width), beta (width)
//
// A group owns a row; an invocation strides over its columns by fours for the mean, for the
// squares, and to write, then with HALF by eights. Reads four bytes an element from memory, later
// from the cache, and writes four or two: bound by memory.
#include "lib/common.glsl"
#include "lib/group.glsl"
#include "lib/reduce.glsl"
#include "lib/step_state.glsl"

#if !defined(BATCH) || !defined(HALF)
#error "BATCH: 1 for rows, 0 for the stream of a step; HALF: 1 if y is f16"
#endif

#if HALF
#include "gemm/half_rows_write.glsl"
layout(std430, binding = 1) restrict readonly buffer X { vec4 source[]; };
#elif BATCH
layout(std430, binding = 0) restrict writeonly buffer Y { vec4 result[]; };
layout(std430, binding = 1) restrict readonly buffer X { vec4 source[]; };
#else
layout(std430, binding = 0) restrict buffer Y { vec4 result[]; };
#endif
layout(std430, binding = 2) restrict readonly buffer Vectors { vec4 vectors[]; };

#include "params/layernorm.glsl"

vec4 source_quad(uint i)
{
#if HALF || BATCH
    return source[i];
#else
    return result[i];
#endif
}

vec4 normed_quad(uint from, uint i, float mean, float scale)
{
    vec4 gamma = vectors[params.gamma / 4u + i], beta = vectors[params.beta / 4u + i];
    return (source_quad(from + i) - mean) * scale * gamma + beta;
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
    uint to = (params.norm + token * params.y_stride) / 4u;
    for (uint i = gl_LocalInvocationID.x; i < n_quad; i += uint(WG_SIZE)) {
        result[to + i] = normed_quad(from, i, mean, scale);
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
    uint n_quad = params.width / 4u;
    uint from = (params.residual + token * params.x_stride) / 4u;
    vec4 sum = vec4(0.0);
    for (uint i = gl_LocalInvocationID.x; i < n_quad; i += uint(WG_SIZE)) {
        sum += source_quad(from + i);
    }
    float mean = reduce_sum((sum.x + sum.y) + (sum.z + sum.w), uint(WG_SIZE)) / float(params.width);
    group_barrier(); // the next sum overwrites what this one reads
    float squares = 0.0;
    for (uint i = gl_LocalInvocationID.x; i < n_quad; i += uint(WG_SIZE)) {
        vec4 value = source_quad(from + i) - mean;
        squares += dot(value, value);
    }
    float scale = inversesqrt(reduce_sum(squares, uint(WG_SIZE)) / float(params.width) + params.eps);
    write_row(token, from, n_quad, mean, scale);
}
