// What sample_few.comp needs of all logits where no small top_k says which of them matter, a share a group: the
// mass sum(exp(logit - max)) or, where nothing but min_p filters, the best of the draw.
//
//   scans   (groups) of { mass low, mass high, score as a key, id }  (binding 0, written)
//   logits  as sample_few.comp reads them                            (binding 1)
//
// A group takes n_vocab / groups neighbouring logits, and finds the largest of all from the partial results
// as that does. With ban_stop stop ids are left out, unless log-probabilities are wanted, which are
// those of all; what is drawn then is left to sample.comp. Drawing takes some 150 operations a logit: with
// 49,152 logits sample.comp alone takes 63 us on an H200, with 128,256 149 us, and both kernels 14 and 16.
#ifndef WG_SIZE
#error "WG_SIZE: invocations of the work group"
#endif
#include "lib/common.glsl"
#include "lib/step_state.glsl"
#include "sample/stop_id.glsl"
#include "sample/best.glsl"
#include "sample/logits.glsl"
#include "lib/exp_log.glsl"
#include "sample/philox.glsl"
#include "sample/mass.glsl"
#include "sample/draw.glsl"

layout(local_size_x = WG_SIZE) in;

layout(std430, binding = 0) restrict writeonly buffer Scans { uvec4 scans[]; };

shared uint mass_lo, mass_hi;

// The sum over the group.
uvec2 sum_masses(uvec2 mass)
{
    barrier();
    if (gl_LocalInvocationIndex == 0u) {
        mass_lo = 0u;
        mass_hi = 0u;
    }
    barrier();
    uint old = atomicAdd(mass_lo, mass.x);
    atomicAdd(mass_hi, mass.y + (old + mass.x < old ? 1u : 0u));
    barrier();
    return uvec2(mass_lo, mass_hi);
}

void main()
{
    bool has_bans = state.ban_stop != 0u && state.n_probs == 0u;
    bool has_draw = draws_from_all(has_bans), has_mass = !has_draw || state.n_probs > 0u;
    uint largest, id;
    bool is_sound = find_largest(largest, id);
    if (is_sound && has_bans && is_stop_id(id)) { // the same in all invocations
        is_sound = find_largest_allowed(largest, id);
    }
    max_logit = value_of(largest);
    float lowest = lowest_drawn();
    uvec2 mass = uvec2(0u);
    uint best = 0u, best_id = 0xFFFFFFFFu;
    uint share = (n_vocab - 1u) / gl_NumWorkGroups.x + 1u, begin = gl_WorkGroupID.x * share;
    uint end = is_sound ? min(begin + share, n_vocab) : 0u;
    for (uint i = begin + gl_LocalInvocationIndex; i < end; i += uint(WG_SIZE)) {
        uint key = key_of(logits[i]);
        bool is_in = !(has_bans && is_stop_id(i));
        if (has_mass && is_in) {
            mass = add_mass(mass, mass_of(key));
        }
        if (has_draw && is_in) {
            uint score = draw_key(value_of(key) - max_logit, lowest, i);
            best_id = score > best ? i : best_id;
            best = max(best, score);
        }
    }
    mass = sum_masses(mass);
    find_best(best, best_id);
    if (gl_LocalInvocationIndex == 0u) {
        scans[gl_WorkGroupID.x] = uvec4(mass, best, best_id);
    }
}
