// Turns q and k of a batch by the rotations of their positions and puts k and v into the cache.
//   first' = first * cos - second * sin,  second' = first * sin + second * cos
//
//   q        (n_tokens, q_stride)    written, pair order
//   qkv      (n_tokens, qkv_stride)  in the row order of the stacked projection (ops/record/weight.h)
//   vectors  table of rotations (n_ctx, n_rot), cos and sin of each pair
//   cache    a layer's k and v, (n_kv_head, n_ctx, head_dim) each, written at n_past + m
//
// With TEMPERATURE q becomes so many times as large: 1 + temperature log(1 + floor(position / period)).
//
// With ROWS (lib/slot.glsl) row m is of slot m, its position and its cache.
//
// An invocation owns one pair of one token, or a uint of a q8_0 or q4_0 cache. Bound by memory.
#define SLOT gl_WorkGroupID.y
#include "lib/common.glsl"
#include "lib/half.glsl"
#include "lib/slot.glsl"

layout(std140, binding = 0) uniform Params
{
    uint q_stride, qkv_stride;
    uint n_q_pair, n_kv_pair; // of a token
    uint q_begin, k_begin, v_begin; // columns of qkv
    uint n_head_pair, n_rot_pair; // of a head
    uint n_ctx;
    uint k, v, k_scale, v_scale; // offsets in cache
    uint rope; // offset of the table in pairs
    uint slot_cache; // uints from one slot's cache to the next's
    float temperature;
    uint period;
} params;

#include "attention/rope_kv.glsl"

vec2 kv_pair(bool is_key, uint token, uint position, uint pair)
{
    return is_key ? turn(read_pair(token, params.k_begin, pair), pair, position)
                  : read_pair(token, params.v_begin, pair);
}

void main()
{
    uint unit = gl_GlobalInvocationID.x;
    uint token = gl_WorkGroupID.y;
    uint position = row_position(token);
    if (!is_row_used(token) || position >= params.n_ctx) {
        return;
    }
    uint n_q = params.n_q_pair;
    uint n_k = params.n_kv_pair / K_UNIT_PAIRS;
    uint n_v = params.n_kv_pair / V_UNIT_PAIRS;
    if (unit < n_q) {
        write_q(token, unit, position, read_pair(token, params.q_begin, unit));
    } else if (unit < n_q + n_k) {
        write_k(token, position, unit - n_q);
    } else if (unit < n_q + n_k + n_v) {
        write_v(token, position, unit - n_q - n_k);
    }
}
