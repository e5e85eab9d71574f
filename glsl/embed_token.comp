// residual = scale * W[token], norm = residual * gamma, partial sums of squares of residual, and
// the rotations of the step's position, copied beside them.
//
//   stream   the residual stream of a decode step (ops/stream.h), written
//   vectors  gamma (n_embd) and the table of rotations (n_ctx, n_rot)
//   quads, aux  one part of W (n_vocab, n_embd)
//
// A group owns WG_SIZE blocks of 32 columns, an invocation one block; group g writes ssq[g]. Only
// the part that holds the token's row writes. Reads one row of W and of gamma once: a few
// kilobytes, so the time is that of a dispatch whatever the shape.
#include "lib/common.glsl"
#include "lib/put.glsl"
#include "lib/reduce.glsl"
#include "lib/step_state.glsl"
#include "lib/sums.glsl"

#ifndef WG_SIZE
#error "WG_SIZE: invocations of a group, a power of two"
#endif

layout(local_size_x = WG_SIZE) in;

layout(std430, binding = 0) restrict writeonly buffer Stream { float stream[]; };
layout(std430, binding = 1) restrict readonly buffer Vectors { vec4 vectors[]; };

#include "lib/quant.glsl"

layout(std140, binding = 0) uniform Params
{
    uint row_begin, n_rows, n_block, n_embd;
    uint residual, norm, ssq, rope_row;
    uint gamma, rope_table, n_rot;
    float scale;
} params;

// Nothing here is indexed by what is not a constant, not even a component: compilers may put that into memory.

// Writes the four columns from `column` on, adds up their norm and returns their sum of squares.
float write_columns(uint column, vec4 x, bool is_writing, inout float norm_sum)
{
    if (!is_writing || column >= params.n_embd) {
        return 0.0;
    }
    x *= params.scale;
    vec4 norm = x * vectors[(params.gamma + column) / 4u];
    uint at = params.residual + column;
    stream[at] = x.x;
    stream[at + 1u] = x.y;
    stream[at + 2u] = x.z;
    stream[at + 3u] = x.w;
    at = params.norm + column;
    stream[at] = PUT(norm.x);
    stream[at + 1u] = PUT(norm.y);
    stream[at + 2u] = PUT(norm.z);
    stream[at + 3u] = PUT(norm.w);
    norm_sum += (norm.x + norm.y) + (norm.z + norm.w);
    return dot(x, x);
}

// The SUM_SIZE columns from `column` on.
float write_half(uint column, vec4 a, vec4 b, vec4 c, vec4 d, bool is_writing)
{
    float norm_sum = 0.0;
    float sum = write_columns(column, a, is_writing, norm_sum);
    sum += write_columns(column + 4u, b, is_writing, norm_sum);
    sum += write_columns(column + 8u, c, is_writing, norm_sum);
    sum += write_columns(column + 12u, d, is_writing, norm_sum);
#if WRITE_SUMS
    if (is_writing) {
        stream[params.norm + sums_begin(params.n_embd) + column / SUM_SIZE] = norm_sum;
    }
#endif
    return sum;
}

float write_block(uint block, uint row, bool is_writing)
{
    uint tile = row / TILE_ROWS, column = block * QUANT_BLOCK;
    vec4 v[8];
    quant_unpack(quant_load(tile, block, params.n_block, row % TILE_ROWS), v);
    float sum = write_half(column, v[0], v[1], v[2], v[3], is_writing);
    return sum + write_half(column + SUM_SIZE, v[4], v[5], v[6], v[7], is_writing);
}

void copy_rotations(uint lane)
{
    uint begin = params.rope_table + state.n_past * params.n_rot;
    for (uint i = lane; i < params.n_rot; i += uint(WG_SIZE)) {
        vec4 four = vectors[(begin + i) / 4u];
        vec2 two = ((begin + i) & 2u) == 0u ? four.xy : four.zw;
        stream[params.rope_row + i] = ((begin + i) & 1u) == 0u ? two.x : two.y;
    }
}

void main()
{
    uint lane = gl_LocalInvocationID.x;
    uint group = gl_WorkGroupID.x;
    uint block = group * uint(WG_SIZE) + lane;
    uint row = state.token - params.row_begin; // wraps to a large row before the part
    bool is_owner = row < params.n_rows;

    bool is_writing = is_owner && block < params.n_block;
    float sum = write_block(min(block, params.n_block - 1u), is_owner ? row : 0u, is_writing);
    sum = reduce_sum(sum, uint(WG_SIZE));
    if (is_owner && lane == 0u) {
        stream[params.ssq + group] = PUT(sum);
    }
    if (is_owner && group == 0u) {
        copy_rotations(lane);
    }
}
