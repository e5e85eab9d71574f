// Sorts what the tokens of a batch take of experts by expert, so that a product reads each expert's
// weights once for all its tokens (gemm/product.glsl with EXPERTS).
//
//   rows  at route (n_tokens, n_used)  { expert, share, place, row }: place is written, the row of
//                                      this token and expert among all, and row, the same where each
//                                      expert's rows begin at a multiple of row_step
//         at tiles (n_tile)            { expert, first row, end of the expert's rows, row - place } of
//                                      each run of at most tile_tokens rows of one expert; expert is
//                                      N_EXPERT of those that are left over
//
// One group does it all: it counts, adds up the counts before each expert, and hands out places. The
// order of an expert's rows is any; no result depends on it. Reads a few thousand words: bound by
// latency.
#include "lib/common.glsl"
#include "lib/group.glsl"
#include "lib/step_state.glsl"

#ifndef N_EXPERT
#error "N_EXPERT: experts of the mixture"
#endif

layout(std430, binding = 0) restrict buffer Rows { vec4 rows[]; };

#include "params/sort_experts.glsl"

shared uint counts[N_EXPERT];
shared uint places[N_EXPERT];
shared uint shifts[N_EXPERT]; // row - place
shared uint n_used_tile;

uint expert_at(uint i)
{
    return min(uint(rows[params.route + i].x), uint(N_EXPERT - 1));
}

uint tiles_of(uint count)
{
    return (count + params.tile_tokens - 1u) / params.tile_tokens;
}

// Writes an expert's tiles and leaves where its rows begin.
void place_expert(uint expert)
{
    uint place = 0u, row = 0u, tile = 0u, count = counts[expert];
    for (uint i = 0u; i < expert; i++) {
        place += counts[i];
        row += (counts[i] + params.row_step - 1u) / params.row_step * params.row_step;
        tile += tiles_of(counts[i]);
    }
    places[expert] = place;
    shifts[expert] = row - place;
    for (uint i = 0u; i < count; i += params.tile_tokens) {
        rows[params.tiles + tile++] =
            vec4(float(expert), float(row + i), float(row + count), float(row - place));
    }
    if (expert == uint(N_EXPERT - 1)) {
        n_used_tile = tile;
    }
}

void main()
{
    uint lane = gl_LocalInvocationIndex, n = state.n_tokens * params.n_used;
    for (uint i = lane; i < uint(N_EXPERT); i += uint(WG_SIZE)) {
        counts[i] = 0u;
    }
    group_barrier();
    for (uint i = lane; i < n; i += uint(WG_SIZE)) {
        atomicAdd(counts[expert_at(i)], 1u);
    }
    group_barrier();
    for (uint i = lane; i < uint(N_EXPERT); i += uint(WG_SIZE)) {
        place_expert(i);
    }
    group_barrier();
    for (uint i = lane; i < n; i += uint(WG_SIZE)) {
        uint expert = expert_at(i), place = atomicAdd(places[expert], 1u);
        rows[params.route + i].zw = vec2(float(place), float(place + shifts[expert]));
    }
    uint n_tile = tiles_of(n) + uint(N_EXPERT);
    for (uint i = n_used_tile + lane; i < n_tile; i += uint(WG_SIZE)) {
        rows[params.tiles + i] = vec4(float(N_EXPERT), 0.0, 0.0, 0.0);
    }
}
