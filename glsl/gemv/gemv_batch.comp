// y[m] = W x[m] + bias, or y[m] += scale * (W x[m] + bias), for few tokens: gemm/product.glsl.
//
// A group owns PAIRS pairs of tiles and TOKENS tokens. An invocation owns row r of LANE_PAIRS pairs
// and a slice of k: it takes blocks slice, slice + N_SLICE, ..., each dequantised once for all
// tokens, with no barrier in between, so that many loads are in flight. Sums of slices meet in
// shared memory, with SUBGROUP (its size) after shuffles, and every invocation writes some results.
// Groups of the same rows follow each other, so that the second reads weights from a cache.
#include "lib/common.glsl"
#include "lib/first_group.glsl"
#include "lib/group.glsl"
#include "gemm/product.glsl"

#if !defined(PAIRS) || !defined(LANE_PAIRS) || !defined(TOKENS)
#error "PAIRS, TOKENS: of a group; LANE_PAIRS: of an invocation"
#endif
#ifndef SUBGROUP
#define SUBGROUP 0
#endif

#define GROUP_ROWS (16 * PAIRS)
#define LANE_TILES (2 * LANE_PAIRS)
#define CLUSTER (WG_SIZE / (PAIRS / LANE_PAIRS))
#define N_SLICE (CLUSTER / 8)
#if SUBGROUP
#define SPAN min(SUBGROUP, CLUSTER)
#else
#define SPAN 8
#endif
#define N_PARTIAL (CLUSTER / SPAN)

shared float partial[N_PARTIAL * TOKENS * GROUP_ROWS];

// Sums of an invocation's rows for one token, and a quad of k of its rows, row by row in columns.
#if LANE_PAIRS == 2
#define Sums vec4
#define Quad mat4
#define quad_of(k) transpose(mat4(quant_quad(w0, k), quant_quad(w1, k), quant_quad(w2, k), quant_quad(w3, k)))
#else
#define Sums vec2
#define Quad mat4x2
#define quad_of(k) transpose(mat2x4(quant_quad(w0, k), quant_quad(w1, k)))
#endif

void add_quad(Quad w, uint at, uint begin[TOKENS], inout Sums sum[TOKENS])
{
    for (int t = 0; t < TOKENS; t++) {
        vec4 a = x_quads[begin[t] + at];
        sum[t] += a.x * w[0];
        sum[t] += a.y * w[1];
        sum[t] += a.z * w[2];
        sum[t] += a.w * w[3];
    }
}

// Unrolled by hand: not every compiler does. A quad of weights is unpacked where it is multiplied:
// all of a block take registers that Mesa 25 lacks for 16 lanes on Intel (glsl/measurements.md).
void add_block(uint first_tile, uint block, uint row, uint begin[TOKENS], inout Sums sum[TOKENS])
{
    uint at = block * 8u, last = params.n_rows / TILE_ROWS - 1u;
    QuantBlock w0 = quant_load(min(first_tile, last), block, params.n_block, row);
    QuantBlock w1 = quant_load(min(first_tile + 1u, last), block, params.n_block, row);
#if LANE_PAIRS == 2
    QuantBlock w2 = quant_load(min(first_tile + 2u, last), block, params.n_block, row);
    QuantBlock w3 = quant_load(min(first_tile + 3u, last), block, params.n_block, row);
#endif
#define ADD_QUAD(k) add_quad(quad_of(k), at + uint(k), begin, sum);
    EACH_QUAD(ADD_QUAD)
}

void share(uint lane, uint row_begin, Sums sum[TOKENS])
{
    uint part = lane % uint(CLUSTER) / uint(SPAN);
    for (int t = 0; t < TOKENS; t++) {
        Sums value = sum[t];
#if SUBGROUP
        for (uint n = 8u; n < uint(SPAN); n *= 2u) {
            value += subgroupShuffleXor(value, n);
        }
#endif
        if (lane % uint(SPAN) < 8u) {
            uint at = (part * uint(TOKENS) + uint(t)) * uint(GROUP_ROWS) + row_begin + lane % 8u;
            partial[at] = value.x;
            partial[at + 8u] = value.y;
#if LANE_PAIRS == 2
            partial[at + 16u] = value.z;
            partial[at + 24u] = value.w;
#endif
        }
    }
    group_barrier();
}

void write_results(uint lane, uint first_token, uint first_row)
{
    for (uint i = lane; i < uint(TOKENS * GROUP_ROWS); i += uint(WG_SIZE)) {
        uint token = first_token + i / uint(GROUP_ROWS), row = first_row + i % uint(GROUP_ROWS);
        if (token < state.n_tokens && row < params.n_rows) {
            float value = partial[i];
            for (uint n = 1u; n < uint(N_PARTIAL); n++) {
                value += partial[i + n * uint(TOKENS * GROUP_ROWS)];
            }
            write_product(token, row, value);
        }
    }
}

void main()
{
    uint lane = gl_LocalInvocationID.x, row = lane % 8u;
    uint slice = lane / 8u % uint(N_SLICE), cluster = lane / uint(CLUSTER);
    uint first_token = gl_WorkGroupID.x * uint(TOKENS);
    uint first_tile = (gl_WorkGroupID.y + first_group) * uint(2 * PAIRS) + cluster * uint(LANE_TILES);
    uint begin[TOKENS];
    Sums sum[TOKENS];
    for (int t = 0; t < TOKENS; t++) {
        begin[t] = min(first_token + uint(t), state.n_tokens - 1u) * (params.x_stride / 4u);
        sum[t] = Sums(0.0);
    }
    for (uint block = slice; block < params.n_block; block += uint(N_SLICE)) {
        add_block(first_tile, block, row, begin, sum);
    }
    share(lane, cluster * uint(16 * LANE_PAIRS), sum);
    write_results(lane, first_token, (gl_WorkGroupID.y + first_group) * uint(GROUP_ROWS));
}
