// What the kernels that turn q and k share: reading pairs of a projection in the row order of ops/weight.h,
// rotation, and the places of k and v in the cache. They declare Params with
//
//   q_stride, qkv_stride
//   n_q_pair, n_kv_pair, q_begin, k_begin, v_begin  of a token; columns of qkv
//   n_head_pair, n_rot_pair  of a head
//   n_ctx, k, v, rope        offsets of k and v in the cache in uints, of the table in pairs
#if !defined(WG_SIZE) || !defined(K_F32) || !defined(V_F32)
#error "WG_SIZE: invocations of a group; K_F32, V_F32: 1 if the cache holds f32, 0 for f16 pairs"
#endif

layout(local_size_x = WG_SIZE) in;

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

void write_cache(uint begin, uint at, vec2 value, bool is_f32)
{
    if (is_f32) {
        cache[begin + 2u * at] = floatBitsToUint(value.x);
        cache[begin + 2u * at + 1u] = floatBitsToUint(value.y);
    } else {
        cache[begin + at] = pack_half(value);
    }
}

void write_q(uint token, uint pair, uint position, vec2 value)
{
    q[token * params.q_stride / 2u + pair] = turn(value, pair, position);
}

void write_k(uint pair, uint position, vec2 value)
{
    write_cache(params.k, cache_pair(pair, position), turn(value, pair, position), K_F32 == 1);
}

void write_v(uint pair, uint position, vec2 value)
{
    write_cache(params.v, cache_pair(pair, position), value, V_F32 == 1);
}
