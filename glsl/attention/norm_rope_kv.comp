// Norms q and k, then does what rope_kv.comp does:
//   x' = x * gamma / sqrt(mean(x^2) + eps) over a head, or over all of q and of k; then turned
// or, with NORM_LAST, turned before gamma, which leaves the mean as it is. With VALUE_NORM heads of v
// are normed too, without gamma. With LAYERNORM x is less its mean first, and each head has a gamma of its
// own.
//
//   q        (n_tokens, q_stride)    written, pair order
//   qkv      (n_tokens, qkv_stride)  in the row order of the stacked projection (ops/record/weight.h)
//   vectors  table of rotations (n_ctx, n_rot), gamma of q and of k in pair order
//   cache    a layer's k and v, (n_kv_head, n_ctx, head_dim) each, written at n_past + m
//
// With ROWS (lib/slot.glsl) row m is of slot m, its position and its cache.
//
// A group owns what one norm is over, of one token; without VALUE_NORM groups of v only copy. In a decode step q and
// cache are parts of one range. Reads each element twice, the second time from the cache: bound by
// memory.
#define SLOT gl_WorkGroupID.y
#include "lib/common.glsl"
#include "lib/half.glsl"
#include "lib/reduce.glsl"
#include "lib/slot.glsl"

#ifndef NORM_LAST
#define NORM_LAST 0
#endif
#ifndef VALUE_NORM
#define VALUE_NORM 0
#endif
#ifndef LAYERNORM
#define LAYERNORM 0
#endif

#include "params/norm_rope_kv.glsl"

#include "attention/rope_kv.glsl"

// A group owns pairs [first, first + n_pair) of q, k or v.
struct Share {
    uint section; // 0 q, 1 k, 2 v
    uint begin;   // column of the section
    uint first, n_pair;
    uint gamma;
};

Share share;
float scale; // that the norm gives
#if LAYERNORM
float mean; // that it takes away
#endif

Share make_share(uint group)
{
    uint gamma_step = uint(LAYERNORM), n_q_group = params.n_q_pair / params.q_norm_pair;
    uint n_kv_group = params.n_kv_pair / params.kv_norm_pair;
    if (group < n_q_group) {
        return Share(0u, params.q_begin, group * params.q_norm_pair, params.q_norm_pair,
                     params.q_gamma + gamma_step * group * params.q_norm_pair);
    }
    group -= n_q_group;
    bool is_k = group < n_kv_group;
    group = is_k ? group : group - n_kv_group;
    return Share(is_k ? 1u : 2u, is_k ? params.k_begin : params.v_begin,
                 group * params.kv_norm_pair, params.kv_norm_pair,
                 params.k_gamma + gamma_step * group * params.kv_norm_pair);
}

// A pair of what the norm is over.
vec2 own_pair(uint token, uint pair)
{
#if LAYERNORM
    return read_pair(token, share.begin, pair) - vec2(mean);
#else
    return read_pair(token, share.begin, pair);
#endif
}

#if LAYERNORM
float own_total(uint token)
{
    float sum = 0.0;
    for (uint i = gl_LocalInvocationIndex; i < share.n_pair; i += uint(WG_SIZE)) {
        vec2 value = read_pair(token, share.begin, share.first + i);
        sum += value.x + value.y;
    }
    return sum;
}
#endif

float own_sum(uint token)
{
    float sum = 0.0;
    for (uint i = gl_LocalInvocationIndex; i < share.n_pair; i += uint(WG_SIZE)) {
        vec2 value = own_pair(token, share.first + i);
        sum += dot(value, value);
    }
    return sum;
}

vec2 normed_pair(uint token, uint pair)
{
    return own_pair(token, pair) * scale * vectors[share.gamma + pair - share.first];
}

#if NORM_LAST
vec2 turned_pair(uint token, uint position, uint pair)
{
    vec2 value = own_pair(token, pair) * scale;
    return turn(value, pair, position) * vectors[share.gamma + pair - share.first];
}
#else
vec2 turned_pair(uint token, uint position, uint pair)
{
    return turn(normed_pair(token, pair), pair, position);
}
#endif

vec2 kv_pair(bool is_key, uint token, uint position, uint pair)
{
    return is_key ? turned_pair(token, position, pair)
                  : (VALUE_NORM == 1 ? scale : 1.0) * read_pair(token, share.begin, pair);
}

void write_share(uint token, uint position)
{
    uint unit_pairs = share.section == 0u ? 1u : share.section == 1u ? K_UNIT_PAIRS : V_UNIT_PAIRS;
    uint end = (share.first + share.n_pair) / unit_pairs;
    uint unit = share.first / unit_pairs + gl_LocalInvocationIndex;
    for (; unit < end; unit += uint(WG_SIZE)) {
        if (share.section == 0u) {
            q[token * params.q_stride / 2u + unit] = turned_pair(token, position, unit);
        } else if (share.section == 1u) {
            write_k(token, position, unit);
        } else {
            write_v(token, position, unit);
        }
    }
}

void main()
{
    bool is_used = is_row_used(gl_WorkGroupID.y);
    uint token = is_used ? gl_WorkGroupID.y : 0u;
    uint position = row_position(token);
    share = make_share(gl_WorkGroupID.x);
#if LAYERNORM
    mean = reduce_sum(own_total(token), uint(WG_SIZE)) / float(2u * share.n_pair);
    group_barrier();
#endif
    float square = reduce_sum(own_sum(token), uint(WG_SIZE)) / float(2u * share.n_pair);
    scale = inversesqrt(square + params.eps);
    if (is_used && position < params.n_ctx) {
        write_share(token, position);
    }
}
