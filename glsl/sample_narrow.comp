// The second stage of a choice among many candidates (lib/many.glsl): the bin that the cut lies in, and numbers and
// masses of what is in it by finer bins.
//
//   finer   (groups) of counts and masses, behind a head         (binding 0, written)
//   logits  with the bins at bins_at and, for the cut by mass after that by number, the list at list_at
//           (binding 1)
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
#include "lib/settle.glsl"

layout(local_size_x = WG_SIZE) in;

layout(std430, binding = 0) restrict writeonly buffer Finer { uint finer[]; };

shared uint left_lo, left_hi;

// The mass of what the cut by number leaves.
uvec2 mass_left(bool is_sound)
{
    settle_cut(false, is_sound);
    uvec2 mass = uvec2(0u);
    for (uint i = gl_LocalInvocationIndex; i < n_element; i += uint(WG_SIZE)) {
        uvec2 element = read_element(i);
        if (is_left(element)) {
            mass = add_mass(mass, mass_of(element.x));
        }
    }
    barrier();
    if (gl_LocalInvocationIndex == 0u) {
        left_lo = is_listed ? logits[list_at + 6u] : 0u;
        left_hi = is_listed ? logits[list_at + 7u] : 0u;
    }
    barrier();
    uint old = atomicAdd(left_lo, mass.x);
    atomicAdd(left_hi, mass.y + (old + mass.x < old ? 1u : 0u));
    barrier();
    return uvec2(left_lo, left_hi);
}

void main()
{
    bool is_sound = take_largest(), is_by_mass = by_mass != 0u;
    uvec2 whole = uvec2(0u);
    if (list_at > 0u) {
        whole = mass_left(is_sound);
    }
    load_bins(bins_at);
    uvec2 goal = count_goal();
    if (is_by_mass) {
        goal = mass_share(list_at > 0u ? whole : total_mass(), wanted_top_p());
    }
    Crossing at = find_crossing(is_by_mass, goal);
    uvec2 before = uvec2(0u);
    if (!is_by_mass && has_mass()) { // the cut by mass will want to know
        before = mass_of_bins(at.bin);
    }
    Span span = narrowed(whole_span(), at.bin);
    clear_bins();
    take_share(is_sound);
    for (uint i = begin + gl_LocalInvocationIndex; i < end; i += uint(WG_SIZE)) {
        uint key = key_of(logits[i]), bin = bin_of(key);
        if (bin == at.bin && ~key >= span.first && ~key <= span.last && is_allowed(i)) {
            count_key((~key - span.first) >> span.shift, key);
        }
    }
    barrier();
    for (uint i = gl_LocalInvocationIndex; i < N_BIN; i += uint(WG_SIZE)) {
        uint to = HEAD + 3u * N_BIN * gl_WorkGroupID.x + i;
        finer[to] = bin_count[i];
        finer[to + N_BIN] = bin_mass_lo[i];
        finer[to + 2u * N_BIN] = bin_mass_hi[i];
    }
    if (gl_LocalInvocationIndex == 0u && gl_WorkGroupID.x == 0u) {
        finer[0] = at.bin;
        finer[1] = at.rest.x;
        finer[2] = at.rest.y;
        finer[3] = before.x;
        finer[4] = before.y;
    }
}
