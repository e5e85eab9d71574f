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

#include "lib/rope_kv.glsl"

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
        write_q(token, pair, position, read_pair(token, params.q_begin, pair));
    } else if (pair < n_q + n_kv) {
        pair -= n_q;
        write_k(pair, position, read_pair(token, params.k_begin, pair));
    } else if (pair < n_q + 2u * n_kv) {
        pair -= n_q + n_kv;
        write_v(pair, position, read_pair(token, params.v_begin, pair));
    }
}
