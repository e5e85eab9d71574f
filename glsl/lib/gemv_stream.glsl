// gemv_run for groups that stay (lib/gemv_stay.glsl) and wait for memory most of all, GEMV_SPLIT 1 with RESIDENT 1
// and STREAM 1: a slice has the weights of a block (UNROLL 1, if that is all that it has), or of two neighbouring ones
// that share their scales (UNROLL 2), on their way to registers while it works on those before, and the first ones
// before the barrier in front of the stage. The sums of BATCH turns meet at once, so that subgroups do not wait for
// each other after each. With HALF a group has X_BLOCKS blocks of x at a time.
//
// Loops over blocks must stay loops: all stages of a program together have to fit a GPU's cache of instructions.
//
// On an H200 three layers of Llama-3.1-8B's shape and its output take 286 us in 132 groups of 512, 338 us by ordinary
// dispatches. Smaller matrices in groups of 256: a step of Llama-3.2-1B's shape takes 617 us so, 528 us as in
// lib/gemv_resident.glsl.
//-- x, part by part -------------------------------------------------------------------------------

#if !HALF
#define X_PARTS 0
#endif

#if HALF && SUBGROUP
#define ASKED ((4 * X_BLOCKS + WG_SIZE - 1) / WG_SIZE) // eighths of blocks, in pairs, an invocation; see below

// Where eighths 2 i and 2 i + 1 from block `begin` on are. What is past the last block takes its place.
uint gemv_eighths(uint begin, uint i)
{
    return GEMV_SOURCE + 2u * min(4u * begin + i, uint(4 * N_BLOCK - 1));
}

// Keeps two eighths that were asked for.
void gemv_keep(uint begin, uint i, vec4 a, vec4 b)
{
    uint at = gemv_eighths(begin, i);
    GEMV_TAKE(a, at, uvec4(grid_care))
    GEMV_TAKE(b, at + 1u, uvec4(grid_care))
    gemv_pair_up(i, a, b, i < uint(4 * X_BLOCKS));
}

// Up to four pairs of eighths are asked for at once.
void gemv_stage_x(uint lane, uint begin)
{
    for (uint i = lane; i < uint(4 * X_BLOCKS); i += uint(min(ASKED, 4) * WG_SIZE)) {
        uint at = gemv_eighths(begin, i);
        vec4 a_0 = gemv_source(at), b_0 = gemv_source(at + 1u);
#if ASKED > 1
        at = gemv_eighths(begin, i + uint(WG_SIZE));
        vec4 a_1 = gemv_source(at), b_1 = gemv_source(at + 1u);
#endif
#if ASKED > 2
        at = gemv_eighths(begin, i + uint(2 * WG_SIZE));
        vec4 a_2 = gemv_source(at), b_2 = gemv_source(at + 1u);
#endif
#if ASKED > 3
        at = gemv_eighths(begin, i + uint(3 * WG_SIZE));
        vec4 a_3 = gemv_source(at), b_3 = gemv_source(at + 1u);
#endif
        gemv_keep(begin, i, a_0, b_0);
#if ASKED > 1
        gemv_keep(begin, i + uint(WG_SIZE), a_1, b_1);
#endif
#if ASKED > 2
        gemv_keep(begin, i + uint(2 * WG_SIZE), a_2, b_2);
#endif
#if ASKED > 3
        gemv_keep(begin, i + uint(3 * WG_SIZE), a_3, b_3);
#endif
    }
    memoryBarrierShared();
    barrier();
}
#else
void gemv_stage_x(uint lane, uint begin)
{
    gemv_stage(lane);
    gemv_copy_x(lane);
}
#endif

#ifdef SCALES_AS_LOADED // of types with lib/quant/paired_scale.glsl
#define gemv_begin_block(block) paired_shift = ((block) & 1u) * 16u
#else
#define gemv_begin_block(block)
#endif

//-- weights ---------------------------------------------------------------------------------------

#if UNROLL == 1
// The block of a slice in both tiles.
struct GemvWeights {
    QuantBlock a, b;
};

GemvWeights gemv_ahead;

void gemv_load_ahead(uint first)
{
    uint row = gl_LocalInvocationIndex % 8u, at = min(gemv_slice(), params.n_block - 1u);
    uvec2 tiles = gemv_some_tiles(first);
    gemv_ahead = GemvWeights(quant_load(tiles.x, at, params.n_block, row),
                             quant_load(tiles.y, at, params.n_block, row));
}
#else
// Two neighbouring blocks of both tiles. No arrays: compilers may keep those in memory.
struct GemvWeights {
    QuantBlock a_0, a_1, b_0, b_1;
};

// Of the next two of a slice.
GemvWeights gemv_ahead;

#define IS_EVEN (N_BLOCK > 0 && N_BLOCK % (2 * N_SLICE) == 0)

// What is past the last block takes its place.
GemvWeights gemv_weights(uint two, uvec2 tiles)
{
    uint row = gl_LocalInvocationIndex % 8u;
    GemvWeights w;
#if IS_EVEN && QUANT_TWO
    quant_load_two(tiles.x, two, params.n_block / 2u, row, w.a_0, w.a_1);
    quant_load_two(tiles.y, two, params.n_block / 2u, row, w.b_0, w.b_1);
#else
    uint n = params.n_block, even = min(2u * two, (n - 1u) & ~1u), odd = min(even + 1u, n - 1u);
    w.a_0 = quant_load(tiles.x, even, n, row);
    w.a_1 = quant_load(tiles.x, odd, n, row);
    w.b_0 = quant_load(tiles.y, even, n, row);
    w.b_1 = quant_load(tiles.y, odd, n, row);
#endif
    return w;
}

void gemv_load_ahead(uint first)
{
    uvec2 tiles = gemv_some_tiles(first);
    gemv_ahead = gemv_weights(gemv_slice(), tiles);
}
#endif

//-- products --------------------------------------------------------------------------------------

#if UNROLL > 1
vec2 gemv_block_dots(uint block, QuantBlock a, QuantBlock b)
{
#if IS_EVEN
    GemvX x = gemv_block(block);
    return vec2(gemv_dot(a, x), gemv_dot(b, x));
#else
    GemvX x = gemv_block(min(block, params.n_block - 1u));
    vec2 dots = vec2(gemv_dot(a, x), gemv_dot(b, x));
    return block < params.n_block ? dots : vec2(0.0);
#endif
}

vec2 gemv_two_dots(uint two, GemvWeights w)
{
    gemv_begin_block(0u);
    vec2 y = gemv_block_dots(2u * two, w.a_0, w.b_0);
    gemv_begin_block(1u);
    return y + gemv_block_dots(2u * two + 1u, w.a_1, w.b_1);
}

// Works out the twos that are ahead, from `two` on, and asks for as many of those that come after them in their
// place: at `next` of other tiles, or none.
vec2 gemv_next_dots(uint two, uint next, uvec2 tiles, bool is_end)
{
    vec2 y = gemv_two_dots(two, gemv_ahead);
    if (!is_end) {
        gemv_ahead = gemv_weights(next, tiles);
    }
    return y;
}

// Of a turn that begins at a pair and may be followed by another. A loop over spans is not to be unrolled: compilers
// had better not know its end.
vec2 gemv_turn(uint first, bool is_first, bool is_last)
{
    uvec2 next_tiles = gemv_some_tiles(first + uint(PAIRS));
#if N_BLOCK > 0 && N_BLOCK <= 2 * N_SLICE
    return gemv_next_dots(gemv_slice(), gemv_slice(), next_tiles, is_last);
#else
    vec2 y = vec2(0.0);
    uvec2 tiles = gemv_some_tiles(first);
    uint end = (params.n_block + 1u) / 2u + (params.n_pair >> 31u);
    for (uint begin = 0u; begin < end; begin += uint(N_SLICE)) {
        bool is_turn_end = begin + uint(N_SLICE) >= end;
#if X_PARTS
        if (2u * begin % uint(X_BLOCKS) == 0u && (begin > 0u || !is_first)) {
            barrier(); // x is read no more
            gemv_stage_x(gl_LocalInvocationIndex, 2u * begin);
        }
#endif
        y += gemv_next_dots(begin + gemv_slice(),
                            (is_turn_end ? 0u : begin + uint(N_SLICE)) + gemv_slice(),
                            is_turn_end ? next_tiles : tiles, is_turn_end && is_last);
    }
    return y;
#endif
}
#endif

// A batch of turns meets at its end: its owners are then as many as all of them have.
void gemv_run()
{
    uint lane = gl_LocalInvocationIndex, row = lane % 8u;
#ifndef STAGE
    ahead();
#endif
    uint turns = gemv_turns(), first = gl_WorkGroupID.x * turns * uint(PAIRS);
    uint end = min(first + turns * uint(PAIRS), params.n_pair), batch = first;
    // All is asked for before anything is waited for.
#if GEMV_NORM
    vec4 ssq_quad = gemv_ssq_quad(gemv_slice());
#endif
    bool is_owner = lane < uint(GEMV_OWNERS) && batch + lane / 8u < end;
    if (is_owner) {
        gemv_prepare(batch + lane / 8u, row);
    }
    gemv_stage_x(lane, 0u);
    float ssq = 0.0;
#if GEMV_NORM
    ssq = gemv_slice_ssq(ssq_quad);
#endif
#if UNROLL == 1
    GemvX x;
    if (gemv_slice() < params.n_block) {
        x = gemv_block(gemv_slice());
    }
    gemv_begin_block(gemv_slice());
#endif
    for (uint i = 0u; i < turns; i++) {
        bool is_last = i + 1u == turns;
#if UNROLL == 1
        GemvWeights w = gemv_ahead;
        if (!is_last) {
            gemv_load_ahead(first + uint(PAIRS));
        }
        vec2 y = vec2(0.0);
        if (gemv_slice() < params.n_block) {
            y = vec2(gemv_dot(w.a, x), gemv_dot(w.b, x));
        }
#else
        vec2 y = gemv_turn(first, i == 0u, is_last);
#endif
        first += uint(PAIRS);
#if BATCH > 1
        gemv_set = i % uint(BATCH);
#endif
        gemv_leave(lane, y, ssq);
        if (is_last || i % uint(BATCH) == uint(BATCH - 1)) {
            memoryBarrierShared();
            barrier();
            if (is_owner) {
                gemv_finish(batch + lane / 8u, row, gemv_collect(lane));
            }
            if (!is_last) {
                batch = first;
                is_owner = lane < uint(GEMV_OWNERS) && batch + lane / 8u < end;
                gemv_fetch_ahead(batch);
                if (is_owner) {
                    gemv_prepare(batch + lane / 8u, row);
                }
                barrier(); // the next batch writes what this one reads in shared memory
            }
        }
    }
}
