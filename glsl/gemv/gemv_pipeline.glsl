// gemv_run as a software pipeline, for groups that are stages: GEMV_SPLIT 1 with
// PIPELINED 1; needs SUBGROUP. A group works out PAIRS pairs a turn, along a run of its own.
//
// A slice has the weights of a block (UNROLL 1, if that is all that it has), or DEPTH times (1 or
// 2) two neighbouring ones that share their scales (UNROLL 2), on their way to registers while it
// works on those before, and the first ones before the barrier that precedes the stage. ONCE 1 says
// that no group takes a second turn. The sums of BATCH turns meet at once, so that subgroups do not
// wait for each other after each.
//
// A group copies x into shared memory: with HALF in pairs of halves (gemv/gemv_half.glsl), X_BLOCKS
// blocks of it at a time, else where N_BLOCK, params.n_block, is given. With CONSUMES x and the
// parts of its sum of squares are consumed by their tags: they are loaded at once and reloaded at
// once, so that all of it costs one way to memory.
//
// Loops over blocks must stay loops: what a stage is a part of has to fit a GPU's cache of
// instructions.
#define STAGE_PREFETCH

#ifndef N_BLOCK
#define N_BLOCK 0
#endif
#ifdef GEMV_FIRST_BLOCK
#define GEMV_BLOCKS uint(N_BLOCK)
#else
#define GEMV_FIRST_BLOCK 0u
#define GEMV_BLOCKS params.n_block
#endif
#ifndef CONSUMES
#define CONSUMES 0
#endif

#if CONSUMES && defined(STAGE)
// Loads vec4 i of the source, which was loaded once, until it has the tag.
#define GEMV_CONSUME(value, i, care) GRID_CONSUME(value, gemv_source(i), care)
// For several at once: GEMV_WRONG is not 0 if a value has not come; all are loaded again until none
// is missing.
#define GEMV_WRONG(value, care) grid_wrong(grid_expected, value, care)
#define GEMV_CONSUME_WHILE(wrong, reload) GRID_CONSUME_WHILE((wrong) != 0u, reload)
#else
#define GEMV_CONSUME(value, i, care)
#define GEMV_CONSUME_WHILE(wrong, reload)
#endif

//-- x ---------------------------------------------------------------------------------------------

#if HALF
#define gemv_copy_x(lane)
#elif N_BLOCK
#define X_STRIDE 9u // vec4 from block to block: slices of a subgroup read different banks

shared vec4 gemv_x_quads[N_BLOCK * 9];

void gemv_copy_x(uint lane)
{
    for (uint i = lane; i < uint(N_BLOCK * 8); i += uint(WG_SIZE)) {
        vec4 x = gemv_source(GEMV_SOURCE + i);
        GEMV_CONSUME(x, GEMV_SOURCE + i, uvec4(grid_care))
        gemv_x_quads[i / 8u * X_STRIDE + i % 8u] = x;
    }
    group_barrier();
}

vec2 gemv_read_x(uint block, out vec4 x[8])
{
    uint i = block * X_STRIDE;
#define READ_QUAD(k) x[k] = gemv_x_quads[i + uint(k)];
    EACH_QUAD(READ_QUAD)
    return quant_sums(x);
}
#else
#define gemv_copy_x(lane)

#define WRONG_QUAD(k) | GEMV_WRONG(x[k], uvec4(grid_care))

vec2 gemv_read_x(uint block, out vec4 x[8])
{
    vec2 sums = gemv_load(block, x);
    GEMV_CONSUME_WHILE(0u EACH_QUAD(WRONG_QUAD), sums = gemv_load(block, x);)
    return sums;
}
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

//-- pairs -----------------------------------------------------------------------------------------

uint gemv_turns()
{
    uint n_pass = (params.n_pair + uint(PAIRS) - 1u) / uint(PAIRS);
    return (n_pass + gl_NumWorkGroups.x - 1u) / gl_NumWorkGroups.x;
}

uint gemv_slice()
{
    return gl_LocalInvocationIndex / 8u % uint(N_SLICE);
}

// Groups without work read clamped pairs, so that every register is written. They are spread over 16
// pairs to avoid a hot line; there is no `%`, since this precedes the first weight load.
uint gemv_some_pair(uint pair)
{
    return pair < params.n_pair ? pair : min(pair & 15u, params.n_pair - 1u);
}

// The tiles of this slice's pair in a turn that begins at pair `first`.
uvec2 gemv_some_tiles(uint first)
{
    return gemv_tiles(gemv_some_pair(first + gl_LocalInvocationIndex / uint(8 * N_SLICE)));
}

// Loads the elements of vectors in aux that the results of a batch of turns need.
void gemv_prefetch_aux(uint first)
{
    uint lane = gl_LocalInvocationIndex;
    gemv_fetch(gemv_some_pair(first + lane / 8u % uint(PAIRS * BATCH)), lane % 8u);
}

// Loads the first weights of a turn.
void gemv_prefetch_weights(uint first);

//-- adapters --------------------------------------------------------------------------------------

// A slice adds every N_SLICE-th term to its dot products: four columns of B times four values of
// t = A x, one term for each split of k. The entry before, which computes t, may work beside this one:
// t is consumed after the products, by the tag of what this entry publishes.
#if ADAPTER_RANK
#define N_COLUMNS uint(ADAPTER_RANK / 4) // fours
#define N_TERMS (N_COLUMNS * uint(ADAPTER_SPLITS))

// For the invocation's row of both tiles: where t begins, and the four columns of a term.
struct GemvColumns {
    uvec2 t, a, b;
};

GemvColumns gemv_columns;

GemvColumns gemv_load_columns(uint first, uint i)
{
    uint row = gl_LocalInvocationIndex % 8u;
    uvec2 tiles = gemv_some_tiles(first);
    uint a = gemv_adapter_at(tiles.x, row), b = gemv_adapter_at(tiles.y, row);
    i %= N_COLUMNS;
    return GemvColumns(ADAPTER_T + uvec2(aux_at(a), aux_at(b)), gemv_adapter_columns(a, i),
                       gemv_adapter_columns(b, i));
}

void gemv_prefetch_columns(uint first)
{
    gemv_columns = gemv_load_columns(first, gemv_slice());
}

#ifdef STAGE
#define WRONG_T(t) grid_wrong(grid_tag, t, uvec4(grid_beside))
#define CONSUME_T(reload) GRID_CONSUME_WHILE((WRONG_T(a) | WRONG_T(b)) != 0u, reload)
#else
#define CONSUME_T(reload)
#endif

vec2 gemv_columns_dots(uint i, GemvColumns w)
{
    uint at = i % N_COLUMNS + i / N_COLUMNS * uint(ADAPTER_STRIDE);
    vec4 a = gemv_source(w.t.x + at), b = gemv_source(w.t.y + at);
    vec4 scale = gemv_source(uint(ADAPTER_AT) + i % N_COLUMNS);
    CONSUME_T(a = gemv_source(w.t.x + at); b = gemv_source(w.t.y + at);)
    return vec2(gemv_adapter_dot(w.a, scale * a), gemv_adapter_dot(w.b, scale * b));
}

// Returns the slice's share of the term for the turn whose columns were loaded last.
vec2 gemv_adapter_dots(uint first)
{
    vec2 y = vec2(0.0);
    uint i = gemv_slice();
    if (i < N_TERMS) {
        y = gemv_columns_dots(i, gemv_columns);
    }
    for (i += uint(N_SLICE); i < N_TERMS; i += uint(N_SLICE)) {
        y += gemv_columns_dots(i, gemv_load_columns(first, i));
    }
    return y;
}
#else
#define gemv_prefetch_columns(first)
#endif

// In registers alone: the stage before may still be at its shared memory.
void prefetch()
{
    uint first = gl_WorkGroupID.x * gemv_turns() * uint(PAIRS);
    gemv_prefetch_weights(first);
    gemv_prefetch_columns(first);
    gemv_prefetch_aux(first);
}

//-- the sum of squares ----------------------------------------------------------------------------

#if GEMV_NORM
// Masks the four partial sums of squares from 4 i on: `bits` where there is one, else 0.
uvec4 gemv_ssq_bits(uint i, uint bits)
{
    return mix(uvec4(0u), uvec4(bits), lessThan(i * 4u + uvec4(0u, 1u, 2u, 3u), uvec4(params.n_ssq)));
}

vec4 gemv_ssq_quad(uint i)
{
    return gemv_source(params.ssq + min(i, (params.n_ssq - 1u) / 4u));
}

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
        GEMV_CONSUME(v, params.ssq + i, gemv_ssq_bits(i, grid_care))
        ssq += gemv_ssq_sum(i, v);
    }
    return ssq;
}

#define WRONG_SSQ GEMV_WRONG(ssq, gemv_ssq_bits(lane, grid_care))
#define RELOAD_SSQ ssq = gemv_ssq_quad(lane);
#else
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

#if CONSUMES && defined(STAGE)
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

// Up to four twos of eighths, and with them the parts of the sum of squares, are asked for and
// taken at once.
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
        GEMV_CONSUME_WHILE(WRONG_0 | WRONG_1 | WRONG_2 | WRONG_3 | WRONG_SSQ,
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
    group_barrier();
}
#else
#define X_SPLIT 0

void gemv_stage_x(uint lane, uint begin)
{
    gemv_stage(lane);
#if GEMV_NORM
    vec4 ssq = gemv_ssq_quad(lane);
    GEMV_CONSUME_WHILE(WRONG_SSQ, RELOAD_SSQ)
    gemv_share_ssq(lane, gemv_lane_ssq(lane, ssq));
    group_barrier();
#endif
    gemv_copy_x(lane);
}
#endif

//-- weights ---------------------------------------------------------------------------------------

#if UNROLL == 1
// The block of a slice in both tiles.
struct GemvWeights {
    QuantBlock a, b;
};

GemvWeights gemv_next;

void gemv_prefetch_weights(uint first)
{
    uint row = gl_LocalInvocationIndex % 8u;
    uint at = GEMV_FIRST_BLOCK + min(gemv_slice(), GEMV_BLOCKS - 1u);
    uvec2 tiles = gemv_some_tiles(first);
    gemv_next = GemvWeights(quant_load(tiles.x, at, params.n_block, row),
                             quant_load(tiles.y, at, params.n_block, row));
}
#else
// Two neighbouring blocks of both tiles. No arrays: compilers may keep those in memory.
struct GemvWeights {
    QuantBlock a_0, a_1, b_0, b_1;
};

// The next DEPTH twos of a slice, prefetched.
GemvWeights gemv_next_0;
#if DEPTH > 1
GemvWeights gemv_next_1;
#endif

#define SPAN uint(DEPTH * N_SLICE) // twos
#define IS_EVEN (N_BLOCK > 0 && N_BLOCK % (2 * DEPTH * N_SLICE) == 0)

// Loads a two of blocks; the last block stands in for those past it.
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

void gemv_prefetch_weights(uint first)
{
    uvec2 tiles = gemv_some_tiles(first);
    gemv_next_0 = gemv_weights(gemv_slice(), tiles);
#if DEPTH > 1
    gemv_next_1 = gemv_weights(gemv_slice() + uint(N_SLICE), tiles);
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
    quant_begin_block(0u);
    vec2 y = gemv_block_dots(2u * two, w.a_0, w.b_0);
    quant_begin_block(1u);
    return y + gemv_block_dots(2u * two + 1u, w.a_1, w.b_1);
}

// Works out the twos that are prefetched, of the span at `begin`, and asks for as many of those
// that come after them in their place: at `next` of other tiles, or none.
vec2 gemv_span(uint begin, uint next, uvec2 tiles, bool is_end)
{
    begin += gemv_slice();
    next += gemv_slice();
    vec2 y = gemv_two_dots(begin, gemv_next_0);
    if (!is_end) {
        gemv_next_0 = gemv_weights(next, tiles);
    }
#if DEPTH > 1
    y += gemv_two_dots(begin + uint(N_SLICE), gemv_next_1);
    if (!is_end) {
        gemv_next_1 = gemv_weights(next + uint(N_SLICE), tiles);
    }
#endif
    return y;
}

// Returns the dot products of a turn that begins at a pair and may be followed by another.
// Compilers should not know the end of the loop over spans, so that they do not unroll it.
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
#if X_SPLIT
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
    prefetch();
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
    GemvX x = gemv_block(min(gemv_slice(), GEMV_BLOCKS - 1u));
    quant_begin_block(gemv_slice());
#endif
    for (uint i = 0u; i < turns; i++) {
        bool is_last = i + 1u == turns;
#if UNROLL == 1
        GemvWeights w = gemv_next;
        if (!is_last) {
            gemv_prefetch_weights(first + uint(PAIRS));
        }
        vec2 y = vec2(gemv_dot(w.a, x), gemv_dot(w.b, x));
        y = gemv_slice() < GEMV_BLOCKS ? y : vec2(0.0);
#else
        vec2 y = gemv_turn(first, i == 0u, is_last);
#endif
#if ADAPTER_RANK
        y += gemv_adapter_dots(first);
#endif
        first += uint(PAIRS);
        if (!is_last) {
            gemv_prefetch_columns(first);
        }
#if BATCH > 1
        gemv_set = i % uint(BATCH);
#endif
        gemv_leave(lane, y, 0.0);
        if (is_last || i % uint(BATCH) == uint(BATCH - 1)) {
            group_barrier();
            if (is_owner) {
                gemv_finish(batch + lane / 8u, row, inv_rms * gemv_collect(lane));
            }
            if (!is_last) {
                batch = first;
                is_owner = lane < uint(GEMV_OWNERS) && batch + lane / 8u < end;
                gemv_prefetch_aux(batch);
                if (is_owner) {
                    gemv_prepare(batch + lane / 8u, row);
                }
                barrier(); // the next batch writes what this one reads in shared memory
            }
        }
    }
}
