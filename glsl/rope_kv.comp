// Turns q and k of a batch by the rotations of their positions and puts k and v into the cache.
//   first' = first * cos - second * sin,  second' = first * sin + second * cos
//
//   q        (n_tokens, q_stride)    written, pair order
//   qkv      (n_tokens, qkv_stride)  in the row order of the stacked projection (ops/weight.h)
//   vectors  table of rotations (n_ctx, n_rot), cos and sin of each pair
//   cache    a layer's k and v, (n_kv_head, n_ctx, head_dim) each, written at n_past + m
//
// An invocation owns one pair of one token. Reads and writes each element once: bound by memory.
#include "lib/common.glsl"
#include "lib/half.glsl"
#include "lib/step_state.glsl"

#if !defined(WG_SIZE) || !defined(K_F32) || !defined(V_F32)
#error "WG_SIZE: invocations of a group; K_F32, V_F32: 1 if the cache holds f32, 0 for f16 pairs"
#endif

layout(local_size_x = WG_SIZE) in;

layout(std430, binding = 0) restrict writeonly buffer Q { vec2 q[]; };
layout(std430, binding = 1) restrict readonly buffer Qkv { float qkv[]; };
layout(std430, binding = 2) restrict readonly buffer Vectors { vec2 vectors[]; };
layout(std430, binding = 3) restrict writeonly buffer Cache { uint cache[]; };

layout(std140, binding = 0) uniform Params
{
    uint q_stride, qkv_stride;
    uint n_q_pair, n_kv_pair; // of a token
    uint q_begin, k_begin, v_begin; // columns of qkv
    uint n_head_pair, n_rot_pair; // of a head
    uint n_ctx;
    uint k, v; // offsets in cache
    uint rope; // offset of the table in pairs
} params;

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

void write_cache(uint begin, uint at, vec2 value, bool is_f32)
{
    if (is_f32) {
        cache[begin + 2u * at] = floatBitsToUint(value.x);
        cache[begin + 2u * at + 1u] = floatBitsToUint(value.y);
    } else {
        cache[begin + at] = pack_half(value);
    }
}

void main()
{
    uint pair = gl_GlobalInvocationID.x;
    uint token = gl_WorkGroupID.y;
    uint position = state.n_past + token;
    if (token >= state.n_tokens || position >= params.n_ctx) {
        return;
    }
    uint n_q = params.n_q_pair;
    uint n_kv = params.n_kv_pair;
    if (pair < n_q) {
        vec2 value = turn(read_pair(token, params.q_begin, pair), pair, position);
        q[token * params.q_stride / 2u + pair] = value;
    } else if (pair < n_q + n_kv) {
        pair -= n_q;
        vec2 value = turn(read_pair(token, params.k_begin, pair), pair, position);
        write_cache(params.k, cache_pair(pair, position), value, K_F32 == 1);
    } else if (pair < n_q + 2u * n_kv) {
        pair -= n_q + n_kv;
        vec2 value = read_pair(token, params.v_begin, pair);
        write_cache(params.v, cache_pair(pair, position), value, V_F32 == 1);
    }
}
