// The third stage of a choice among many candidates (lib/many.glsl): the finer bin that the cut lies in, the
// elements in it, and the best of the draw among those before.
//
//   list    behind its head, which counts what groups append; then their bests  (binding 0)
//   logits  with the finer bins at from_at                                       (binding 1)
//
// A cut by number that one by mass follows draws nothing.
#ifndef WG_SIZE
#error "WG_SIZE: invocations of the work group"
#endif
#include "lib/common.glsl"
#include "lib/step_state.glsl"
#include "lib/stop_id.glsl"
#include "lib/best.glsl"
#include "lib/logits.glsl"
#include "lib/exp_log.glsl"
#include "lib/philox.glsl"
#include "lib/mass.glsl"
#include "lib/draw.glsl"
#include "lib/many.glsl"

layout(local_size_x = WG_SIZE) in;

layout(std430, binding = 0) restrict buffer List { uint list[]; };

void append(uint key, uint id)
{
    uint at = atomicAdd(list[0], 1u);
    if (at < LIST_ROOM) {
        list[HEAD + 2u * at] = key;
        list[HEAD + 2u * at + 1u] = id;
    }
}

void main()
{
    bool is_sound = take_largest(), is_by_mass = by_mass != 0u;
    bool is_last = is_by_mass || wanted_top_p() == 1.0;
    uint bin_found = logits[from_at], best = 0u, best_id = NO_ID;
    load_bins(from_at);
    Crossing at = find_crossing(is_by_mass, uvec2(logits[from_at + 1u], logits[from_at + 2u]));
    uvec2 before = uvec2(logits[from_at + 3u], logits[from_at + 4u]);
    if (!is_last) {
        before = add_mass(before, mass_of_bins(at.bin));
    }
    Span span = narrowed(whole_span(), bin_found);
    uint first = span.first + (min(at.bin, (span.last - span.first) >> span.shift) << span.shift);
    uint last = first + min((1u << span.shift) - 1u, span.last - first);
    take_share(is_sound);
    for (uint i = begin + gl_LocalInvocationIndex; i < end; i += uint(WG_SIZE)) {
        uint key = key_of(logits[i]), bin = bin_of(key);
        if (bin > bin_found || (bin == bin_found && ~key > last) || !is_allowed(i)) {
            continue;
        }
        if (bin == bin_found && ~key >= first) {
            append(key, i);
        } else if (is_last) {
            uint score = draw_key(value_of(key) - max_logit, lowest, i);
            best_id = score > best ? i : best_id;
            best = max(best, score);
        }
    }
    find_best(best, best_id);
    if (gl_LocalInvocationIndex == 0u) {
        list[BESTS_AT + 2u * gl_WorkGroupID.x] = best;
        list[BESTS_AT + 2u * gl_WorkGroupID.x + 1u] = best_id;
        if (gl_WorkGroupID.x == 0u) {
            list[1] = bin_found;
            list[2] = first;
            list[3] = last;
            list[4] = at.rest.x;
            list[5] = at.rest.y;
            list[6] = before.x;
            list[7] = before.y;
        }
    }
}
