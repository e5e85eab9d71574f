// The first stage of a choice among many candidates (sample/many.glsl): numbers and masses of all logits by their
// distance from the largest.
//
//   found   SUMS, which is added to; LARGEST; the number in CUTS, made 0  (binding 0)
//   logits  with their partial results                                     (binding 1)
//
// A group takes n_vocab / groups neighbouring logits. Without a cut it finds the largest alone.
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
#include "sample/many.glsl"

layout(local_size_x = WG_SIZE) in;

layout(std430, binding = 0) restrict buffer Found { uint found[]; };

void count_share(uint first, uvec4 keys)
{
    for (uint i = first; i < share_end; i += N_TOGETHER * uint(WG_SIZE)) {
        for (uint j = 0u; j < bound(N_TOGETHER); j++) {
            uint id = i + j * uint(WG_SIZE);
            if (id < share_end && is_allowed(id)) {
                count_key(bin_of(keys[j]), keys[j]);
            }
        }
        keys = load_keys(i + N_TOGETHER * uint(WG_SIZE));
    }
    barrier();
}

// Limbs need no carry: nobody waits for what was there before.
void add_to_all(uint bin)
{
    uint low = sum_lo[bin], high = sum_hi[bin];
    atomicAdd(found[bin], sum_count[bin]);
    if (top_p < 1.0) {
        atomicAdd(found[N_BIN + bin], low & 0xFFFFFFu);
        atomicAdd(found[2u * N_BIN + bin], low >> 24u | (high & 0xFFFFu) << 8u);
        atomicAdd(found[3u * N_BIN + bin], high >> 16u);
    }
}

void main()
{
    uint largest, id;
    read_settings();
    take_share(true);
    uint first = share_begin + gl_LocalInvocationIndex;
    uvec4 keys = load_keys(first); // asked for ahead
    bool is_sound = find_largest_wanted(has_bans, largest, id);
    max_logit = value_of(largest);
    if (is_sound && has_cuts()) {
        clear_sums();
        count_share(first, keys);
        for (uint i = gl_LocalInvocationIndex; i < N_BIN; i += uint(WG_SIZE)) {
            if (sum_count[i] > 0u) {
                add_to_all(i);
            }
        }
    }
    if (gl_LocalInvocationIndex == 0u && gl_WorkGroupID.x == 0u) {
        found[LARGEST] = largest;
        found[LARGEST + 1u] = is_sound ? id : NO_ID;
        found[CUTS] = 0u;
    }
}
