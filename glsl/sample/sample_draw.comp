// The second stage of a choice among many candidates (sample/many.glsl): the bins that the cuts lie in, and the best of the
// draw in a group's share of the logits: among those that the cuts leave, and among those that are open.
//
//   drawn   CUTS, whose number groups add to; LIST; BESTS    (binding 0)
//   logits  with SUMS and LARGEST                            (binding 1)
//
// One bin is open, that which the cut lies in. With both cuts all bins are from where top_p of what comes before the
// bin of the cut by number is reached, which is the least that it may be, up to that bin.
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
#include "sample/cuts.glsl"

layout(local_size_x = WG_SIZE) in;

layout(std430, binding = 0) restrict buffer Drawn { uint drawn[]; };

#define DRAWN CUTS // where binding 0 begins

Cuts cuts;
Bests bests; // this invocation's

//-- cuts ------------------------------------------------------------------------------------------

void load_sums()
{
    clear_sums();
    for (uint bin = gl_LocalInvocationIndex; bin < N_BIN; bin += uint(WG_SIZE)) {
        uint at = many_at + bin, middle = logits[at + 2u * N_BIN];
        uvec2 mass = add_mass(uvec2(logits[at + N_BIN], logits[at + 3u * N_BIN] << 16u),
                              uvec2(middle << 24u, middle >> 8u));
        sum_count[bin] = logits[at];
        sum_lo[bin] = mass.x;
        sum_hi[bin] = mass.y;
    }
    add_up_bins();
}

// A cut by number that does not end with a bin leaves that bin open, and the cut by mass behind it only lowers where
// open bins begin: its share is at least that of what comes before the bin. Any other cut by mass opens its bin alone.
void find_cuts()
{
    uvec2 least = total_mass();
    uint end_count = 0u;
    cuts = no_cuts();
    for (uint cut = top_k > 0u ? 0u : 1u; cut < (top_p < 1.0 ? bound(2u) : 1u); cut++) {
        bool is_by_mass = cut == 1u;
        cuts.share = mass_share(least, top_p);
        Crossing at = find_crossing(is_by_mass, is_by_mass ? cuts.share : uvec2(top_k, 0u));
        if (at.bin >= N_BIN) { // nothing was counted: unsound logits
            continue;
        }
        if (cuts.is_exact) {
            cuts.end_open = at.bin + 1u;
            end_count = at.count + sum_count[at.bin];
        }
        cuts.first_open = at.bin;
        cuts.count = at.count;
        cuts.mass = at.mass;
        least = at.mass;
        if (!is_by_mass) {
            cuts.is_exact = at.rest.x == sum_count[at.bin];
        }
        if (!is_by_mass && cuts.is_exact) { // no bin is open
            cuts.first_open = cuts.end_open;
            cuts.count = end_count;
            cuts.mass = add_mass(at.mass, sum_mass(at.bin));
            least = cuts.mass;
        }
    }
    cuts.n_open = end_count - cuts.count;
}

void write_cuts()
{
    uint at = CUTS - DRAWN;
    drawn[at + 1u] = cuts.first_open;
    drawn[at + 2u] = cuts.n_open;
    drawn[at + 3u] = cuts.count;
    drawn[at + 4u] = cuts.mass.x;
    drawn[at + 5u] = cuts.mass.y;
    drawn[at + 6u] = cuts.is_exact ? 1u : 0u;
    drawn[at + 7u] = cuts.share.x;
    drawn[at + 8u] = cuts.share.y;
}

//-- tokens ----------------------------------------------------------------------------------------

void append(uint key, uint id)
{
    uint at = atomicAdd(drawn[CUTS - DRAWN], 1u);
    if (at < LIST_ROOM) {
        drawn[LIST - DRAWN + 2u * at] = key;
        drawn[LIST - DRAWN + 2u * at + 1u] = id;
    }
}

void take_token(uint key, uint id)
{
    uint bin = bin_of(key);
    if (bin >= cuts.end_open) {
        return;
    }
    uvec2 other = uvec2(draw_key(draw, value_of(key) - max_logit, lowest, id), id);
    if (bin < cuts.first_open) {
        take_better(bests.left, other);
        return;
    }
    take_better(bests.open, other);
    if (cuts.n_open <= LIST_ROOM) {
        append(key, id);
    }
}

void main()
{
    read_settings();
    bool is_sound = take_largest();
    take_share(is_sound);
    uint first = share_begin + gl_LocalInvocationIndex;
    uvec4 keys = load_keys(first); // asked for ahead
    if (has_cuts()) { // the same in all groups
        load_sums();
    }
    find_cuts();
    bests = no_bests();
    for (uint i = first; i < share_end; i += N_TOGETHER * uint(WG_SIZE)) {
        for (uint j = 0u; j < bound(N_TOGETHER); j++) {
            uint id = i + j * uint(WG_SIZE);
            if (id < share_end && is_allowed(id)) {
                take_token(keys[j], id);
            }
        }
        keys = load_keys(i + N_TOGETHER * uint(WG_SIZE));
    }
    bests = find_bests(bests);
    if (gl_LocalInvocationIndex == 0u) {
        uint at = BESTS - DRAWN + 4u * gl_WorkGroupID.x;
        drawn[at] = bests.left.x;
        drawn[at + 1u] = bests.left.y;
        drawn[at + 2u] = bests.open.x;
        drawn[at + 3u] = bests.open.y;
        if (gl_WorkGroupID.x == 0u) {
            write_cuts();
        }
    }
}
