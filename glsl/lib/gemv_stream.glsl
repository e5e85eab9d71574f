// gemv_run for groups that stay (lib/gemv_resident.glsl) and wait for memory most of all, GEMV_SPLIT 1 with
// RESIDENT 1 and STREAM 1: a group works out PAIRS pairs a turn, along a run of its own. A slice has the weights of a
// block (UNROLL 1, if that is all that it has), or of two neighbouring ones that share their scales (UNROLL 2), on
// their way to registers while it works on those before, and the first ones before the barrier in front of the stage.
// The sums of BATCH turns meet at once, so that subgroups do not wait for each other after each.
//
// With N_BLOCK, params.n_block, a group copies x into shared memory, with HALF in pairs of halves
// (lib/gemv_half.glsl), X_BLOCKS blocks at a time. With TAKES x and the parts of its sum of squares are taken by
// their tags.
//
// Loops over blocks must stay loops: all stages of a program together have to fit a GPU's cache of instructions.
//
// On an H200 three layers of Llama-3.1-8B's shape and its output take 286 us in 132 groups of 512, 338 us by ordinary
// dispatches. Smaller matrices in groups of 256: a step of Llama-3.2-1B's shape takes 617 us so, 528 us as in
// lib/gemv_resident.glsl.
#define STAGE_AHEAD

#ifndef N_BLOCK
#define N_BLOCK 0
#endif
#if HALF
#define X_PARTS (X_BLOCKS < N_BLOCK)
#if SUBGROUP
#define ASKED ((4 * X_BLOCKS + WG_SIZE - 1) / WG_SIZE) // eighths of blocks, in pairs, an invocation; see below

// Where eighths 2 i and 2 i + 1 from block `begin` on are. What is past the last block takes its place.
uint gemv_eighths(uint begin, uint i)
{
    return GEMV_SOURCE + 2u * min(4u * begin + i, uint(4 * N_BLOCK - 1));
}

// Makes pairs of two eighths that were asked for; four neighbours have a block.
void gemv_keep(uint begin, uint i, vec4 a, vec4 b)
{
    uint at = gemv_eighths(begin, i);
    GEMV_TAKE(a, at, uvec4(grid_care))
    GEMV_TAKE(b, at + 1u, uvec4(grid_care))
    float largest = largest_of(a, b), sum = sum_of(a, b);
    largest = max(largest, subgroupShuffleXor(largest, 1u));
    largest = max(largest, subgroupShuffleXor(largest, 2u));
    sum += subgroupShuffleXor(sum, 1u);
    float last = subgroupShuffleXor(sum, 2u);
    uint power = power_of(largest), to = i / 4u * HALF_QUADS;
    float factor = inverse_of(power);
    if (i < uint(4 * X_BLOCKS)) {
        x_pairs[to + i % 4u] = pair_up(a * factor, b * factor);
        if (i % 4u == 0u) {
            x_pairs[to + 4u] = uvec4(power, floatBitsToUint(vec2(sum, last)), 0u);
        }
    }
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
#define gemv_stage_x(lane, begin) gemv_stage(lane)
#endif
#elif N_BLOCK
#define X_PARTS 0
#define X_STRIDE 9u // vec4 from block to block: slices of a subgroup read different banks

shared vec4 gemv_x_quads[N_BLOCK * 9];

void gemv_stage_x(uint lane, uint begin)
{
    gemv_stage(lane);
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
#define X_PARTS 0
#define gemv_stage_x(lane, begin) gemv_stage(lane)
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
#if X_PARTS
    block %= uint(X_BLOCKS);
#endif
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

#ifdef SCALES_AS_LOADED // of types with lib/quant/paired_scale.glsl
#define gemv_begin_block(block) paired_shift = ((block) & 1u) * 16u
#else
#define gemv_begin_block(block)
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

// Pairs past the last one, of groups without work, take the place of others: every value is set in all
// groups, so that no register holds an old one in between.
uint gemv_some_pair(uint pair)
{
    return pair < params.n_pair ? pair : pair % params.n_pair;
}

uvec2 gemv_some_tiles(uint first)
{
    return gemv_tiles(gemv_some_pair(first + gl_LocalInvocationIndex / uint(8 * N_SLICE)));
}

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

void gemv_fetch_ahead(uint first)
{
    uint lane = gl_LocalInvocationIndex;
    gemv_fetch(gemv_some_pair(first + lane / 8u % uint(PAIRS * BATCH)), lane % 8u);
}

void ahead()
{
    uint first = gl_WorkGroupID.x * gemv_turns() * uint(PAIRS);
    gemv_load_ahead(first);
    gemv_fetch_ahead(first);
}

//-- the sum of squares ----------------------------------------------------------------------------

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
