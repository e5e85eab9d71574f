// gemv_run for groups that stay (persistent/gemv_stay.glsl) where there are no subgroups, GEMV_SPLIT 1 with RESIDENT 1: a group
// has the weights of the first PAIRS pairs, those of the first UNROLL (1 or 2) blocks of a slice, on their way to
// registers before the barrier in front of the stage: memory and barrier are waited for together. While the results of
// some pairs meet, the weights of the next are under way. Where a slice has no more than one block (UNROLL 1) x stays
// in registers, too.
//
// On an H200 a step of SmolLM2's shape in 132 groups of 256 takes 383 us, of which each of these is worth so
// much: weights asked for ahead 12, x in shared memory 140, tags 60.

// A block of both tiles. No arrays: compilers may keep those in memory.
struct GemvWeights {
    QuantBlock a, b;
};

GemvWeights gemv_ahead_0;
#if UNROLL > 1
GemvWeights gemv_ahead_1;
#endif

// What is past the last block takes its place.
GemvWeights gemv_weights(uint block, uvec2 tiles)
{
    uint row = gl_LocalInvocationIndex % 8u, at = min(block, params.n_block - 1u);
    return GemvWeights(quant_load(tiles.x, at, params.n_block, row),
                       quant_load(tiles.y, at, params.n_block, row));
}

void gemv_load_ahead(uint first)
{
    uvec2 tiles = gemv_some_tiles(first);
    gemv_ahead_0 = gemv_weights(gemv_slice(), tiles);
#if UNROLL > 1
    gemv_ahead_1 = gemv_weights(gemv_slice() + uint(N_SLICE), tiles);
#endif
}

#if GEMV_NORM
// This slice's share of it, `v` being its first four, loaded once.
float gemv_slice_ssq(vec4 v)
{
    float ssq = 0.0;
    for (uint i = gemv_slice(); i * 4u < params.n_ssq; i += uint(N_SLICE)) {
        GEMV_TAKE(v, params.ssq + i, gemv_ssq_bits(i, grid_care))
        v = uintBitsToFloat(floatBitsToUint(v) & gemv_ssq_bits(i, 0xFFFFFFFFu));
        ssq += (v.x + v.y) + (v.z + v.w);
        v = gemv_ssq_quad(i + uint(N_SLICE));
    }
    return ssq;
}
#endif

vec2 gemv_block_dots(uint block, GemvWeights w)
{
    GemvX x = gemv_block(min(block, params.n_block - 1u));
    vec2 dots = vec2(gemv_dot(w.a, x), gemv_dot(w.b, x));
    return block < params.n_block ? dots : vec2(0.0);
}

#if UNROLL > 1
// Of the slice's blocks past the first two.
vec2 gemv_other_dots(uint pair)
{
    vec2 y = vec2(0.0);
    uvec2 tiles = gemv_tiles(pair);
    for (uint block = gemv_slice() + uint(2 * N_SLICE); block < params.n_block;
         block += uint(2 * N_SLICE)) {
        GemvWeights w_0 = gemv_weights(block, tiles);
        GemvWeights w_1 = gemv_weights(block + uint(N_SLICE), tiles);
        y += gemv_block_dots(block, w_0) + gemv_block_dots(block + uint(N_SLICE), w_1);
    }
    return y;
}
#endif

void gemv_run()
{
    uint lane = gl_LocalInvocationIndex, row = lane % 8u, slice = gemv_slice();
#ifndef STAGE
    ahead();
#endif
    uint turns = gemv_turns(), first = gl_WorkGroupID.x * turns * uint(PAIRS);
    // All is asked for before anything is waited for.
#if GEMV_NORM
    vec4 ssq_quad = gemv_ssq_quad(slice);
#endif
    bool is_owner = lane < uint(GEMV_OWNERS) && first + lane / 8u < params.n_pair;
    if (is_owner) {
        gemv_prepare(first + lane / 8u, row);
    }
    gemv_stage(lane);
    gemv_copy_x(lane);
    float ssq = 0.0;
#if GEMV_NORM
    ssq = gemv_slice_ssq(ssq_quad);
#endif
#if UNROLL == 1
    GemvX x;
    if (slice < params.n_block) {
        x = gemv_block(slice);
    }
#endif
    for (uint i = 0u; i < turns; i++) {
        bool is_last = i + 1u == turns;
        GemvWeights w_0 = gemv_ahead_0;
#if UNROLL > 1
        GemvWeights w_1 = gemv_ahead_1;
#endif
        if (!is_last) {
            gemv_load_ahead(first + uint(PAIRS));
        }
        vec2 y = vec2(0.0);
#if UNROLL == 1
        if (slice < params.n_block) {
            y = vec2(gemv_dot(w_0.a, x), gemv_dot(w_0.b, x));
        }
#else
        y = gemv_block_dots(slice, w_0) + gemv_block_dots(slice + uint(N_SLICE), w_1);
        y += gemv_other_dots(gemv_some_pair(first + lane / uint(8 * N_SLICE)));
#endif
        gemv_share(lane, y, ssq);
        if (is_owner) {
            gemv_finish(first + lane / 8u, row, gemv_collect(lane));
        }
        if (!is_last) {
            first += uint(PAIRS);
            is_owner = lane < uint(GEMV_OWNERS) && first + lane / 8u < params.n_pair;
            gemv_fetch_ahead(first);
            if (is_owner) {
                gemv_prepare(first + lane / 8u, row);
            }
            barrier(); // the next turn writes what this one reads in shared memory
        }
    }
}
