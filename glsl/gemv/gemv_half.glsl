// x in f16 for GEMV_SPLIT 1 with HALF: a group keeps all of x in shared memory, as pairs in the
// order in which the weights come (quant/half_dot.glsl), each block of 32 divided by the power of
// two of its largest element, so that nothing leaves the range of f16. N_BLOCK is params.n_block,
// known to the compiler.
#include "lib/half.glsl"

#ifndef N_BLOCK
#error "N_BLOCK: blocks of x"
#endif

// Blocks that are there at a time: fewer than all in gemv/gemv_pipeline.glsl alone.
#ifndef X_BLOCKS
#define X_BLOCKS N_BLOCK
#endif
#define X_SPLIT (X_BLOCKS < N_BLOCK)

// Four quads of pairs and one with the power of two and the sums of the halves as floats; five also
// keep neighbouring slices in different banks.
#define HALF_QUADS 5u

shared uvec4 x_pairs[X_BLOCKS * 5];

#if QUANT_PAIRS == PAIRS_OF_NIBBLES
uvec4 pair_up(vec4 a, vec4 b)
{
    a *= vec4(16384.0, 1024.0, 16384.0, 1024.0);
    b *= vec4(16384.0, 1024.0, 16384.0, 1024.0);
    return uvec4(pack_half(vec2(a.x, b.x)), pack_half(vec2(a.y, b.y)), pack_half(vec2(a.z, b.z)),
                 pack_half(vec2(a.w, b.w)));
}
#else
uvec4 pair_up(vec4 a, vec4 b)
{
    a *= 16384.0;
    b *= 16384.0;
    return uvec4(pack_half(a.xz), pack_half(a.yw), pack_half(b.xz), pack_half(b.yw));
}
#endif

float largest_of(vec4 a, vec4 b)
{
    vec4 m = max(abs(a), abs(b));
    return max(max(m.x, m.y), max(m.z, m.w));
}

float sum_of(vec4 a, vec4 b)
{
    vec4 s = a + b;
    return (s.x + s.y) + (s.z + s.w);
}

// The power of two at or below a number from 0 on, as bits; and what it is divided by as a factor.
uint power_of(float x)
{
    return floatBitsToUint(x) & 0x7F800000u;
}

float inverse_of(uint power)
{
    return uintBitsToFloat(0x7F000000u - power);
}

#if SUBGROUP
// Leaves eighths 2 i and 2 i + 1 of x as pairs, if that is wanted. Four neighbours have a block,
// and all of them call.
void gemv_pair_up(uint i, vec4 a, vec4 b, bool is_wanted)
{
    float largest = largest_of(a, b), sum = sum_of(a, b);
    largest = max(largest, subgroupShuffleXor(largest, 1u));
    largest = max(largest, subgroupShuffleXor(largest, 2u));
    sum += subgroupShuffleXor(sum, 1u);
    float last = subgroupShuffleXor(sum, 2u);
    uint power = power_of(largest), begin = i / 4u * HALF_QUADS;
    float factor = inverse_of(power);
    if (is_wanted) {
        x_pairs[begin + i % 4u] = pair_up(a * factor, b * factor);
        if (i % 4u == 0u) {
            x_pairs[begin + 4u] = uvec4(power, floatBitsToUint(vec2(sum, last)), 0u);
        }
    }
}

void gemv_stage(uint lane)
{
    for (uint i = lane; i < 4u * uint(N_BLOCK); i += uint(WG_SIZE)) {
        gemv_pair_up(i, gemv_x(2u * i), gemv_x(2u * i + 1u), true);
    }
    group_barrier();
}
#else
void gemv_stage(uint lane)
{
    for (uint block = lane; block < uint(N_BLOCK); block += uint(WG_SIZE)) {
        vec4 x[8];
        for (int k = 0; k < 8; k++) {
            x[k] = gemv_x(block * 8u + uint(k));
        }
        vec2 sum = quant_sums(x);
        float largest = max(max(largest_of(x[0], x[1]), largest_of(x[2], x[3])),
                            max(largest_of(x[4], x[5]), largest_of(x[6], x[7])));
        uint power = power_of(largest), begin = block * HALF_QUADS;
        float factor = inverse_of(power);
        x_pairs[begin] = pair_up(x[0] * factor, x[1] * factor);
        x_pairs[begin + 1u] = pair_up(x[2] * factor, x[3] * factor);
        x_pairs[begin + 2u] = pair_up(x[4] * factor, x[5] * factor);
        x_pairs[begin + 3u] = pair_up(x[6] * factor, x[7] * factor);
        x_pairs[begin + 4u] = uvec4(power, floatBitsToUint(sum), 0u);
    }
    group_barrier();
}
#endif

float gemv_half_dot(QuantBlock w, uvec4 x[5])
{
    mediump vec2 first = quant_half(w, 1, x[1], quant_half(w, 0, x[0], vec2(0.0)));
    mediump vec2 last = quant_half(w, 3, x[3], quant_half(w, 2, x[2], vec2(0.0)));
    float power = 1024.0 * uintBitsToFloat(x[4].x);
#if QUANT_SCALES == 1
    first += last;
    highp vec2 p = first;
    p = vec2(power * (p.x + p.y), 0.0);
#else
    highp vec2 p = first, q = last;
    p = power * vec2(p.x + p.y, q.x + q.y);
#endif
    return quant_half_end(w, p, uintBitsToFloat(x[4].yz));
}

void gemv_read_pairs(uint block, out uvec4 x[5])
{
#if X_SPLIT
    block %= uint(X_BLOCKS);
#endif
    uint begin = block * HALF_QUADS;
    x[0] = x_pairs[begin];
    x[1] = x_pairs[begin + 1u];
    x[2] = x_pairs[begin + 2u];
    x[3] = x_pairs[begin + 3u];
    x[4] = x_pairs[begin + 4u];
}

// Dot products of a block with that of both tiles.
vec2 gemv_dots(uint block, QuantBlock a, QuantBlock b)
{
    uvec4 x[5];
    gemv_read_pairs(block, x);
    return vec2(gemv_half_dot(a, x), gemv_half_dot(b, x));
}
