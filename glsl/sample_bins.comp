// The first stage of a choice among many candidates (lib/many.glsl): numbers and masses of all logits by their
// distance from the largest.
//
//   bins    (groups) of counts and masses, behind a head         (binding 0, written)
//   logits  with their partial results                           (binding 1)
//   lists   what sample_cut lists of either cut: made empty      (bindings 2 and 3, written)
//
// A group takes n_vocab / groups neighbouring logits; most of the time it finds the largest of the partial results,
// as sample_scan does.
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

layout(std430, binding = 0) restrict writeonly buffer Bins { uint bins[]; };
layout(std430, binding = 2) restrict writeonly buffer First { uint first_list[]; };
layout(std430, binding = 3) restrict writeonly buffer Second { uint second_list[]; };

void main()
{
    uint largest, id;
    bool is_sound = find_largest(largest, id);
    has_bans = state.ban_stop != 0u;
    if (is_sound && has_bans && is_stop_id(id)) { // the same in all invocations
        is_sound = find_largest_allowed(largest, id);
    }
    max_logit = value_of(largest);
    take_share(is_sound);
    clear_bins();
    for (uint i = begin + gl_LocalInvocationIndex; i < end; i += uint(WG_SIZE)) {
        uint key = key_of(logits[i]);
        if (is_allowed(i)) {
            count_key(bin_of(key), key);
        }
    }
    barrier();
    for (uint i = gl_LocalInvocationIndex; i < N_BIN; i += uint(WG_SIZE)) {
        uint at = HEAD + 3u * N_BIN * gl_WorkGroupID.x + i;
        bins[at] = bin_count[i];
        bins[at + N_BIN] = bin_mass_lo[i];
        bins[at + 2u * N_BIN] = bin_mass_hi[i];
    }
    if (gl_LocalInvocationIndex == 0u && gl_WorkGroupID.x == 0u) {
        bins[0] = largest;
        bins[1] = is_sound ? id : NO_ID;
        first_list[0] = 0u;
        second_list[0] = 0u;
    }
}
