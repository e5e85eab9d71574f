// residual = scale * W[token], norm = residual * gamma, partial sums of squares of residual, and
// the rotations of the step's position, copied beside them.
//
//   stream   the residual stream of a decode step (ops/record/stream.h), written
//   vectors  gamma (n_embd) and the table of rotations (n_ctx, n_rot)
//   quads, aux  one part of W (n_vocab, n_embd)
//
// An invocation owns four columns, group g WG_SIZE times as many and ssq[g]; a last group copies
// the rotations. Only the part that holds the token's row writes. Reads one row of W and of gamma,
// a few kilobytes: bound by the dispatch and by two dependent loads.
#include "lib/common.glsl"
#include "lib/group.glsl"
#include "lib/publish.glsl"
#include "lib/reduce.glsl"
#include "lib/step_state.glsl"
#include "norm/sums.glsl"

layout(std430, binding = 0) restrict writeonly buffer Stream { float stream[]; };
layout(std430, binding = 1) restrict readonly buffer Vectors { vec4 vectors[]; };

#include "quant/quant.glsl"

#include "params/embed_token.glsl"

// Writes the four columns from `column` on, without and with gamma.
void write_columns(uint column, vec4 x, vec4 norm)
{
    uint at = params.residual + column;
    stream[at] = x.x;
    stream[at + 1u] = x.y;
    stream[at + 2u] = x.z;
    stream[at + 3u] = x.w;
    at = params.norm + column;
    stream[at] = PUBLISH(norm.x);
    stream[at + 1u] = PUBLISH(norm.y);
    stream[at + 2u] = PUBLISH(norm.z);
    stream[at + 3u] = PUBLISH(norm.w);
}

#if WRITE_SUMS
shared float norm_sums[WG_SIZE];

// Four neighbouring invocations own SUM_SIZE columns.
void write_sum(uint lane, uint column, vec4 norm, bool is_writing)
{
    norm_sums[lane] = (norm.x + norm.y) + (norm.z + norm.w);
    group_barrier();
    if (is_writing && column % SUM_SIZE == 0u) {
        stream[params.norm + sums_begin(params.n_embd) + column / SUM_SIZE] =
            (norm_sums[lane] + norm_sums[lane + 1u]) + (norm_sums[lane + 2u] + norm_sums[lane + 3u]);
    }
}
#endif

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
    uint lane = gl_LocalInvocationID.x, first = gl_WorkGroupID.x * uint(WG_SIZE);
    uint n_four = params.n_block * (QUANT_BLOCK / 4u), four = min(first + lane, n_four - 1u);
    uint token_row = state.token - params.row_begin; // wraps to a large row before the part
    bool is_owner = token_row < params.n_rows, is_writing = is_owner && first + lane < n_four;
    uint row = is_owner ? token_row : 0u, column = 4u * four;
    vec4 gamma = vectors[(params.gamma + min(column, params.n_embd - 4u)) / 4u];
    QuantBlock w = quant_load(row / TILE_ROWS, four / 8u, params.n_block, row % TILE_ROWS);
    vec4 x = params.scale * quant_quad(w, int(four % 8u));
    x = is_writing && column < params.n_embd ? x : vec4(0.0);
    if (is_writing && column < params.n_embd) {
        write_columns(column, x, x * gamma);
    }
#if WRITE_SUMS
    write_sum(lane, column, x * gamma, is_writing);
#endif
    float sum = reduce_sum(dot(x, x), uint(WG_SIZE));
    if (is_owner && lane == 0u && first < n_four) {
        stream[params.ssq + gl_WorkGroupID.x] = PUBLISH(sum);
    }
    if (is_owner && first >= n_four) {
        copy_rotations(lane);
    }
}
