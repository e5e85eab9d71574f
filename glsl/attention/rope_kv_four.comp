// rope_kv.comp with four pairs an invocation: the same formula and buffers. Needs heads and rotations of a
// multiple of four pairs, and caches without blocks.
//
// An invocation finds its place by selections in place of branches, since compilers for boards keep
// instructions of different branches apart. Bound by memory.
#define SLOT gl_WorkGroupID.y
#include "lib/common.glsl"
#include "lib/half.glsl"
#include "lib/slot.glsl"

#include "params/rope_kv.glsl"

#include "lib/group.glsl"
#include "attention/cache_type.glsl"

#ifndef TEMPERATURE
#define TEMPERATURE 0
#endif

layout(std430, binding = 0) restrict writeonly buffer Q { vec4 q[]; };
layout(std430, binding = 1) restrict readonly buffer Qkv { vec4 qkv[]; };
layout(std430, binding = 2) restrict readonly buffer Vectors { vec4 vectors[]; };
layout(std430, binding = 3) restrict writeonly buffer Cache { uvec4 cache[]; };

// Writes four pairs; begin and at are in uints and in pairs, multiples of 4.
void write_cache(int type, uint begin, uint at, vec4 low, vec4 high)
{
    if (type == CACHE_F32) {
        cache[begin / 4u + at / 2u] = floatBitsToUint(low);
        cache[begin / 4u + at / 2u + 1u] = floatBitsToUint(high);
    } else {
        cache[(begin + at) / 4u] = uvec4(pack_half(low.xy), pack_half(low.zw), pack_half(high.xy),
                                         pack_half(high.zw));
    }
}

void main()
{
    uint token = gl_WorkGroupID.y, position = row_position(token);
    uint n_q = params.n_q_pair, n_kv = params.n_kv_pair, pair = 4u * gl_GlobalInvocationID.x;
    if (!is_row_used(token) || position >= params.n_ctx || pair >= n_q + 2u * n_kv) {
        return;
    }
    bool is_q = pair < n_q, is_turned = pair < n_q + n_kv;
    uint begin = is_q ? params.q_begin : is_turned ? params.k_begin : params.v_begin;
    pair -= is_q ? 0u : is_turned ? n_q : n_q + n_kv;
    uint from = (token * params.qkv_stride + begin) / 4u + pair / 8u * 4u + pair % 8u / 4u;
    vec4 a = qkv[from], b = qkv[from + 2u];
    uint i = pair % params.n_head_pair;
    if (is_turned && i < params.n_rot_pair) {
        uint at = (params.rope + position * params.n_rot_pair + i) / 2u;
        vec4 r = vectors[at], s = vectors[at + 1u];
        vec4 cosines = vec4(r.xz, s.xz), sines = vec4(r.yw, s.yw);
        vec4 turned = a * cosines - b * sines;
        b = a * sines + b * cosines;
        a = turned;
    }
    vec4 low = vec4(a.x, b.x, a.y, b.y), high = vec4(a.z, b.z, a.w, b.w);
    if (is_q) {
#if TEMPERATURE
        float factor = 1.0 + params.temperature * log(1.0 + float(position / params.period));
        low *= factor;
        high *= factor;
#endif
        uint to = token * params.q_stride / 4u + pair / 2u;
        q[to] = low;
        q[to + 1u] = high;
        return;
    }
    uint at = (pair / params.n_head_pair * params.n_ctx + position) * params.n_head_pair + i;
#if K_TYPE == V_TYPE
    write_cache(K_TYPE, CACHE_BEGIN + (is_turned ? params.k : params.v), at, low, high);
#else
    if (is_turned) {
        write_cache(K_TYPE, CACHE_BEGIN + params.k, at, low, high);
    } else {
        write_cache(V_TYPE, CACHE_BEGIN + params.v, at, low, high);
    }
#endif
}
