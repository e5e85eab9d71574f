// gemv_run for groups that stay (lib/grid_walk.glsl), GEMV_SPLIT 1 with RESIDENT 1: a group works out
// PAIRS pairs at a time, along a run of its own, and has the weights of the first ones, those of the first
// UNROLL (1 or 2) blocks of a slice, on their way to registers before the barrier in front of the stage:
// memory and barrier are waited for together. While the results of some pairs meet, the weights of the
// next are under way. Where a slice has no more than one block (UNROLL 1) x stays in registers, too.
//
// With N_BLOCK, params.n_block, a group copies x into shared memory: all groups read the same few lines of
// memory at the same time, and where each slice read its own part, four times as often, they queued for
// 1.5 us on an H200. With HALF it is lib/gemv_half.glsl that does so, in pairs of halves. With TAKES x and the parts
// of its sum of squares are taken by their tags.
//
// On an H200 a step of SmolLM2's shape in 132 groups of 256 takes 383 us, of which each of these is worth so
// much: weights asked for ahead 12, x in shared memory 140, tags 60.
#define STAGE_AHEAD

#ifndef N_BLOCK
#define N_BLOCK 0
#endif
#if HALF
#define gemv_copy_x(lane)
#elif N_BLOCK
#define X_STRIDE 9u // vec4 from block to block: slices of a subgroup read different banks

shared vec4 gemv_x_quads[N_BLOCK * 9];

void gemv_copy_x(uint lane)
{
    for (uint i = lane; i < uint(N_BLOCK * 8); i += uint(WG_SIZE)) {
        vec4 x = gemv_source(GEMV_SOURCE + i);
        GEMV_TAKE(x, GEMV_SOURCE + i, uvec4(grid_care))
        gemv_x_quads[i / 8u * X_STRIDE + i % 8u] = x;
    }
    memoryBarrierShared();
    barrier();
}

vec2 gemv_read_x(uint block, out vec4 x[8])
{
    uint i = block * X_STRIDE;
    x[0] = gemv_x_quads[i];
    x[1] = gemv_x_quads[i + 1u];
    x[2] = gemv_x_quads[i + 2u];
    x[3] = gemv_x_quads[i + 3u];
    x[4] = gemv_x_quads[i + 4u];
    x[5] = gemv_x_quads[i + 5u];
    x[6] = gemv_x_quads[i + 6u];
    x[7] = gemv_x_quads[i + 7u];
    vec4 s = (x[0] + x[1]) + (x[2] + x[3]), t = (x[4] + x[5]) + (x[6] + x[7]);
    return vec2((s.x + s.y) + (s.z + s.w), (t.x + t.y) + (t.z + t.w));
}
#else
#define gemv_copy_x(lane)
#define gemv_read_x(block, x) gemv_load(block, x)
#endif

// A block of x as dot products want it: in pairs of halves, or as it is.
#if HALF
struct GemvX {
    uvec4 quads[5];
};

GemvX gemv_block(uint block)
{
    GemvX x;
    gemv_read_pairs(block, x.quads);
    return x;
}

float gemv_dot(QuantBlock w, GemvX x)
{
    return gemv_half_dot(w, x.quads);
}
#else
struct GemvX {
    vec4 quads[8];
    vec2 sum;
};

GemvX gemv_block(uint block)
{
    GemvX x;
    x.sum = gemv_read_x(block, x.quads);
    return x;
}

float gemv_dot(QuantBlock w, GemvX x)
{
    return quant_dot(w, x.quads, x.sum);
}
#endif

// A block of both tiles. No arrays: compilers may keep those in memory.
struct GemvWeights {
    QuantBlock a, b;
};

GemvWeights gemv_ahead_0;
#if UNROLL > 1
GemvWeights gemv_ahead_1;
#endif

uint gemv_turns()
{
    uint n_pass = (params.n_pair + uint(PAIRS) - 1u) / uint(PAIRS);
    return (n_pass + gl_NumWorkGroups.x - 1u) / gl_NumWorkGroups.x;
}

uint gemv_slice()
{
    return gl_LocalInvocationIndex / 8u % uint(N_SLICE);
}

// What is past the last block takes its place.
GemvWeights gemv_weights(uint block, uvec2 tiles)
{
    uint row = gl_LocalInvocationIndex % 8u, at = min(block, params.n_block - 1u);
    return GemvWeights(quant_load(tiles.x, at, params.n_block, row),
                       quant_load(tiles.y, at, params.n_block, row));
}

// Pairs past the last one, of groups without work, take the place of others: every value is set in all
// groups, so that no register holds an old one in between.
uint gemv_some_pair(uint pair)
{
    return pair < params.n_pair ? pair : pair % params.n_pair;
}

void gemv_load_ahead(uint first)
{
    uvec2 tiles = gemv_tiles(gemv_some_pair(first + gl_LocalInvocationIndex / uint(8 * N_SLICE)));
    gemv_ahead_0 = gemv_weights(gemv_slice(), tiles);
#if UNROLL > 1
    gemv_ahead_1 = gemv_weights(gemv_slice() + uint(N_SLICE), tiles);
#endif
}

void gemv_fetch_ahead(uint first)
{
    uint lane = gl_LocalInvocationIndex;
    gemv_fetch(gemv_some_pair(first + lane / 8u % uint(PAIRS)), lane % 8u);
}

void ahead()
{
    uint first = gl_WorkGroupID.x * gemv_turns() * uint(PAIRS);
    gemv_load_ahead(first);
    gemv_fetch_ahead(first);
}

#if GEMV_NORM
// Of four of the parts of the sum of squares those that there are.
uvec4 gemv_ssq_bits(uint i, uint bits)
{
    return mix(uvec4(0u), uvec4(bits), lessThan(i * 4u + uvec4(0u, 1u, 2u, 3u), uvec4(params.n_ssq)));
}

vec4 gemv_ssq_quad(uint i)
{
    return gemv_source(params.ssq + min(i, (params.n_ssq - 1u) / 4u));
}

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
