// Logits and partial maxima as gemv_vocab stores them, their maximum, and scratch data of kernels
// after them at word `scratch`. Needs WG_SIZE, sample/best.glsl and sample/stop_id.glsl; LOGITS_SHARED
// where groups write.
#include "gemm/no_rows.glsl"

#ifdef LOGITS_SHARED
layout(std430, binding = 1) restrict coherent buffer Logits { uint logits[]; };
#else
layout(std430, binding = 1) restrict readonly buffer Logits { uint logits[]; };
#endif

#include "params/argmax.glsl"

// A bound that the compiler does not know, so that it leaves the loop alone: with the loops over
// chunks and bins unrolled the compiler for T860 took nearly twice as long.
uint bound(uint n)
{
    return n + (params.n_vocab >> 31u);
}

#define N_TOGETHER 4u // logits that an invocation asks for at once

// Returns the logits i, i + WG_SIZE ..., which may be past the last, as bits.
uvec4 load_logits(uint i)
{
    uvec4 at = min(i + uvec4(0u, 1u, 2u, 3u) * uint(WG_SIZE), uvec4(params.n_vocab - 1u));
    return uvec4(logits[at.x], logits[at.y], logits[at.z], logits[at.w]);
}

// Takes an invocation's share of the partial results.
void look_at_partials(inout uint key, inout uint id)
{
    for (uint i = gl_LocalInvocationIndex; i < params.n_partial; i += uint(WG_SIZE)) {
        uint other = key_of(logits[params.partial + 2u * i]);
        uint at = logits[params.partial + 2u * i + 1u];
        bool has_rows = at != no_rows_index;
        other = at < params.n_vocab ? other : has_rows ? 0xFFFFFFFFu : 0u; // comes before all, and shows
        if (is_better(other, at, key, id)) {
            key = other;
            id = at;
        }
    }
}

// Takes an invocation's share of the logits themselves, leaving the stop ids out.
void look_at_allowed(inout uint key, inout uint id)
{
    for (uint i = gl_LocalInvocationIndex; i < params.n_vocab; i += uint(WG_SIZE)) {
        uint other = key_of(logits[i]);
        if (is_better(other, i, key, id) && !is_stop_id(i)) {
            key = other;
            id = i;
        }
    }
}

// Finds the largest logit as a key and the lowest id that has it; with is_without_stops of all but
// the stop ids. False, in all invocations alike, if a work group of gemv_vocab saw a NaN or an
// infinity, if an id is out of range, or if all are stop ids. A loop, because find_best, whose
// barriers cost compilers most, stands in it once.
bool find_largest(bool is_without_stops, out uint key, out uint id)
{
    bool is_sound = false;
    for (uint round = 0u; round < bound(2u); round++) { // the same in all invocations
        key = 0u;
        id = NO_ID;
        if (round == 0u) {
            look_at_partials(key, id);
        } else {
            look_at_allowed(key, id);
        }
        find_best(key, id);
        is_sound = id < params.n_vocab;
        if (!is_without_stops || !is_sound || !is_stop_id(id)) {
            break;
        }
    }
    return is_sound;
}
