// logits = scale * (W norm / rms + bias), and for each group the largest logit with its index.
//
//   dst     logits (n_vocab) f32 | partial results { f32 value, uint index }
//   source  stream: norm (n_embd), ssq (n_ssq)
//   W       (n_vocab rounded up to 16, n_embd); the rows past n_vocab take no part
//
// The first step of argmax costs nothing here: the logits are in registers. Ties go to the lowest
// index. A NaN or infinity comes before every number, as (infinity, 0xFFFFFFFF): nothing later can
// hide it. A partial result is a group's, or with WG_SIZE 8 an invocation's: there is no barrier
// then. With FINE a group stores FINE of them. Sizes: gemv/gemv.glsl.
#include "lib/common.glsl"

#if !defined(HAS_BIAS) || !defined(SOFTCAP)
#error "HAS_BIAS: 1 if aux holds a bias; SOFTCAP: 1 if logits l become softcap * tanh(l / softcap)"
#endif
#ifndef FINE
#error "FINE: partial results of a group, a power of two that is at most 8; 0: one"
#endif

#include "params/gemv_vocab.glsl"

layout(std430, binding = 0) restrict writeonly buffer Logits { uint logits[]; };

#define GEMV_NORM 1

#include "gemv/gemv.glsl"
#include "gemv/gemv_pairs.glsl"
#include "gemm/no_rows.glsl"
#include "lib/reduce.glsl"
#if SOFTCAP
#include "lib/exp_log.glsl"
#include "lib/soft_cap.glsl"
#endif

const uint infinity_bits = 0x7F800000u;
const uint no_index = 0xFFFFFFFFu;

// The result of an invocation without rows: the most negative number, and an index that no row has.
float best = -3.4028235e38;
uint best_index = no_rows_index;

void take_row(uint row, float y)
{
#if HAS_BIAS
    y += uintBitsToFloat(aux_at(params.bias + row));
#endif
    uint n = params.row_begin + row;
    if (n >= params.n_vocab) {
        return;
    }
    float logit = params.scale * y;
    uint bits = floatBitsToUint(logit);
    bool is_bad = (bits & infinity_bits) == infinity_bits;
#if SOFTCAP
    logit = soft_cap(logit, params.softcap);
    bits = is_bad ? bits : floatBitsToUint(logit);
#endif
    logits[n] = bits;
    logit = is_bad ? uintBitsToFloat(infinity_bits) : logit;
    n = is_bad ? no_index : n;
    if (ranks_before(logit, n, best, best_index)) {
        best = logit;
        best_index = n;
    }
}

void gemv_fetch(uint pair, uint row) {}

void gemv_prepare(uint pair, uint row) {}

void gemv_finish(uint pair, uint row, vec2 y)
{
    take_row(pair * 16u + row, y.x);
    take_row(pair * 16u + row + 8u, y.y);
}

#if DOT && WG_SIZE > 8
// The group's largest logit, as a number that grows with it, and its index. Atomics take fewer
// instructions than a tree and a third of the barriers.
shared uint group_best, group_index;

uint order_of(float x)
{
    uint bits = floatBitsToUint(x == 0.0 ? 0.0 : x);
    return bits ^ ((bits >> 31u) == 0u ? 0x80000000u : 0xFFFFFFFFu);
}

float value_of(uint order)
{
    return uintBitsToFloat(order ^ ((order >> 31u) == 0u ? 0xFFFFFFFFu : 0x80000000u));
}

// Leaves the best of the group in best and best_index.
void find_best()
{
    if (gl_LocalInvocationIndex == 0u) {
        group_best = 0u;
        group_index = 0xFFFFFFFFu;
    }
    group_barrier();
    uint own = order_of(best);
    atomicMax(group_best, own);
    group_barrier();
    if (own == group_best) {
        atomicMin(group_index, best_index);
    }
    group_barrier();
    best = value_of(group_best);
    best_index = group_index;
}
#endif

void main()
{
    gemv_run();
    // n_pair is never 0 and below 2^31: bounds of loops that compilers cannot know.
#if WG_SIZE == 8 && PIECES
    uint at = params.partial + 2u * (GEMV_GROUP * 8u + gl_LocalInvocationIndex);
#elif WG_SIZE == 8
    uint at = params.partial + 2u * gl_GlobalInvocationID.x;
#elif FINE
    reduce_max_to(best, best_index, GEMV_REDUCED, uint(FINE) + (params.n_pair >> 31u));
    uint lane = gl_LocalInvocationIndex;
    uint at = params.partial + 2u * (GEMV_GROUP * uint(FINE) + lane);
    best = reduce_values[lane % uint(FINE)];
    best_index = reduce_indices[lane % uint(FINE)];
    if (lane < uint(FINE))
#elif GEMV_SPLIT && SUBGROUP >= GEMV_OWNERS
    for (uint n = 1u; n < uint(GEMV_OWNERS); n *= 2u) {
        float other = subgroupShuffleXor(best, n);
        uint other_index = subgroupShuffleXor(best_index, n);
        if (ranks_before(other, other_index, best, best_index)) {
            best = other;
            best_index = other_index;
        }
    }
    uint at = params.partial + 2u * GEMV_GROUP;
    if (gl_LocalInvocationIndex == 0u)
#else
#if DOT
    find_best();
#else
    reduce_max(best, best_index, GEMV_REDUCED, 1u + (params.n_pair >> 31u));
#endif
    uint at = params.partial + 2u * GEMV_GROUP;
    if (gl_LocalInvocationIndex == 0u)
#endif
    {
        logits[at] = floatBitsToUint(best);
        logits[at + 1u] = best_index;
    }
}
