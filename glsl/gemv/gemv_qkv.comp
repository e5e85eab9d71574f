// q, k, v of one token: y = W norm / rms + bias, pairs of q and k turned, q written at the front of
// the layer's range, k and v into its cache at position n_past.
//
//   dst     layer's range: q (n_head, head_dim) f32 | k, v (n_kv_head, n_ctx, head_dim) f16 pairs or f32
//   source  stream: norm (n_embd), ssq (n_ssq), rope (n_rot) as cos, sin pairs
//   W       (n_rows, n_embd), stacked so that rows r of tiles 2 j and 2 j + 1 are one rotary pair
//
// The owner of a pair of rows owns a rotary pair, so the rotation needs no neighbour, and a pair of
// k or v is one word of an f16 cache. Sizes of groups and invocations: gemv/gemv.glsl.
#include "lib/common.glsl"
#include "lib/half.glsl"
#include "lib/step_state.glsl"

#if !defined(HEAD_DIM) || !defined(HAS_BIAS)
#error "HEAD_DIM: elements of a head, even; HAS_BIAS: 1 if aux holds a bias"
#endif
#include "attention/cache_type.glsl"
#if HAS_CACHE_BLOCKS(K_TYPE) || HAS_CACHE_BLOCKS(V_TYPE)
#error "a block of q8_0 or q4_0 takes more than a group has: gemv_plain.comp, then rope_kv.comp"
#endif

#include "params/gemv_qkv.glsl"

layout(std430, binding = 0) restrict writeonly buffer Layer { uint layer[]; };

#define GEMV_NORM 1
#define HALF_DIM uint(HEAD_DIM / 2)

#include "gemv/gemv.glsl"
#include "gemv/gemv_pairs.glsl"

vec2 rotation; // of the owner's pair at this position
#if HAS_BIAS
vec2 bias;
#endif

void gemv_fetch(uint pair, uint row)
{
#if HAS_BIAS
    bias = gemv_aux(params.bias, pair, row);
#endif
}

void gemv_prepare(uint pair, uint row)
{
#if ADAPTER_IS_BIAS
    bias += gemv_adapter(pair, row);
#endif
    uint own = params.pair_begin + pair * 8u + row; // k begins at a tile
    uint i = (own < params.k_begin ? own : own - params.k_begin) % HALF_DIM;
    vec4 two = gemv_source(params.rope + min(i, max(params.n_rot_pair, 1u) - 1u) / 2u);
    rotation = (i & 1u) == 0u ? two.xy : two.zw;
    rotation = i < params.n_rot_pair ? rotation : vec2(1.0, 0.0);
}

vec2 turn(vec2 y)
{
    vec2 r = rotation;
    return vec2(y.x * r.x - y.y * r.y, y.x * r.y + y.y * r.x);
}

void store_f32(uint at, vec2 y)
{
    layer[at] = floatBitsToUint(y.x);
    layer[at + 1u] = floatBitsToUint(y.y);
}

// Element pair of k or v of this position, in pairs from the start of the cache.
uint cache_pair(uint pair)
{
    return (pair / HALF_DIM * params.n_ctx + state.n_past) * HALF_DIM + pair % HALF_DIM;
}

void store_k(uint pair, vec2 y)
{
    if (pair < params.n_kv_pair) {
#if K_TYPE == CACHE_F32
        store_f32(params.k + 2u * cache_pair(pair), turn(y));
#else
        layer[params.k + cache_pair(pair)] = pack_half(turn(y));
#endif
    }
}

void store_v(uint pair, vec2 y)
{
    if (pair < params.n_kv_pair) {
#if V_TYPE == CACHE_F32
        store_f32(params.v + 2u * cache_pair(pair), y);
#else
        layer[params.v + cache_pair(pair)] = pack_half(y);
#endif
    }
}

void gemv_finish(uint pair, uint row, vec2 y)
{
#if HAS_BIAS
    y += bias;
#endif
    uint p = params.pair_begin + pair * 8u + row;
    if (p >= params.v_begin) {
        store_v(p - params.v_begin, y);
    } else if (p >= params.k_begin) {
        store_k(p - params.k_begin, y);
    } else if (p < params.n_q_pair) {
        store_f32(2u * p, turn(y));
    }
}

void main()
{
    gemv_run();
}
