// gemv_run for groups that stay (persistent/gemv_stay.glsl), GEMV_SPLIT 1 with RESIDENT 1 and STREAM 1; needs SUBGROUP. A slice
// has the weights of a block (UNROLL 1, if that is all that it has), or DEPTH times (1 or 2) two neighbouring ones that
// share their scales (UNROLL 2), on their way to registers while it works on those before, and the first ones before
// the barrier in front of the stage. ONCE 1 says that no group takes a second turn. The sums of BATCH turns meet at
// once, so that subgroups do not wait for each other after each. With HALF a group has X_BLOCKS blocks of x at a time.
//
// What is taken by its tags, x and the parts of its sum of squares, is asked for at once and reloaded at once: a way to
// memory for all of it, not for each.
//
// Loops over blocks must stay loops: all stages of a program together have to fit a GPU's cache of instructions.
//
// glinfer bench -p 0 -n 128 on an H200, 132 groups, tokens/s, as persistent/gemv_resident.glsl and as this:
//   SmolLM2-135M   256: 3,167   3,610      Qwen3-0.6B     256: 1,815   512: 2,232
//   Llama-3.2-1B   256: 1,976   512: 2,270
#ifndef DEPTH
#define DEPTH 1
#endif
#ifndef ONCE
#define ONCE 0
#endif

//-- the sum of squares ----------------------------------------------------------------------------

#if GEMV_NORM
float gemv_ssq_sum(uint i, vec4 v)
{
    v = uintBitsToFloat(floatBitsToUint(v) & gemv_ssq_bits(i, 0xFFFFFFFFu));
    return (v.x + v.y) + (v.z + v.w);
}

// The invocation's share, of which it has taken the first four.
float gemv_lane_ssq(uint lane, vec4 first)
{
    float ssq = gemv_ssq_sum(lane, first);
    for (uint i = lane + uint(WG_SIZE); i * 4u < params.n_ssq; i += uint(WG_SIZE)) {
        vec4 v = gemv_ssq_quad(i);
        GEMV_TAKE(v, params.ssq + i, gemv_ssq_bits(i, grid_care))
        ssq += gemv_ssq_sum(i, v);
    }
    return ssq;
}

#define WRONG_SSQ GEMV_WRONG(ssq, gemv_ssq_bits(lane, grid_care))
#define RELOAD_SSQ ssq = gemv_ssq_quad(lane);
#else
#define gemv_shared_inv_rms() 1.0
#define WRONG_SSQ 0u
#define RELOAD_SSQ
#endif

//-- x, part by part -------------------------------------------------------------------------------

#if HALF
#define ASKED ((4 * X_BLOCKS + WG_SIZE - 1) / WG_SIZE) // twos of eighths of blocks, an invocation

// Two neighbouring eighths of a block.
struct GemvEighths {
    vec4 a, b;
};

// Two i from block `begin` on. What is past the last block takes its place.
GemvEighths gemv_eighths(uint begin, uint i)
{
    uint at = GEMV_SOURCE + 2u * min(4u * begin + i, uint(4 * N_BLOCK - 1));
    return GemvEighths(gemv_source(at), gemv_source(at + 1u));
}

#if TAKES && defined(STAGE)
uint gemv_wrong_eighths(uint i, GemvEighths two)
{
    uvec4 care = uvec4(i < uint(4 * X_BLOCKS) ? grid_care : 0u);
    return GEMV_WRONG(two.a, care) | GEMV_WRONG(two.b, care);
}
#endif

void gemv_keep(uint i, GemvEighths two)
{
    gemv_pair_up(i, two.a, two.b, i < uint(4 * X_BLOCKS));
}

#define WRONG_0 gemv_wrong_eighths(i, two_0)
#define RELOAD_0 two_0 = gemv_eighths(begin, i);
#if ASKED > 1
#define WRONG_1 gemv_wrong_eighths(i + uint(WG_SIZE), two_1)
#define RELOAD_1 two_1 = gemv_eighths(begin, i + uint(WG_SIZE));
#else
#define WRONG_1 0u
#define RELOAD_1
#endif
#if ASKED > 2
#define WRONG_2 gemv_wrong_eighths(i + uint(2 * WG_SIZE), two_2)
#define RELOAD_2 two_2 = gemv_eighths(begin, i + uint(2 * WG_SIZE));
#else
#define WRONG_2 0u
#define RELOAD_2
#endif
#if ASKED > 3
#define WRONG_3 gemv_wrong_eighths(i + uint(3 * WG_SIZE), two_3)
#define RELOAD_3 two_3 = gemv_eighths(begin, i + uint(3 * WG_SIZE));
#else
#define WRONG_3 0u
#define RELOAD_3
#endif

// Up to four twos of eighths, and with them the parts of the sum of squares, are asked for and taken at once.
void gemv_stage_x(uint lane, uint begin)
{
#if GEMV_NORM
    vec4 ssq = gemv_ssq_quad(lane);
#endif
    for (uint i = lane; i < uint(4 * X_BLOCKS) + lane; i += uint(min(ASKED, 4) * WG_SIZE)) {
        GemvEighths two_0 = gemv_eighths(begin, i);
#if ASKED > 1
        GemvEighths two_1 = gemv_eighths(begin, i + uint(WG_SIZE));
#endif
#if ASKED > 2
        GemvEighths two_2 = gemv_eighths(begin, i + uint(2 * WG_SIZE));
#endif
#if ASKED > 3
        GemvEighths two_3 = gemv_eighths(begin, i + uint(3 * WG_SIZE));
#endif
        GEMV_TAKE_WHILE(WRONG_0 | WRONG_1 | WRONG_2 | WRONG_3 | WRONG_SSQ,
                        RELOAD_0 RELOAD_1 RELOAD_2 RELOAD_3 RELOAD_SSQ)
        gemv_keep(i, two_0);
#if ASKED > 1
        gemv_keep(i + uint(WG_SIZE), two_1);
#endif
#if ASKED > 2
        gemv_keep(i + uint(2 * WG_SIZE), two_2);
#endif
#if ASKED > 3
        gemv_keep(i + uint(3 * WG_SIZE), two_3);
#endif
    }
#if GEMV_NORM
    gemv_share_ssq(lane, gemv_lane_ssq(lane, ssq));
#endif
    memoryBarrierShared();
    barrier();
}
#else
#define X_PARTS 0

void gemv_stage_x(uint lane, uint begin)
{
    gemv_stage(lane);
#if GEMV_NORM
    vec4 ssq = gemv_ssq_quad(lane);
    GEMV_TAKE_WHILE(WRONG_SSQ, RELOAD_SSQ)
    gemv_share_ssq(lane, gemv_lane_ssq(lane, ssq));
    memoryBarrierShared();
    barrier();
#endif
    gemv_copy_x(lane);
}
#endif

#ifdef SCALES_AS_LOADED // of types with quant/paired_scale.glsl
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

// Of the next DEPTH twos of a slice.
GemvWeights gemv_ahead_0;
#if DEPTH > 1
GemvWeights gemv_ahead_1;
#endif

#define SPAN uint(DEPTH * N_SLICE) // twos
#define IS_EVEN (N_BLOCK > 0 && N_BLOCK % (2 * DEPTH * N_SLICE) == 0)

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
    gemv_ahead_0 = gemv_weights(gemv_slice(), tiles);
#if DEPTH > 1
    gemv_ahead_1 = gemv_weights(gemv_slice() + uint(N_SLICE), tiles);
#endif
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

// Works out the twos that are ahead, of the span at `begin`, and asks for as many of those that come after them in
// their place: at `next` of other tiles, or none.
vec2 gemv_span(uint begin, uint next, uvec2 tiles, bool is_end)
{
    begin += gemv_slice();
    next += gemv_slice();
    vec2 y = gemv_two_dots(begin, gemv_ahead_0);
    if (!is_end) {
        gemv_ahead_0 = gemv_weights(next, tiles);
    }
#if DEPTH > 1
    y += gemv_two_dots(begin + uint(N_SLICE), gemv_ahead_1);
    if (!is_end) {
        gemv_ahead_1 = gemv_weights(next + uint(N_SLICE), tiles);
    }
#endif
    return y;
}

// Of a turn that begins at a pair and may be followed by another. A loop over spans is not to be unrolled: compilers
// had better not know its end.
vec2 gemv_turn(uint first, bool is_first, bool is_last)
{
    uvec2 next_tiles = gemv_some_tiles(first + uint(PAIRS));
#if N_BLOCK > 0 && N_BLOCK <= 2 * DEPTH * N_SLICE
    return gemv_span(0u, 0u, next_tiles, is_last);
#else
    vec2 y = vec2(0.0);
    uvec2 tiles = gemv_some_tiles(first);
    uint end = (params.n_block + 1u) / 2u + (params.n_pair >> 31u);
    for (uint begin = 0u; begin < end; begin += SPAN) {
        bool is_turn_end = begin + SPAN >= end;
#if X_PARTS
        if (2u * begin % uint(X_BLOCKS) == 0u && (begin > 0u || !is_first)) {
            barrier(); // x is read no more
            gemv_stage_x(gl_LocalInvocationIndex, 2u * begin);
        }
#endif
        y += gemv_span(begin, is_turn_end ? 0u : begin + SPAN, is_turn_end ? next_tiles : tiles,
                       is_turn_end && is_last);
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
    uint turns = ONCE == 1 ? 1u : gemv_turns(), first = gl_WorkGroupID.x * turns * uint(PAIRS);
    uint end = min(first + turns * uint(PAIRS), params.n_pair), batch = first;
    // All is asked for before anything is waited for.
    bool is_owner = lane < uint(GEMV_OWNERS) && batch + lane / 8u < end;
    if (is_owner) {
        gemv_prepare(batch + lane / 8u, row);
    }
    gemv_stage_x(lane, 0u);
    float inv_rms = gemv_shared_inv_rms();
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
        gemv_leave(lane, y, 0.0);
        if (is_last || i % uint(BATCH) == uint(BATCH - 1)) {
            memoryBarrierShared();
            barrier();
            if (is_owner) {
                gemv_finish(batch + lane / 8u, row, inv_rms * gemv_collect(lane));
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
