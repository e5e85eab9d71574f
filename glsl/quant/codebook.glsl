// Nibbles that stand for one of 16 signed bytes: codes holds them, code 0 in the lowest byte.
// Selected by arithmetic, since not every driver keeps an indexed array in registers; with
// GEMV_SPLIT 1 looked up in shared memory, a third of the instructions: each of 32 neighbours has a
// copy in a bank of its own.
//
// A type that includes this file has its codes in QUANT_CODES, the nibbles of a QuantBlock in its
// quad, a LateQuad, and its scale in CODE_SCALE(w), or the scales of its halves in CODE_SCALES(w).
#define QUANT_BY_QUADS 1

// The codes of four nibbles.
vec4 select_codes(uvec4 nibbles, uvec4 codes)
{
    uvec4 word = mix(mix(uvec4(codes.x), uvec4(codes.y), bvec4(nibbles & 4u)),
                     mix(uvec4(codes.z), uvec4(codes.w), bvec4(nibbles & 4u)),
                     bvec4(nibbles & 8u));
    return vec4(ivec4(word << ((~nibbles & 3u) << 3u)) >> 24);
}

vec4 low_codes(uint w, uvec4 codes)
{
    return select_codes(uvec4(w) >> uvec4(0u, 4u, 8u, 12u), codes);
}

vec4 high_codes(uint w, uvec4 codes)
{
    return select_codes(uvec4(w) >> uvec4(16u, 20u, 24u, 28u), codes);
}

#ifndef GEMV_SPLIT
#define GEMV_SPLIT 0
#endif
#if GEMV_SPLIT
#define QUANT_STAGE 1

shared float code_table[16 * 32];

void quant_stage(uint lane)
{
    for (uint i = lane; i < 16u * 32u; i += uint(WG_SIZE)) {
        code_table[i] = select_codes(uvec4(i / 32u), QUANT_CODES).x;
    }
    group_barrier();
}

float table_at(uint nibble_by_32)
{
    return code_table[(nibble_by_32 & 0x1E0u) | (gl_LocalInvocationIndex & 31u)];
}

float word_dot(uint w, vec4 a, vec4 b)
{
    vec4 p = vec4(table_at(w << 5u), table_at(w << 1u), table_at(w >> 3u), table_at(w >> 7u)) * a;
    p += vec4(table_at(w >> 11u), table_at(w >> 15u), table_at(w >> 19u), table_at(w >> 23u)) * b;
    return (p.x + p.y) + (p.z + p.w);
}

#ifdef CODE_SCALES
// Sums of code * x over the first 16 and the last 16 elements.
vec2 codes_dot_halves(uvec4 w, vec4 x[8])
{
    return vec2(word_dot(w.x, x[0], x[1]) + word_dot(w.y, x[2], x[3]),
                word_dot(w.z, x[4], x[5]) + word_dot(w.w, x[6], x[7]));
}
#else
// Sum of code * x.
float codes_dot(uvec4 w, vec4 x[8])
{
    return (word_dot(w.x, x[0], x[1]) + word_dot(w.y, x[2], x[3])) +
           (word_dot(w.z, x[4], x[5]) + word_dot(w.w, x[6], x[7]));
}
#endif
#elif defined(CODE_SCALES)
// Sums of code * x over the first 16 and the last 16 elements.
vec2 codes_dot_halves(uvec4 w, vec4 x[8])
{
    const uvec4 codes = QUANT_CODES;
    vec4 p = low_codes(w.x, codes) * x[0];
    p += high_codes(w.x, codes) * x[1];
    p += low_codes(w.y, codes) * x[2];
    p += high_codes(w.y, codes) * x[3];
    vec4 q = low_codes(w.z, codes) * x[4];
    q += high_codes(w.z, codes) * x[5];
    q += low_codes(w.w, codes) * x[6];
    q += high_codes(w.w, codes) * x[7];
    return vec2((p.x + p.y) + (p.z + p.w), (q.x + q.y) + (q.z + q.w));
}
#else
// Sum of code * x.
float codes_dot(uvec4 w, vec4 x[8])
{
    const uvec4 codes = QUANT_CODES;
    vec4 p = low_codes(w.x, codes) * x[0];
    p += high_codes(w.x, codes) * x[1];
    p += low_codes(w.y, codes) * x[2];
    p += high_codes(w.y, codes) * x[3];
    p += low_codes(w.z, codes) * x[4];
    p += high_codes(w.z, codes) * x[5];
    p += low_codes(w.w, codes) * x[6];
    p += high_codes(w.w, codes) * x[7];
    return (p.x + p.y) + (p.z + p.w);
}
#endif

#ifdef CODE_SCALES
float quant_dot(QuantBlock w, vec4 x[8], vec2 sum)
{
    return dot(CODE_SCALES(w), codes_dot_halves(LATE_QUAD(w.quad), x));
}

#define QUAD_SCALE(w, k) ((k) < 4 ? CODE_SCALES(w).x : CODE_SCALES(w).y)
#else
float quant_dot(QuantBlock w, vec4 x[8], vec2 sum)
{
    return CODE_SCALE(w) * codes_dot(LATE_QUAD(w.quad), x);
}

#define QUAD_SCALE(w, k) CODE_SCALE(w)
#endif

vec4 quant_quad(QuantBlock w, int k)
{
    return low_codes(LATE_QUAD(w.quad)[k >> 1] >> uint(16 * (k & 1)), QUANT_CODES) *
           QUAD_SCALE(w, k);
}
