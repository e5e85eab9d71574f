// The sums by which a transcript's token is chosen: of the text that may follow, of the timestamps
// that may follow and of all other tokens the largest logit and the sum of exp(logit - largest), in
// the share of each group.
//
//   table   bits of the ids that never follow, at `suppressed`                    (binding 0)
//   logits  (n_vocab) f32 | rules at `rules` | (groups, GROUP_WORDS) at `sums`    (binding 1, written)
//
// A group takes n_vocab / groups neighbouring logits, an invocation every WG_SIZE-th of those. Reads
// 4 bytes a token and a bit, next to nothing beside gemv_vocab.
#include "lib/common.glsl"
#include "lib/group.glsl"
#include "lib/exp_log.glsl"
#include "lib/reduce.glsl"
#include "sample/best.glsl"

layout(std430, binding = 0) restrict readonly buffer Table { uint table[]; };
layout(std430, binding = 1) restrict buffer Logits { uint logits[]; };

#include "params/speech_sums.glsl"
#include "lib/speech_kinds.glsl"

#define EXPONENT 0x7F800000u

shared uint n_unsound;

bool is_within(uint id, uvec2 ids)
{
    return id >= ids.x && id < ids.y;
}

void write_kind(uint k, Kind kind)
{
    if (gl_LocalInvocationIndex == 0u) {
        uint at = params.sums + gl_WorkGroupID.x * GROUP_WORDS + k * KIND_WORDS;
        logits[at] = floatBitsToUint(kind.most);
        logits[at + 1u] = k == 0u && n_unsound > 0u ? UNSOUND : kind.id;
        logits[at + 2u] = floatBitsToUint(kind.sum);
    }
}

void main()
{
    uint share = (params.n_vocab - 1u) / gl_NumWorkGroups.x + 1u, begin = gl_WorkGroupID.x * share;
    uint end = min(begin + share, params.n_vocab), banned = logits[BANNED];
    uvec2 text_ids = uvec2(logits[TEXT], logits[TEXT + 1u]);
    uvec2 time_ids = uvec2(logits[TIMES], logits[TIMES + 1u]);
    Kind text = Kind(LOWEST, 0.0, NO_ID), times = text, others = text;
    if (gl_LocalInvocationIndex == 0u) {
        n_unsound = 0u;
    }
    group_barrier();
    for (uint id = begin + gl_LocalInvocationIndex; id < end; id += uint(WG_SIZE)) {
        uint bits = logits[id];
        bool is_allowed =
            id != banned && (table[params.suppressed + id / 32u] >> (id % 32u) & 1u) == 0u;
        if ((bits & EXPONENT) == EXPONENT) {
            atomicAdd(n_unsound, 1u);
        } else if (is_allowed && is_within(id, text_ids)) {
            add_kind(text, uintBitsToFloat(bits), id, 1.0);
        } else if (is_allowed && is_within(id, time_ids)) {
            add_kind(times, uintBitsToFloat(bits), id, 1.0);
        } else {
            add_kind(others, uintBitsToFloat(bits), id, 1.0);
        }
    }
    for (uint k = 0u; k < N_KINDS; k++) {
        Kind kind = others;
        if (k == 0u) {
            kind = text;
        } else if (k == 1u) {
            kind = times;
        }
        join_kind(kind);
        write_kind(k, kind);
    }
}
