// Weights in the repacked layout: tiles of 8 rows, blocks of 32 columns, quads and scales apart (see
// src/quant/quant.h for the picture). The unpacker of the program's weight type defines
//
//   QUANT_QUADS                 uvec4 a row and block
//   vec2 quant_scale(tile, block, n_block, row)    (d, m) of a block, from aux; vec2(1, 0) without scales
//   float quant_dot(uvec4 w[QUANT_QUADS], vec2 scale, vec4 x[8], float sum)
//                               dot product of a block of weights with x; sum is the sum of x
//   void quant_unpack(uvec4 w[QUANT_QUADS], vec2 scale, out vec4 v[8])
//                               the 32 weights in natural order
//
// A kernel that includes this file declares binding 2, the quads, and binding 3, aux, through it: as
// storage blocks, or with TEXELS 1 as buffer textures, which llvmpipe reads several times as fast.
#define QUANT_BLOCK 32u
#define TILE_ROWS 8u

#ifndef TEXELS
#define TEXELS 0
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

#include QUANT_FILE

// Index of the first quad of a block; the others follow at a distance of TILE_ROWS.
uint quant_index(uint tile, uint block, uint n_block, uint row)
{
    return ((tile * n_block + block) * uint(QUANT_QUADS)) * TILE_ROWS + row;
}
