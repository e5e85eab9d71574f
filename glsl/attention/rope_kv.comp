// Turns q and k of a batch by the rotations of their positions and puts k and v into the cache.
//   first' = first * cos - second * sin,  second' = first * sin + second * cos
//
//   q        (n_tokens, q_stride)    written, pair order
//   qkv      (n_tokens, qkv_stride)  in the row order of the stacked projection (ops/record/weight.h)
//   vectors  table of rotations (n_ctx, n_rot), cos and sin of each pair
//   cache    a layer's k and v, (n_kv_head, n_ctx, head_dim) each, written at n_past + m
//
// With TEMPERATURE q is multiplied by 1 + temperature log(1 + floor(position / period)).
//
// With ROWS (lib/slot.glsl) row m is of slot m, its position and its cache.
//
// An invocation owns one pair of one token, or a uint of a q8_0 or q4_0 cache. Bound by memory.
#define SLOT gl_WorkGroupID.y
#include "lib/common.glsl"
#include "lib/half.glsl"
#include "lib/slot.glsl"

#include "params/rope_kv.glsl"

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
