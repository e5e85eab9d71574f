// Shared by the kernels that turn q and k: reading pairs of a projection in the row order of
// ops/record/weight.h, rotation, and writing k and v into the cache (its types:
// attention/kv_vec8.glsl), which goes by units: a pair, or with q8_0 and q4_0 a uint of four or
// eight elements, whose owner looks at its whole block for the largest value. They define
//
//   vec2 kv_pair(bool is_key, uint token, uint position, uint pair)  as it goes into the cache
//
// and declare Params, whose first fields are those of rope_kv.comp.
#include "lib/group.glsl"
#include "attention/cache_type.glsl"

#ifndef TEMPERATURE
#define TEMPERATURE 0
#endif

#define UNIT_PAIRS(type) ((type) == CACHE_Q4_0 ? 4u : (type) == CACHE_Q8_0 ? 2u : 1u)
#define K_UNIT_PAIRS UNIT_PAIRS(K_TYPE)
#define V_UNIT_PAIRS UNIT_PAIRS(V_TYPE)
#define BLOCK_PAIRS 16u

layout(std430, binding = 0) restrict writeonly buffer Q { vec2 q[]; };
layout(std430, binding = 1) restrict readonly buffer Qkv { float qkv[]; };
layout(std430, binding = 2) restrict readonly buffer Vectors { vec2 vectors[]; };
layout(std430, binding = 3) restrict writeonly buffer Cache { uint cache[]; };

vec2 read_pair(uint token, uint begin, uint pair)
{
    uint at = token * params.qkv_stride + begin + pair / 8u * 16u + pair % 8u;
    return vec2(qkv[at], qkv[at + 8u]);
}

vec2 turn(vec2 value, uint pair, uint position)
{
    uint i = pair % params.n_head_pair;
    if (i >= params.n_rot_pair) {
        return value;
    }
    vec2 rotation = vectors[params.rope + position * params.n_rot_pair + i];
    return vec2(value.x * rotation.x - value.y * rotation.y,
                value.x * rotation.y + value.y * rotation.x);
}

// Place of a pair in a cache of (n_kv_head, n_ctx, n_head_pair) pairs.
uint cache_pair(uint pair, uint position)
{
    uint head = pair / params.n_head_pair;
    return (head * params.n_ctx + position) * params.n_head_pair + pair % params.n_head_pair;
}

vec2 kv_pair(bool is_key, uint token, uint position, uint pair);

// Returns the element of block i of a head that is largest in size: the first of those. The last
// block may be a part; past it 0.
float block_peak(bool is_key, uint token, uint position, uint head, uint i)
{
    uint first = i * BLOCK_PAIRS;
    if (first >= params.n_head_pair) {
        return 0.0;
    }
    uint last = min(BLOCK_PAIRS, params.n_head_pair - first) - 1u;
    float peak = 0.0;
    for (uint n = 0u; n < BLOCK_PAIRS; n++) {
        uint pair = head * params.n_head_pair + first + min(n, last);
        vec2 value = kv_pair(is_key, token, position, pair);
        peak = abs(value.x) > abs(peak) ? value.x : peak;
        peak = abs(value.y) > abs(peak) ? value.y : peak;
    }
    return peak;
}

// Scale of block i of a head: its peak becomes 127 or -127 of q8_0, -8 of q4_0.
float block_scale(bool is_key, int type, uint token, uint position, uint head, uint i)
{
    float peak = block_peak(is_key, token, position, head, i);
    return type == CACHE_Q4_0 ? peak * -0.125 : abs(peak) * (1.0 / 127.0);
}

uint pack_bytes(vec4 value)
{
    uvec4 b = uvec4(ivec4(clamp(floor(value + 0.5), -127.0, 127.0))) & 0xFFu;
    return b.x | b.y << 8u | b.z << 16u | b.w << 24u;
}

uint pack_nibbles(vec4 value)
{
    uvec4 b = uvec4(clamp(floor(value + 8.5), 0.0, 15.0));
    return b.x | b.y << 8u | b.z << 16u | b.w << 24u;
}

// Writes a uint of a row of blocks, and the scales of the two blocks that begin with it.
void write_blocks(bool is_key, int type, uint data, uint scales, uint token, uint position,
                  uint unit)
{
    uint unit_pairs = UNIT_PAIRS(type), block_units = BLOCK_PAIRS / unit_pairs;
    uint n_unit = params.n_head_pair / unit_pairs;
    uint head = unit / n_unit, own = unit % n_unit, block = own / block_units;
    uint row = head * params.n_ctx + position;
    float scale = block_scale(is_key, type, token, position, head, block);
    if (own % (2u * block_units) == 0u) {
        float next = block_scale(is_key, type, token, position, head, block + 1u);
        uint n_scale = (params.n_head_pair + 2u * BLOCK_PAIRS - 1u) / (2u * BLOCK_PAIRS);
        cache[scales + row * n_scale + block / 2u] = pack_half(vec2(scale, next));
    }
    highp vec2 rounded = unpackHalf2x16(pack_half(vec2(scale, 0.0)));
    float inverse = rounded.x != 0.0 ? 1.0 / rounded.x : 0.0;
    uint pair = unit_pairs * unit;
    vec4 low = inverse * vec4(kv_pair(is_key, token, position, pair),
                              kv_pair(is_key, token, position, pair + 1u));
    uint bits = pack_bytes(low);
    if (type == CACHE_Q4_0) {
        vec4 high = inverse * vec4(kv_pair(is_key, token, position, pair + 2u),
                                   kv_pair(is_key, token, position, pair + 3u));
        bits = pack_nibbles(low) | pack_nibbles(high) << 4u;
    }
    cache[data + row * ((n_unit + 3u) / 4u * 4u) + own] = bits;
}

void write_unit(bool is_key, int type, uint data, uint scales, uint token, uint position, uint unit)
{
    if (HAS_CACHE_BLOCKS(type)) {
        write_blocks(is_key, type, data, scales, token, position, unit);
        return;
    }
    uint at = cache_pair(unit, position);
    vec2 value = kv_pair(is_key, token, position, unit);
    if (type == CACHE_F32) {
        cache[data + 2u * at] = floatBitsToUint(value.x);
        cache[data + 2u * at + 1u] = floatBitsToUint(value.y);
    } else {
        cache[data + at] = pack_half(value);
    }
}

void write_q(uint token, uint pair, uint position, vec2 value)
{
    vec2 turned = turn(value, pair, position);
#if TEMPERATURE
    turned *= 1.0 + params.temperature * log(1.0 + float(position / params.period));
#endif
    q[token * params.q_stride / 2u + pair] = turned;
}

void write_k(uint token, uint position, uint unit)
{
    uint begin = CACHE_BEGIN;
    write_unit(true, K_TYPE, begin + params.k, begin + params.k_scale, token, position, unit);
}

void write_v(uint token, uint position, uint unit)
{
    uint begin = CACHE_BEGIN;
    write_unit(false, V_TYPE, begin + params.v, begin + params.v_scale, token, position, unit);
}
