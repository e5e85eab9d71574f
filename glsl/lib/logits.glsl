// Logits and partial maxima as gemv_vocab leaves them, and their maximum. Needs WG_SIZE,
// lib/best.glsl and lib/step.glsl.
layout(std430, binding = 1) restrict readonly buffer Logits { uvec4 logits[]; };

layout(std140, binding = 0) uniform Params
{
    uint n_vocab;
    uint n_partial;
    uint partial; // offset in words, a multiple of 4
};

// The largest logit as a key and the lowest id that has it. False, in all invocations alike, if a
// work group of gemv_vocab saw a NaN or an infinity or if an id is out of range.
bool find_largest(out uint key, out uint id)
{
    key = 0u;
    id = 0xFFFFFFFFu;
    uint worst = 0u; // the largest id
    for (uint i = gl_LocalInvocationIndex; 2u * i < n_partial; i += uint(WG_SIZE)) {
        uvec4 pair = logits[partial / 4u + i];
        bool has_second = 2u * i + 1u < n_partial;
        worst = max(worst, max(pair.y, has_second ? pair.w : 0u));
        uint first = key_of(pair.x);
        if (is_better(first, pair.y, key, id)) {
            key = first;
            id = pair.y;
        }
        uint second = key_of(pair.z);
        if (has_second && is_better(second, pair.w, key, id)) {
            key = second;
            id = pair.w;
        }
    }
    uint unused = 0u;
    find_best(worst, unused);
    find_best(key, id);
    return worst < n_vocab && id < n_vocab;
}

// The same over the logits themselves, leaving the stop ids out; false if there are no others.
bool find_largest_allowed(out uint key, out uint id)
{
    key = 0u;
    id = 0xFFFFFFFFu;
    for (uint i = gl_LocalInvocationIndex; 4u * i < n_vocab; i += uint(WG_SIZE)) {
        uvec4 bits = logits[i];
        for (uint c = 0u; c < 4u; c++) {
            uint at = 4u * i + c;
            uint other = key_of(bits[c]);
            if (at < n_vocab && is_better(other, at, key, id) && !is_stop_id(at)) {
                key = other;
                id = at;
            }
        }
    }
    find_best(key, id);
    return id < n_vocab;
}
