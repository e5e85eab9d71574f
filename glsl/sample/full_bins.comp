// The first dispatch of sampling from the whole vocabulary (sample/full.glsl): numbers and masses
// of all logits by their distance from the largest, and the bins that the cuts lie in.
//
//   logits  with their partial results and scratch; LARGEST and CUTS are written  (binding 1)
//
// A group takes n_vocab / groups neighbouring logits; without a filter that has cuts it finds the
// largest alone. One bin is open, that which the cut lies in. With both cuts all bins are from
// where top_p of what comes before the bin of the cut by number is reached, which is the least that
// it may be, up to that bin.
#include "lib/common.glsl"
#include "lib/group.glsl"
#include "lib/step_state.glsl"
#include "sample/stop_id.glsl"
#include "sample/best.glsl"
#define LOGITS_SHARED
#include "sample/logits.glsl"
#include "sample/sampler.glsl"
#include "sample/scratch.glsl"
#include "sample/full.glsl"

Cuts cuts;

//-- sums of all groups ----------------------------------------------------------------------------

void count_share(uint first, uvec4 bits)
{
    for (uint i = first; i < share_end; i += N_TOGETHER * uint(WG_SIZE)) {
        for (uint j = 0u; j < bound(N_TOGETHER); j++) {
            uint id = i + j * uint(WG_SIZE), key = key_of(bits[j]);
            if (id < share_end && is_allowed(id)) {
                count_key(bin_of(key), key);
            }
        }
        bits = load_logits(i + N_TOGETHER * uint(WG_SIZE));
    }
    barrier();
}

// Limbs need no carry: nobody waits for what was there before.
void add_to_all()
{
    for (uint bin = gl_LocalInvocationIndex; bin < N_BIN; bin += uint(WG_SIZE)) {
        if (sum_count[bin] == 0u) {
            continue;
        }
        atomicAdd(logits[SUMS + bin], sum_count[bin]);
        if (limits_mass()) {
            uvec3 limbs = limbs_of(sum_mass(bin));
            atomicAdd(logits[SUMS + N_BIN + bin], limbs.x);
            atomicAdd(logits[SUMS + 2u * N_BIN + bin], limbs.y);
            atomicAdd(logits[SUMS + 3u * N_BIN + bin], limbs.z);
        }
    }
}

// Takes the sums of all groups, and leaves zeros.
void load_sums()
{
    clear_sums();
    for (uint bin = gl_LocalInvocationIndex; bin < N_BIN; bin += uint(WG_SIZE)) {
        uint at = SUMS + bin;
        uvec2 mass = join_limbs(uvec3(logits[at + N_BIN], logits[at + 2u * N_BIN], logits[at + 3u * N_BIN]));
        sum_count[bin] = logits[at];
        sum_lo[bin] = mass.x;
        sum_hi[bin] = mass.y;
        for (uint i = 0u; i < bound(4u); i++) {
            logits[at + i * N_BIN] = 0u;
        }
    }
    add_up_bins();
}

//-- cuts ------------------------------------------------------------------------------------------

// A cut by number that does not end with a bin leaves that bin open, and the cut by mass after it
// only lowers where open bins begin: its share is at least that of what comes before the bin. Any
// other cut by mass opens its bin alone.
void find_cuts()
{
    uvec2 least = total_mass();
    uint end_count = 0u;
    for (uint cut = limits_number() ? 0u : 1u; cut < (limits_mass() ? bound(2u) : 1u); cut++) {
        bool is_by_mass = cut == 1u;
        cuts.share = mass_goal(least);
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
    logits[CUTS] = cuts.first_open;
    logits[CUTS + 1u] = cuts.end_open;
    logits[CUTS + 2u] = cuts.n_open;
    logits[CUTS + 3u] = cuts.count;
    logits[CUTS + 4u] = cuts.mass.x;
    logits[CUTS + 5u] = cuts.mass.y;
    logits[CUTS + 6u] = cuts.is_exact ? 1u : 0u;
    logits[CUTS + 7u] = cuts.share.x;
    logits[CUTS + 8u] = cuts.share.y;
}

void main()
{
    uint largest, id, unused;
    read_sampler();
    take_share(true);
    uint first = share_begin + gl_LocalInvocationIndex;
    uvec4 bits = load_logits(first); // asked for early
    bool is_sound = find_largest(has_bans, largest, id);
    bool has_cuts = is_sound && (limits_number() || limits_mass());
    max_logit = value_of(largest);
    cuts = no_cuts();
    if (has_cuts) { // the same in all groups
        clear_sums();
        count_share(first, bits);
        add_to_all();
    }
    if (is_last_group(BINNED, unused)) {
        if (has_cuts) {
            load_sums();
            find_cuts();
        }
        if (gl_LocalInvocationIndex == 0u) {
            logits[BINNED] = 0u;
            logits[LARGEST] = largest;
            logits[LARGEST + 1u] = is_sound ? id : NO_ID;
            write_cuts();
        }
    }
}
