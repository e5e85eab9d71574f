// y = W x for one token: what the gemv kernels share. Rows come in pairs of tiles: an invocation
// works out row r of both tiles of a pair, so that x and its sum are read once for the two. A
// kernel
//
//   defines GEMV_NORM   1: results are multiplied by 1 / rms, from the partial sums of squares in its
//                       source
//   defines             uvec2 gemv_tiles(uint pair)  the two tiles of a pair of this part
//                       void gemv_fetch(uint pair, uint row)  reads what gemv_finish needs of weights
//                       void gemv_prepare(uint pair, uint row)  reads what else it needs from memory,
//                       before the dot products are waited for; owners only
//                       void gemv_finish(uint pair, uint row, vec2 y)  takes results; owners only
//   calls               gemv_run() once, outside all control flow; gemv_source(i) for vec4 i of its
//                       source (binding 1)
//   may define GEMV_SOURCE  where x begins, in vec4, if not at params.source
//   may define GEMV_FIRST_BLOCK  where the group's N_BLOCK blocks of a row begin (K_SPLITS)
//   may define GEMV_SUM    gemv/gemv_group_sums.glsl; void gemv_begin(vec4 sums) takes the sums, before
//                           gemv_prepare
//   has in Params       n_block, n_pair, source (x, in vec4), and with GEMV_NORM ssq (in vec4), n_ssq,
//                       inv_n_embd, norm_eps
//
// Shapes:
//   GEMV_SPLIT 1   A group owns PAIRS pairs, 8 rows x N_SLICE slices of k each; slice s takes blocks
//                  s, s + N_SLICE, ..., so that neighbouring rows read one run of memory and a group
//                  has many loads in flight. Partial sums meet in shared memory, with SUBGROUP (its size)
//                  after shuffles; the first 8 * PAIRS invocations own the results. With LOOP 1
//                  a group repeats that for all pairs of a run of its own. UNROLL blocks of
//                  a slice are loaded together: bytes in flight. With HALF 1 products are in f16
//                  (gemv/gemv_half.glsl), with PREFETCH 1 or 2 of as many blocks at a time, the next
//                  ones loaded before (gemv/gemv_prefetch.glsl).
//                  With PIPELINED 1 groups are those of a uniform list, with subgroups
//                  (gemv/gemv_pipeline.glsl); one without takes the plain form.
//   GEMV_SPLIT 0   An invocation owns row r of PAIRS pairs and walks all of k: no shared memory, no
//                  barrier; gemv/gemv_row.glsl. With SLICES, for few rows, that many invocations share
//                  these. With DOT the dot products take the form that the compilers of a family of
//                  GPUs make least of (quant/dot.glsl). With SERIAL its rows come one after the other.
//   X_QUADS n      x is read as a uniform block of n vec4, binding 2, that begins with it.
//   PIECES 1       The dispatch may run in pieces (lib/first_group.glsl); not with LOOP.
//   PARTED 1       x is a + s b, b following a, rounded up to two blocks, as gemv/gemv_post.comp
//                  leaves the residual or its norm; ssq (in vec4) are its n_ssq sums. Not with
//                  PIPELINED.
//   K_SPLITS n     Groups of row y of the grid take split y of k, N_BLOCK blocks; the products of
//                  the n splits are stored separately. With PIPELINED; at most one block a slice.
//   ADAPTER_RANK n Low-rank adapters: gemv/gemv_adapter.glsl. gemv_prepare adds gemv_adapter to the
//                  bias if ADAPTER_IS_BIAS; with PIPELINED the slices add their shares to the dot
//                  products instead. ADAPTER_AT is their place in the source.
//   TEXELS 1       Source and weights are read through buffer textures, on llvmpipe three times as
//                  fast: it turns a load from a storage block inside a loop into a loop over lanes.
// Reads a row's blocks once, and x once for the rows that an invocation owns.
#include "lib/group.glsl"
#ifndef PAIRS
#error "PAIRS: pairs of tiles of a group (GEMV_SPLIT 1) or of an invocation (GEMV_SPLIT 0)"
#endif

#include "quant/quant.glsl"

#ifndef PIECES
#define PIECES 0
#endif
#if PIECES
#include "lib/first_group.glsl"
#define GEMV_GROUP (gl_WorkGroupID.x + first_group)
#else
#define GEMV_GROUP gl_WorkGroupID.x
#endif

#ifndef GEMV_SOURCE
#define GEMV_SOURCE params.source
#endif

#if TEXELS
layout(binding = 1) uniform highp samplerBuffer source_texels;

vec4 gemv_source(uint i)
{
    return texelFetch(source_texels, int(i));
}
#else
layout(std430, binding = 1) restrict readonly buffer Source { vec4 source[]; };

vec4 gemv_source(uint i)
{
    return source[i];
}
#endif

uvec2 gemv_tiles(uint pair);
void gemv_fetch(uint pair, uint row);
void gemv_prepare(uint pair, uint row);
void gemv_finish(uint pair, uint row, vec2 y);

#ifndef ADAPTER_RANK
#define ADAPTER_RANK 0
#endif
#ifndef SUBGROUP
#define SUBGROUP 0
#endif
#include "lib/lanes.glsl"
#ifndef LOOP
#define LOOP 0
#endif
#ifndef PIPELINED
#define PIPELINED 0
#endif
#define ADAPTER_IS_BIAS (ADAPTER_RANK > 0 && !PIPELINED)
#if ADAPTER_RANK
#include "gemv/gemv_adapter.glsl"
#endif
#ifndef X_QUADS
#define X_QUADS 0
#endif
#ifndef PARTED
#define PARTED 0
#endif
#ifndef UNROLL
#define UNROLL 1
#endif
#ifndef PREFETCH
#define PREFETCH 0
#endif
#ifndef EVEN
#define EVEN 0
#endif
#ifndef BATCH
#define BATCH 1
#endif

#ifndef SLICES
#define SLICES 1
#endif

#if GEMV_SPLIT
#define GEMV_OWNERS (8 * PAIRS * BATCH)
#define N_SLICE (WG_SIZE / (8 * PAIRS))
#elif SLICES > 1
#define GEMV_OWNERS (WG_SIZE / SLICES * PAIRS)
#else
#define GEMV_OWNERS WG_SIZE
#endif
#define GROUP_PAIRS uint(WG_SIZE / 8 * PAIRS / SLICES) // of GEMV_SPLIT 0

// Invocations of a reduction over owners: a power of two.
#define GEMV_REDUCED uint(2 << findMSB(GEMV_OWNERS - 1))

// Vec4 from x to the data after it: x rounded up to two blocks.
#define GEMV_BEHIND ((params.n_block + 1u) / 2u * 16u)

#if PARTED
float gemv_part_scale; // s
float gemv_part_rms;   // 1 / rms of the residual

vec4 gemv_x(uint i)
{
    i += GEMV_SOURCE;
    return gemv_source(i) + gemv_part_scale * gemv_source(i + GEMV_BEHIND);
}
#elif X_QUADS
layout(std140, binding = 2) uniform X { vec4 x_quads[X_QUADS]; };
#define gemv_x(i) x_quads[i]
#else
#define gemv_x(i) gemv_source(GEMV_SOURCE + (i))
#endif

#if SUMS
// Sums of the halves of block 2 * pair + odd of x.
vec2 gemv_sums(uint pair, uint odd)
{
    vec4 s = gemv_x(GEMV_BEHIND + pair);
    return odd == 0u ? s.xy : s.zw;
}
#endif

// Reads a block of x; returns the sums of its halves.
vec2 gemv_load(uint block, out vec4 x[8])
{
    uint i = block * 8u;
#define LOAD_QUAD(k) x[k] = gemv_x(i + uint(k));
    EACH_QUAD(LOAD_QUAD)
#if SUMS
    return gemv_sums(block / 2u, block & 1u);
#else
    return quant_sums(x);
#endif
}

#if GEMV_NORM
// Sum of vec4 i of the partial sums of squares, what lies past n_ssq left out.
float gemv_ssq4(uint i)
{
    vec4 v = gemv_source(params.ssq + i);
    uvec4 at = i * 4u + uvec4(0u, 1u, 2u, 3u);
    v = mix(vec4(0.0), v, lessThan(at, uvec4(params.n_ssq)));
    return (v.x + v.y) + (v.z + v.w);
}
#endif

#if GEMV_NORM || PARTED
float gemv_inv_rms(float ssq)
{
    return inversesqrt(ssq * params.inv_n_embd + params.norm_eps);
}
#endif

#if PARTED
#define GEMV_SUM(i) gemv_source(params.ssq + (i))
#define GEMV_N_SUM params.n_ssq

// Takes the sums of r^2, r u, u^2 and y^2.
void gemv_begin(vec4 sums)
{
    float s = gemv_inv_rms(sums.w);
    gemv_part_scale = s;
    gemv_part_rms = gemv_inv_rms(max(sums.x + s * (2.0 * sums.y + s * sums.z), 0.0));
}
#endif
#ifdef GEMV_SUM
#include "gemv/gemv_group_sums.glsl"
#if !PARTED
void gemv_begin(vec4 sums);
#endif
#define gemv_begin_x() gemv_begin(gemv_add_group_sums())
#else
#define gemv_begin_x()
#endif

#if GEMV_SPLIT

// Invocations that add up their values before they go to shared memory: those of a subgroup that
// work for one pair, or each for itself.
#if SUBGROUP
#define GEMV_SPAN min(SUBGROUP, 8 * N_SLICE)
#else
#define GEMV_SPAN 8
#endif
#define N_PARTIAL (8 * N_SLICE / GEMV_SPAN)

// True if each slice adds up a share of the sum of squares.
#define SSQ_BY_SLICE (GEMV_NORM && !PARTED && !(HALF && PREFETCH) && !PIPELINED)

#if BATCH > 1
uint gemv_set = 0u; // of the turns of a batch, where its sums are
#else
#define gemv_set 0u
#endif
#define GEMV_SET_SIZE uint(8 * PAIRS * N_PARTIAL)

shared vec2 gemv_partial[BATCH * 8 * PAIRS * N_PARTIAL];
#if SSQ_BY_SLICE
shared float gemv_partial_ssq[8 * PAIRS * N_PARTIAL];
#endif

#if SSQ_BY_SLICE
// Over the slices of an owner, `at` its first.
float gemv_collect_ssq(uint at)
{
    float ssq = gemv_partial_ssq[at];
    for (uint i = 1u; i < uint(N_PARTIAL); i++) {
        ssq += gemv_partial_ssq[at + i * 8u];
    }
    return ssq;
}
#endif

// Sums over the slices of an owner: its results.
vec2 gemv_collect(uint owner)
{
    uint at = owner % 8u + owner / 8u * uint(8 * N_PARTIAL);
    vec2 y = gemv_partial[at];
    for (uint i = 1u; i < uint(N_PARTIAL); i++) {
        y += gemv_partial[at + i * 8u];
    }
#if SSQ_BY_SLICE
    y *= gemv_inv_rms(gemv_collect_ssq(at % GEMV_SET_SIZE));
#endif
    return y;
}

// Stores an invocation's sums where gemv_collect finds them after a barrier.
void gemv_leave(uint lane, vec2 y, float ssq)
{
#if SUBGROUP
    y = sum_lanes(y, 8, GEMV_SPAN);
#if SSQ_BY_SLICE
    ssq = sum_lanes(ssq, 8, GEMV_SPAN);
#endif
#endif
    if (lane % uint(GEMV_SPAN) < 8u) {
        uint at = lane / uint(GEMV_SPAN) * 8u + lane % 8u;
        gemv_partial[gemv_set * GEMV_SET_SIZE + at] = y;
#if SSQ_BY_SLICE
        if (gemv_set == 0u) {
            gemv_partial_ssq[at] = ssq;
        }
#endif
    }
}

void gemv_share(uint lane, vec2 y, float ssq)
{
    gemv_leave(lane, y, ssq);
    group_barrier();
}

#if HALF
#include "gemv/gemv_half.glsl"
#else
void gemv_stage(uint lane)
{
#if QUANT_STAGE
    quant_stage(lane);
#endif
}

vec2 gemv_dots(uint block, QuantBlock a, QuantBlock b)
{
    vec4 x[8];
    vec2 sum = gemv_load(block, x);
    return vec2(quant_dot(a, x, sum), quant_dot(b, x, sum));
}
#endif

// Groups begin by loading weights. Their addresses depend on params, an extra load, as little as
// possible. EVEN says that every group has all of its pairs. Groups that loop take 1.15 times as long
// with a number of blocks that the compiler knows.
#if HALF && !PIPELINED && !LOOP
#define GEMV_N_BLOCK uint(N_BLOCK)
#else
#define GEMV_N_BLOCK params.n_block
#endif

// Asks for the weights of UNROLL blocks of both tiles, N_SLICE apart, those of the last block in
// place of what is past it.
void gemv_load_weights(uint block, uvec2 tiles, uint row, out QuantBlock w[2 * UNROLL])
{
    for (int u = 0; u < UNROLL; u++) {
        uint at = min(block + uint(u * N_SLICE), GEMV_N_BLOCK - 1u);
        w[2 * u] = quant_load(tiles.x, at, GEMV_N_BLOCK, row);
        w[2 * u + 1] = quant_load(tiles.y, at, GEMV_N_BLOCK, row);
    }
}

vec2 gemv_dot_weights(uint block, QuantBlock w[2 * UNROLL])
{
    vec2 y = vec2(0.0);
    for (int u = 0; u < UNROLL; u++) {
        uint at = block + uint(u * N_SLICE);
        vec2 dots = gemv_dots(min(at, GEMV_N_BLOCK - 1u), w[2 * u], w[2 * u + 1]);
        y += at < GEMV_N_BLOCK ? dots : vec2(0.0);
    }
    return y;
}

#if !PIPELINED
bool gemv_has(uint pair)
{
#if EVEN
    return true;
#else
    return pair < params.n_pair;
#endif
}

// The last pair in place of one that the part has not.
uint gemv_near(uint pair)
{
#if EVEN
    return pair;
#else
    return min(pair, params.n_pair - 1u);
#endif
}
#endif

// Include guard: gemv_pipeline.glsl and gemv_prefetch.glsl both need this file.
#if PARTED && GEMV_NORM
#define gemv_shared_inv_rms() gemv_part_rms
#elif GEMV_NORM && (PIPELINED || (HALF && PREFETCH))
#include "gemv/gemv_ssq.glsl"
#else
#define gemv_shared_inv_rms() 1.0
#endif
#if PIPELINED
#include "gemv/gemv_pipeline.glsl"
#elif HALF && PREFETCH
#include "gemv/gemv_prefetch.glsl"
#else
void gemv_pass(uint first, bool is_first_pass)
{
    uint lane = gl_LocalInvocationIndex, row = lane % 8u, slice = lane / 8u % uint(N_SLICE);
    uvec2 tiles = gemv_tiles(gemv_near(first + lane / uint(8 * N_SLICE)));
    bool is_owner = lane < uint(GEMV_OWNERS) && gemv_has(first + lane / 8u);
    // All that the first blocks need is asked for before anything is waited for.
    QuantBlock w[2 * UNROLL];
    gemv_load_weights(slice, tiles, row, w);
    if (is_first_pass) {
        gemv_begin_x();
    }
    float ssq = 0.0;
#if SSQ_BY_SLICE
    ssq = gemv_ssq4(min(slice, (params.n_ssq - 1u) / 4u));
    ssq = slice * 4u < params.n_ssq ? ssq : 0.0;
#endif
    if (is_owner) {
        gemv_fetch(first + lane / 8u, row);
        gemv_prepare(first + lane / 8u, row);
    }
    if (is_first_pass) {
        gemv_stage(lane);
    }
    vec2 y = gemv_dot_weights(slice, w);
    for (uint block = slice + uint(UNROLL * N_SLICE); block < params.n_block;
         block += uint(UNROLL * N_SLICE)) {
        gemv_load_weights(block, tiles, row, w);
        y += gemv_dot_weights(block, w);
    }
#if SSQ_BY_SLICE
    for (uint i = slice + uint(N_SLICE); i * 4u < params.n_ssq; i += uint(N_SLICE)) {
        ssq += gemv_ssq4(i);
    }
#endif
    gemv_share(lane, y, ssq);
    if (is_owner) {
        gemv_finish(first + lane / 8u, row, gemv_shared_inv_rms() * gemv_collect(lane));
    }
}

void gemv_run()
{
#if LOOP
    uint n_pass = (params.n_pair + uint(PAIRS) - 1u) / uint(PAIRS);
    uint turns = (n_pass + gl_NumWorkGroups.x - 1u) / gl_NumWorkGroups.x;
    for (uint i = 0u; i < turns; i++) {
        gemv_pass((gl_WorkGroupID.x * turns + i) * uint(PAIRS), i == 0u);
        barrier(); // the next pass writes what this one reads in shared memory
    }
#else
    gemv_pass(GEMV_GROUP * uint(PAIRS), true);
#endif
}

#endif

#else
#include "gemv/gemv_row.glsl"
#endif
