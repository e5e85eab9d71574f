// Logits and partial maxima as gemv_vocab leaves them, and their maximum. Needs WG_SIZE and
// lib/best.glsl.
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
