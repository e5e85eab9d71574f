// Weights in the repacked layout: tiles of 8 rows, blocks of 32 columns, quads and scales apart
// (see src/quant/quant.h for the picture). The unpacker of the program's weight type defines
//
//   struct QuantBlock           32 weights of a row as they are loaded
//   QuantBlock quant_load(uint tile, uint block, uint n_block, uint row)
//   float quant_dot(QuantBlock w, vec4 x[8], vec2 sum)
//                               dot product of a block of weights with x; sum is quant_sums(x)
//   vec4 quant_quad(QuantBlock w, int k)
//                               weights 4 k .. 4 k + 3; k may be what a loop counts
//
// Types that say QUANT_SPLIT 1 also give a block eight weights at a time where DOT asks for it:
// quant/dot.glsl.
//
// Types that say QUANT_FOUR 1 give four blocks at a time there: gemv/gemv_fours.glsl.
//
// Types that say QUANT_BY_QUADS 1 take more registers by whole blocks than Mali G has, and go by
// quads in its form of the GEMV.
//
// Types that say QUANT_TWO 1 also give two neighbouring blocks, whose scales share words, where
// HALF asks for products in f16:
//
//   void quant_load_two(uint tile, uint two, uint n_two, uint row, out QuantBlock a, out QuantBlock b)
//                               blocks 2 two and 2 two + 1 of 2 n_two
//
// Types that say QUANT_WORDS 1 also give eight weights of four rows in pairs of halves where WORDS
// asks for it:
//
//   struct QuantWords
//   QuantWords quant_load_words(uint tile, uint block, uint n_block, uint row, uint k)
//                               weights 8 k .. 8 k + 7 of rows row .. row + 3 of a block
//   void quant_half_words(QuantWords w, out uvec4 p[4])
//                               pairs (0, 4) (1, 5) (2, 6) (3, 7) of each row, the first half low
//
// Types that say QUANT_HALF_WORD 1 unpack eight weights of a row into such pairs by few instructions
// where HALF_WORDS asks for it; for others gemv/gemv_batch_half.comp does:
//
//   uvec4 quant_half_word(QuantBlock w, int k)
//                               weights 8 k .. 8 k + 7
//
// With LATE 1 types without scales load each quad where it is asked for, so that few are alive; with
// LATE 2 so do types whose QuantBlock has a LateQuad, of which only quant_quad may be called then.
//
// A kernel that includes this file declares binding 2, the quads, and binding 3, aux, through it:
// as storage blocks, with WORDS 1 of single words and of quads, or with TEXELS 1 as buffer
// textures, which llvmpipe reads several times as fast.
#define QUANT_BLOCK 32u
#define TILE_ROWS 8u

#ifndef TEXELS
#define TEXELS 0
#endif
#ifndef DOT
#define DOT 0
#endif

#ifndef SUMS
#define SUMS 0
#endif
#ifndef WORDS
#define WORDS 0
#endif
#ifndef HALF
#define HALF 0
#endif
#ifndef HALF_WORDS
#define HALF_WORDS 0
#endif
#ifndef SERIAL
#define SERIAL 0
#endif
#ifndef LATE
#define LATE SERIAL
#endif
#if HALF
#include "quant/half_dot.glsl"
#endif

#if TEXELS
layout(binding = 2) uniform highp usamplerBuffer quad_texels;
layout(binding = 3) uniform highp usamplerBuffer aux_texels;

uvec4 quad_at(uint i)
{
    return texelFetch(quad_texels, int(i));
}

uint aux_at(uint i)
{
    return texelFetch(aux_texels, int(i)).x;
}
#elif WORDS
layout(std430, binding = 2) restrict readonly buffer Quads { uint quad_words[]; };
layout(std430, binding = 3) restrict readonly buffer Aux { uvec4 aux_quads[]; };

uvec4 quad_at(uint i)
{
    return uvec4(quad_words[4u * i], quad_words[4u * i + 1u], quad_words[4u * i + 2u],
                 quad_words[4u * i + 3u]);
}

uint aux_at(uint i)
{
    return aux_quads[i / 4u][i % 4u];
}
#else
layout(std430, binding = 2) restrict readonly buffer Quads { uvec4 quads[]; };
layout(std430, binding = 3) restrict readonly buffer Aux { uint aux[]; };

uvec4 quad_at(uint i)
{
    return quads[i];
}

uint aux_at(uint i)
{
    return aux[i];
}
#endif

// Index of the first quad or scale word of a row in a group of blocks that has n_each of them; the
// others follow at a distance of TILE_ROWS.
uint quant_index(uint tile, uint group, uint n_group, uint n_each, uint row)
{
    return (tile * n_group + group) * n_each * TILE_ROWS + row;
}

// F of the eight quads of a block.
#define EACH_QUAD(F) F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7)

// Declares p, the sum of quad(k) * x[k].
#define SUM_QUADS(p, quad)                                                                         \
    vec4 p = quad(0) * x[0];                                                                       \
    p += quad(1) * x[1];                                                                           \
    p += quad(2) * x[2];                                                                           \
    p += quad(3) * x[3];                                                                           \
    p += quad(4) * x[4];                                                                           \
    p += quad(5) * x[5];                                                                           \
    p += quad(6) * x[6];                                                                           \
    p += quad(7) * x[7];

// Declares p and q, the sums of quad(k) * x[k] over the first 16 and the last 16 elements.
#define SUM_HALVES(p, q, quad)                                                                     \
    vec4 p = quad(0) * x[0];                                                                       \
    vec4 q = quad(4) * x[4];                                                                       \
    p += quad(1) * x[1];                                                                           \
    q += quad(5) * x[5];                                                                           \
    p += quad(2) * x[2];                                                                           \
    q += quad(6) * x[6];                                                                           \
    p += quad(3) * x[3];                                                                           \
    q += quad(7) * x[7];

// w, its bits `places` higher.
uint move_bits(uint w, int places)
{
    return places < 0 ? w >> uint(-places) : w << uint(places);
}

// A quad of weights, or with LATE 2 where it is.
#if LATE == 2
#define LateQuad     uint
#define late_quad(i) (i)
#define LATE_QUAD(q) quad_at(q)
#else
#define LateQuad     uvec4
#define late_quad(i) quad_at(i)
#define LATE_QUAD(q) (q)
#endif

#include QUANT_FILE

// A kernel with PIPELINED 1 names a block, or whether it is odd, before it uses the block's weights.
#ifdef SCALES_AS_LOADED // by quant/paired_scale.glsl: a word has the scales of two blocks
#define quant_begin_block(block) paired_shift = ((block) & 1u) * 16u
#else
#define quant_begin_block(block)
#endif

// The sums of the first 16 and of the last 16 elements of x.
vec2 quant_sums(vec4 x[8])
{
    vec4 s = (x[0] + x[1]) + (x[2] + x[3]), t = (x[4] + x[5]) + (x[6] + x[7]);
    return vec2((s.x + s.y) + (s.z + s.w), (t.x + t.y) + (t.z + t.w));
}

// A type with QUANT_STAGE 1 has a void quant_stage(uint lane) that all invocations of a group call
// first.
#ifndef QUANT_STAGE
#define QUANT_STAGE 0
#endif

// The 32 weights in natural order.
void quant_unpack(QuantBlock w, out vec4 v[8])
{
#define UNPACK_QUAD(k) v[k] = quant_quad(w, k);
    EACH_QUAD(UNPACK_QUAD)
}

#ifndef QUANT_SPLIT
#define QUANT_SPLIT 0
#endif
#ifndef QUANT_FOUR
#define QUANT_FOUR 0
#endif
#ifndef QUANT_BY_QUADS
#define QUANT_BY_QUADS 0
#endif
#ifndef QUANT_WORDS
#define QUANT_WORDS 0
#endif
#ifndef QUANT_TWO
#define QUANT_TWO 0
#endif
#ifndef QUANT_HALF_WORD
#define QUANT_HALF_WORD 0
#endif
