// gemv.glsl for GEMV_SPLIT 0: an invocation walks row r of PAIRS pairs of tiles, over all of k or,
// with SLICES, over blocks s, s + SLICES, ... of it. The sums of slices then meet in shared memory,
// and the first invocations of the group own the results, a pair each.
//
// With DOT and a type that gives its weights in parts, eight at a time, the rows of an invocation
// take turns at each eight elements of x, so that few of those are alive; BLOCKS blocks a turn of
// the loop, whose number then is a multiple of BLOCKS.
//
// Types of one bit have a walk of their own: gemv/gemv_fours.glsl.
//
// With SERIAL the rows of one pair come one after the other, each over all of its blocks, and a block
// goes by quads if its type has no parts: half the registers, but x is read for each row. Where x is
// no uniform block its loads would be collected in front, so that the parts of a block loop, too, and
// quads loop wherever DOT is not that of Mali T: V3D's compiler may unroll them and spill.
#if SERIAL && PAIRS != 1
#error "SERIAL: for a pair an invocation"
#endif
#if SERIAL
#define UNKNOWN(n) (n + (params.n_block >> 31u)) // to compilers, which would unroll a loop of n
#if X_QUADS
#define QUADS_OF(n) n
#else
#define QUADS_OF(n) UNKNOWN(n)
#endif

#if DOT && QUANT_SPLIT
float gemv_dot(QuantRow at, uint block)
{
    QuantBlock w = quant_at(at, block, block / 2u, block & 1u);
    DotSum s = dot_zero();
#if SUMS
    vec2 sum = gemv_sums(block / 2u, block & 1u);
#else
    vec2 sum = vec2(0.0);
#endif
    for (uint k = 0u; k < QUADS_OF(4u); k++) {
        uint i = block * 8u + 2u * k;
        vec4 a = gemv_x(i), b = gemv_x(i + 1u);
#if !SUMS
        float part = dot(a + b, vec4(1.0));
        sum += k < 2u ? vec2(part, 0.0) : vec2(0.0, part);
#endif
        quant_part(w, int(k), a, b, s);
    }
    return dot_scale * quant_end(w, s, sum);
}
#else
#define QuantRow uint
#define quant_row(tile, n_block, row) (tile)

float gemv_dot(uint tile, uint block)
{
    QuantBlock w = quant_load(tile, block, params.n_block, gl_LocalInvocationIndex % 8u);
    vec4 p = vec4(0.0);
#if DOT == 3 // DOT_PLACES
    uint n_quad = QUADS_OF(8u);
#else
    uint n_quad = UNKNOWN(8u);
#endif
    for (uint k = 0u; k < n_quad; k++) {
        p += quant_quad(w, int(k)) * gemv_x(block * 8u + k);
    }
    return (p.x + p.y) + (p.z + p.w);
}
#endif

void gemv_walk(uvec2 tiles[PAIRS], uint row, uint slice, out vec2 y[PAIRS])
{
    for (uint i = 0u; i < UNKNOWN(2u); i++) {
        QuantRow at = quant_row(i == 0u ? tiles[0].x : tiles[0].y, params.n_block, row);
        float sum = 0.0;
        for (uint block = slice; block < params.n_block; block += uint(SLICES)) {
            sum += gemv_dot(at, block);
        }
        y[0] = i == 0u ? vec2(sum, 0.0) : vec2(y[0].x, sum);
    }
}

#elif DOT && QUANT_FOUR
#include "gemv/gemv_fours.glsl"
#elif DOT && QUANT_SPLIT

#define N_ROW (2 * PAIRS)

// Adds block 2 * pair + odd to the dot products.
void gemv_add(uint block, uint pair, uint odd, QuantRow rows[N_ROW], inout float y[N_ROW])
{
    QuantBlock w[N_ROW];
    DotSum s[N_ROW];
    for (int i = N_ROW - 1; i >= 0; i--) {
        w[i] = quant_at(rows[i], block, pair, odd);
        s[i] = dot_zero();
    }
#if SUMS
    vec2 sum = gemv_sums(pair, odd);
#else
    vec2 sum = vec2(0.0);
#endif
    uint at = block * 8u;
    for (int k = 0; k < 4; k++) {
        vec4 a = gemv_x(at + 2u * uint(k)), b = gemv_x(at + 2u * uint(k) + 1u);
#if !SUMS
        float part = dot(a + b, vec4(1.0));
        sum += k < 2 ? vec2(part, 0.0) : vec2(0.0, part);
#endif
        for (int i = 0; i < N_ROW; i++) {
            quant_part(w[i], k, a, b, s[i]);
        }
    }
    for (int i = 0; i < N_ROW; i++) {
        y[i] += quant_end(w[i], s[i], sum);
    }
}

void gemv_walk(uvec2 tiles[PAIRS], uint row, uint slice, out vec2 y[PAIRS])
{
    QuantRow rows[N_ROW];
    float sums[N_ROW];
    for (int p = 0; p < PAIRS; p++) {
        rows[2 * p] = quant_row(tiles[p].x, params.n_block, row);
        rows[2 * p + 1] = quant_row(tiles[p].y, params.n_block, row);
        sums[2 * p] = sums[2 * p + 1] = 0.0;
    }
#if BLOCKS == 2
    for (uint pair = slice; pair < params.n_block / 2u; pair += uint(SLICES)) {
        gemv_add(2u * pair, pair, 0u, rows, sums);
        gemv_add(2u * pair + 1u, pair, 1u, rows, sums);
    }
#else
    for (uint block = slice; block < params.n_block; block += uint(SLICES)) {
        gemv_add(block, block / 2u, block & 1u, rows, sums);
    }
#endif
    for (int p = 0; p < PAIRS; p++) {
        y[p] = vec2(sums[2 * p], sums[2 * p + 1]) * dot_scale;
    }
}

#elif DOT == 2 && QUANT_BY_QUADS // DOT_BYTES

void gemv_walk(uvec2 tiles[PAIRS], uint row, uint slice, out vec2 y[PAIRS])
{
    for (int p = 0; p < PAIRS; p++) {
        y[p] = vec2(0.0);
    }
    for (uint block = slice; block < params.n_block; block += uint(SLICES)) {
        QuantBlock w[2 * PAIRS];
        for (int p = 0; p < PAIRS; p++) {
            w[2 * p] = quant_load(tiles[p].x, block, params.n_block, row);
            w[2 * p + 1] = quant_load(tiles[p].y, block, params.n_block, row);
        }
        for (int k = 0; k < 8; k++) {
            vec4 x = gemv_x(block * 8u + uint(k));
            for (int p = 0; p < PAIRS; p++) {
                y[p].x += dot(quant_quad(w[2 * p], k), x);
                y[p].y += dot(quant_quad(w[2 * p + 1], k), x);
            }
        }
    }
}

#else

void gemv_walk(uvec2 tiles[PAIRS], uint row, uint slice, out vec2 y[PAIRS])
{
    for (int p = 0; p < PAIRS; p++) {
        y[p] = vec2(0.0);
    }
    for (uint block = slice; block < params.n_block; block += uint(SLICES)) {
        vec4 x[8];
        vec2 sum = gemv_load(block, x);
        for (int p = 0; p < PAIRS; p++) {
            QuantBlock a = quant_load(tiles[p].x, block, params.n_block, row);
            QuantBlock b = quant_load(tiles[p].y, block, params.n_block, row);
            y[p] += vec2(quant_dot(a, x, sum), quant_dot(b, x, sum));
        }
    }
}

#endif

#if GEMV_NORM && PARTED
#define gemv_norm() gemv_part_rms
#elif GEMV_NORM
float gemv_norm()
{
    float ssq = 0.0;
    for (uint i = 0u; i * 4u < params.n_ssq; i++) {
        ssq += gemv_ssq4(i);
    }
    return gemv_inv_rms(ssq);
}
#else
#define gemv_norm() 1.0
#endif

// Products of a slice of the pairs from `first` on.
void gemv_products(uint first, uint slice, out vec2 y[PAIRS])
{
    uvec2 tiles[PAIRS];
    for (int p = 0; p < PAIRS; p++) {
        tiles[p] = gemv_tiles(min(first + uint(p), params.n_pair - 1u));
    }
    gemv_walk(tiles, gl_LocalInvocationIndex % 8u, slice, y);
}

void gemv_own(uint pair, uint row, vec2 y)
{
    gemv_fetch(pair, row);
    gemv_prepare(pair, row);
    gemv_finish(pair, row, y);
}

#if SLICES > 1
// The sums of pair p of each invocation. With several Mali G has no registers for more than its
// number over the walk; with one the place is the same, and AMD's compiler takes fewer for this.
shared vec2 gemv_partial[PAIRS * WG_SIZE];
#if PAIRS > 1
#define PARTIAL_AT(p) (uint((p) * WG_SIZE) + lane)
#else
#define PARTIAL_AT(p) ((lane / uint(8 * SLICES) * uint(SLICES) + lane / 8u % uint(SLICES)) * 8u + row)
#endif

void gemv_run()
{
    uint lane = gl_LocalInvocationIndex, row = lane % 8u;
    uint begin = GEMV_GROUP * GROUP_PAIRS;
    gemv_begin_x();
    vec2 y[PAIRS];
    gemv_products(begin + lane / uint(8 * SLICES) * uint(PAIRS), lane / 8u % uint(SLICES), y);
    for (int p = 0; p < PAIRS; p++) {
        gemv_partial[PARTIAL_AT(p)] = y[p];
    }
    group_barrier();
    uint pair = lane / 8u;
    if (pair < GROUP_PAIRS && begin + pair < params.n_pair) {
        uint at = pair % uint(PAIRS) * uint(WG_SIZE) + pair / uint(PAIRS) * uint(8 * SLICES) + row;
        vec2 sum = vec2(0.0);
        for (int i = 0; i < SLICES; i++) {
            sum += gemv_partial[at + uint(8 * i)];
        }
        gemv_own(begin + pair, row, sum * gemv_norm());
    }
}
#else
void gemv_run()
{
    uint lane = gl_LocalInvocationIndex;
    uint first = GEMV_GROUP * GROUP_PAIRS + lane / 8u * uint(PAIRS);
    gemv_begin_x();
    vec2 y[PAIRS];
    gemv_products(first, 0u, y);
    float norm = gemv_norm();
    for (int p = 0; p < PAIRS; p++) {
        if (first + uint(p) < params.n_pair) {
            gemv_own(first + uint(p), lane % 8u, y[p] * norm);
        }
    }
}
#endif
