// Shared by the kernels that turn q and k: reading pairs of a projection in the row order of
// ops/record/weight.h, rotation, and writing k and v into the cache (its types:
// attention/kv_vec8.glsl), which goes by units: a pair, or with q8_0 a uint of four bytes, whose
// owner looks at its whole block for the largest value. They define
//
//   vec2 kv_pair(bool is_key, uint token, uint position, uint pair)  as it goes into the cache
//
// and declare Params, whose first fields are those of rope_kv.comp.
#include "lib/group.glsl"
#include "attention/cache_type.glsl"

#define K_UNIT_PAIRS (K_TYPE == CACHE_Q8_0 ? 2u : 1u)
#define V_UNIT_PAIRS (V_TYPE == CACHE_Q8_0 ? 2u : 1u)
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

// Scale of block i of a head: its largest value becomes 127. The last block may be a part; past it
// 0.
float block_scale(bool is_key, uint token, uint position, uint head, uint i)
{
    uint first = i * BLOCK_PAIRS;
    if (first >= params.n_head_pair) {
        return 0.0;
    }
    uint last = min(BLOCK_PAIRS, params.n_head_pair - first) - 1u;
    float largest = 0.0;
    for (uint n = 0u; n < BLOCK_PAIRS; n++) {
        uint pair = head * params.n_head_pair + first + min(n, last);
        vec2 value = abs(kv_pair(is_key, token, position, pair));
        largest = max(largest, max(value.x, value.y));
    }
    return largest * (1.0 / 127.0);
}

uint pack_bytes(vec4 value)
{
    uvec4 b = uvec4(ivec4(clamp(floor(value + 0.5), -127.0, 127.0))) & 0xFFu;
    return b.x | b.y << 8u | b.z << 16u | b.w << 24u;
}

// Writes a uint of a q8_0 row, and the scales of the two blocks that begin with it.
void write_bytes(bool is_key, uint data, uint scales, uint token, uint position, uint unit)
{
    uint n_word = params.n_head_pair / 2u;
    uint head = unit / n_word, word = unit % n_word;
    uint row = head * params.n_ctx + position;
    float scale = block_scale(is_key, token, position, head, word / 8u);
    if (word % 16u == 0u) {
        float next = block_scale(is_key, token, position, head, word / 8u + 1u);
        cache[scales + row * ((n_word + 15u) / 16u) + word / 16u] = pack_half(vec2(scale, next));
    }
    highp vec2 rounded = unpackHalf2x16(pack_half(vec2(scale, 0.0)));
    float inverse = rounded.x > 0.0 ? 1.0 / rounded.x : 0.0;
    vec4 value = vec4(kv_pair(is_key, token, position, 2u * unit),
                      kv_pair(is_key, token, position, 2u * unit + 1u));
    cache[data + row * ((n_word + 3u) / 4u * 4u) + word] = pack_bytes(inverse * value);
}

void write_unit(bool is_key, int type, uint data, uint scales, uint token, uint position, uint unit)
{
    if (type == CACHE_Q8_0) {
        write_bytes(is_key, data, scales, token, position, unit);
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
    q[token * params.q_stride / 2u + pair] = turn(value, pair, position);
}

void write_k(uint token, uint position, uint unit)
{
    write_unit(true, K_TYPE, params.k, params.k_scale, token, position, unit);
}

void write_v(uint token, uint position, uint unit)
{
    write_unit(false, V_TYPE, params.v, params.v_scale, token, position, unit);
}
