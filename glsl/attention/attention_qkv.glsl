// The input of attention_vec8.comp as the projection of q, k and v leaves it: in the row order of
// ops/record/weight.h, not yet normed (NORM 1: each head of q and k by itself), not yet rotated.
//
//   qkv      (n_rows), with ROWS a row for each slot
//   vectors  table of rotations (n_ctx, n_rot), gamma of q and of k in pair order
//
// The subgroup that has the token's own key among its keys computes it, and its value; of the heads
// of a kv head the first one's writes both into the cache. Nobody waits for these writes: no other
// group reads them in this step. With CONSUMES 1 all inputs are consumed by their tags, so that no
// edge of a layer is a barrier. Rotations are of whole vec8s: n_rot is a multiple of 8. Loads that
// do not depend on q, k and v come before theirs.
#include "lib/half.glsl"

#ifndef NORM
#error "NORM: 1 if heads of q and k are normed"
#endif
#ifndef CONSUMES
#define CONSUMES 0
#endif
#if HAS_CACHE_BLOCKS(K_TYPE) || HAS_CACHE_BLOCKS(V_TYPE)
#error "a block of q8_0 or q4_0 is more than a vec8"
#endif

layout(std430, binding = 1) restrict readonly buffer Qkv { vec4 qkv[]; };
layout(std430, binding = 2) restrict readonly buffer Vectors { vec4 vectors[]; };

#if ROWS
#define QKV_BEGIN (SLOT * (params.q_stride / 4u))
#else
#define QKV_BEGIN 0u
#endif

// Firsts and seconds of the four pairs of a vec8.
struct Pairs {
    vec4 x, y;
};

Pairs rotation; // cosines and sines
Row fresh;      // the token's own, where has_fresh

// Returns the place of the invocation's vec8 of a head's row that begins at quad `begin` of qkv.
uint vec8_at(uint begin, uint head)
{
    uint vec8 = head * uint(N_VEC8) + gl_LocalInvocationIndex % uint(N_VEC8);
    return QKV_BEGIN + begin + vec8 / 2u * 4u + vec8 % 2u;
}

Pairs split_pairs(vec4 low, vec4 high)
{
    return Pairs(vec4(low.xz, high.xz), vec4(low.yw, high.yw));
}

Pairs load_pairs(uint at)
{
    return Pairs(qkv[at], qkv[at + 2u]);
}

#if CONSUMES && defined(STAGE)
uint wrong_pairs(Pairs p)
{
    return grid_wrong(grid_expected, p.x, uvec4(grid_care)) | grid_wrong(grid_expected, p.y, uvec4(grid_care));
}
#endif

// Returns the invocation's vec8 of vectors that begin at a quad.
Pairs load_vectors(uint begin)
{
    uint at = begin + 2u * (gl_LocalInvocationIndex % uint(N_VEC8));
    return split_pairs(vectors[at], vectors[at + 1u]);
}

// Returns pairs normed, with their gamma, and rotated.
Pairs rotate_pairs(Pairs p, Pairs gamma)
{
#if NORM
    float ssq = sum_lanes(dot(p.x, p.x) + dot(p.y, p.y), 1, N_VEC8);
    float inverse = inversesqrt(ssq / float(HEAD_DIM) + params.norm_eps);
    p = Pairs(p.x * inverse * gamma.x, p.y * inverse * gamma.y);
#endif
    return Pairs(p.x * rotation.x - p.y * rotation.y, p.x * rotation.y + p.y * rotation.x);
}

void join_pairs(Pairs p, out vec4 low, out vec4 high)
{
    low = vec4(p.x.x, p.y.x, p.x.y, p.y.y);
    high = vec4(p.x.z, p.y.z, p.x.w, p.y.w);
}

// Packs a vec8 as the cache has it.
void pack_vec8(int type, vec4 low, vec4 high, out uvec4 first, out uvec4 second)
{
    second = uvec4(0u);
    if (type == CACHE_F32) {
        first = floatBitsToUint(low);
        second = floatBitsToUint(high);
    } else {
        first = uvec4(pack_half(low.xy), pack_half(low.zw), pack_half(high.xy), pack_half(high.zw));
    }
}

void write_vec8(int type, uint data, uint row, uvec4 first, uvec4 second)
{
    uint vec8 = gl_LocalInvocationIndex % uint(N_VEC8);
    if (type == CACHE_F32) {
        uint at = CACHE_BEGIN + data + 2u * (row * uint(N_VEC8) + vec8);
        cache[at] = first;
        cache[at + 1u] = second;
    } else {
        cache[CACHE_BEGIN + data + row * uint(N_VEC8) + vec8] = first;
    }
}

// Returns true if the token's own key is one of the subgroup's; the same in all of it.
bool has_fresh(Share share)
{
    uint own = share.n_key - 1u, row = own / uint(N_SLOT) - share.seen / uint(N_SLOT);
    uint range = share.is_alone ? 0u : row % uint(RANGES);
    uint first = own % uint(N_SLOT) * uint(N_VEC8); // invocation that has the key's first vec8
    return gl_WorkGroupID.x == range &&
           gl_LocalInvocationIndex / uint(SUBGROUP) == first / uint(SUBGROUP);
}

// Writes the token's key and value, once for the heads that share a kv head.
void write_fresh(Share share)
{
    uint n_rep = params.n_head / params.n_kv_head;
    if (share.head % n_rep == 0u && state.n_past < params.n_ctx &&
        gl_LocalInvocationIndex % uint(SUBGROUP) < uint(N_VEC8)) {
        uint row = share.first_row + state.n_past;
        write_vec8(K_TYPE, params.k, row, fresh.key_first, fresh.key_second);
        write_vec8(V_TYPE, params.v, row, fresh.value_first, fresh.value_second);
    }
}

void begin_head(Share share)
{
    uint vec8 = gl_LocalInvocationIndex % uint(N_VEC8), kv_head = share.first_row / params.n_ctx;
    rotation = Pairs(vec4(1.0), vec4(0.0));
    if (8u * vec8 < params.n_rot) {
        rotation = load_vectors(params.rope + (share.n_key - 1u) * params.rope_stride);
    }
    Pairs q_gamma = rotation, k_gamma = rotation;
#if NORM
    q_gamma = load_vectors(params.q_gamma);
    k_gamma = load_vectors(params.k_gamma);
#endif
    uint q_at = vec8_at(params.q_begin, share.head), k_at = vec8_at(params.k_begin, kv_head);
    uint v_at = vec8_at(params.v_begin, kv_head);
    Pairs q = load_pairs(q_at), k = load_pairs(k_at), v = load_pairs(v_at);
#if CONSUMES && defined(STAGE)
    GRID_CONSUME_WHILE((wrong_pairs(q) | wrong_pairs(k) | wrong_pairs(v)) != 0u,
                    q = load_pairs(q_at); k = load_pairs(k_at); v = load_pairs(v_at);)
#endif
    vec4 a, b;
    join_pairs(rotate_pairs(q, q_gamma), a, b);
    open_head(a, b);
    if (has_fresh(share)) {
        join_pairs(rotate_pairs(k, k_gamma), a, b);
        pack_vec8(K_TYPE, a, b, fresh.key_first, fresh.key_second);
        join_pairs(v, a, b);
        pack_vec8(V_TYPE, a, b, fresh.value_first, fresh.value_second);
        write_fresh(share);
    }
}

void renew_row(Share share, inout Row row, uint own)
{
    if (own == share.n_key - 1u) {
        row = fresh;
    }
}

// Replaces the token's own key and value, which are in the last tile of all.
void renew_tile(Share share, inout Tile tile, uint key)
{
    uint first = key - gl_LocalInvocationIndex / uint(N_VEC8);
    if (first + 3u * share.stride + uint(N_SLOT) < share.n_key) { // the same in all of the group
        return;
    }
    renew_row(share, tile.a, key);
    renew_row(share, tile.b, key + share.stride);
    renew_row(share, tile.c, key + 2u * share.stride);
    renew_row(share, tile.d, key + 3u * share.stride);
}
