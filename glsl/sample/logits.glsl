// Logits and partial maxima as gemv_vocab leaves them, and their maximum. Needs WG_SIZE,
// sample/best.glsl and sample/stop_id.glsl.
#include "gemm/no_rows.glsl"

#if defined(LOGITS_SHARED) // by groups that write
layout(std430, binding = 1) restrict coherent buffer Logits { uint logits[]; };
#elif defined(LOGITS_WRITTEN)
layout(std430, binding = 1) restrict buffer Logits { uint logits[]; };
#else
layout(std430, binding = 1) restrict readonly buffer Logits { uint logits[]; };
#endif

layout(std140, binding = 0) uniform Params
{
    uint n_vocab;
    uint n_partial;
    uint partial; // offset in words
    // A group of gemv_vocab owns every row_step-th of block_rows rows, counted from the first of the
    // part_rows of its part; block_rows is 0 if not all do.
    uint block_rows, row_step, part_rows;
    uint scan, n_scan; // what sample_scan leaves: offset in words, groups; 0 without it
    uint choice_at;    // of sample_few: offset in words; 0 without it
    uint many_at, n_many; // of sample/many.glsl: offset in words, groups
};

// A bound that the compiler does not know, so that it leaves the loop alone: with the loops over chunks
// and bins unrolled the compiler for T860 took nearly twice as long.
uint bound(uint n)
{
    return n + (n_vocab >> 31u);
}

#define N_TOGETHER 4u // logits that an invocation asks for at once

// Of the logits i, i + WG_SIZE ..., which may be past the last.
uvec4 load_logits(uint i)
{
    uvec4 at = min(i + uvec4(0u, 1u, 2u, 3u) * uint(WG_SIZE), uvec4(n_vocab - 1u));
    return uvec4(logits[at.x], logits[at.y], logits[at.z], logits[at.w]);
}

uvec4 load_keys(uint i)
{
    uvec4 bits = load_logits(i);
    return uvec4(key_of(bits.x), key_of(bits.y), key_of(bits.z), key_of(bits.w));
}

// Takes an invocation's share of the partial results.
void look_at_partials(inout uint key, inout uint id)
{
    for (uint i = gl_LocalInvocationIndex; i < n_partial; i += uint(WG_SIZE)) {
        uint other = key_of(logits[partial + 2u * i]);
        uint at = logits[partial + 2u * i + 1u];
        bool has_rows = at != no_rows_index;
        other = at < n_vocab ? other : has_rows ? 0xFFFFFFFFu : 0u; // comes before all, and shows
        if (is_better(other, at, key, id)) {
            key = other;
            id = at;
        }
    }
}

// Of the logits themselves, leaving the stop ids out.
void look_at_allowed(inout uint key, inout uint id)
{
    for (uint i = gl_LocalInvocationIndex; i < n_vocab; i += uint(WG_SIZE)) {
        uint other = key_of(logits[i]);
        if (is_better(other, i, key, id) && !is_stop_id(i)) {
            key = other;
            id = i;
        }
    }
}

// The largest of all logits, or of all but the stop ids', as a key, and the lowest id that has it; see find_largest.
bool find_largest_of(bool is_allowed, out uint key, out uint id)
{
    key = 0u;
    id = 0xFFFFFFFFu;
    if (is_allowed) {
        look_at_allowed(key, id);
    } else {
        look_at_partials(key, id);
    }
    find_best(key, id);
    return id < n_vocab;
}

// The largest logit as a key and the lowest id that has it. False, in all invocations alike, if a
// work group of gemv_vocab saw a NaN or an infinity or if an id is out of range.
bool find_largest(out uint key, out uint id)
{
    return find_largest_of(false, key, id);
}

// The same over all but the stop ids; false if there are no others.
bool find_largest_allowed(out uint key, out uint id)
{
    return find_largest_of(true, key, id);
}

// Either, as it is wanted: find_best, whose barriers cost compilers most, stands there once.
bool find_largest_wanted(bool has_bans, out uint key, out uint id)
{
    bool is_sound = false;
    for (uint round = 0u; round < bound(2u); round++) { // the same in all invocations
        is_sound = find_largest_of(round > 0u, key, id);
        if (!has_bans || !is_sound || !is_stop_id(id)) {
            break;
        }
    }
    return is_sound;
}
