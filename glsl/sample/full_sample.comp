// The second dispatch of sampling from the whole vocabulary (sample/full.glsl): the best score that
// the cuts leave, and the end of the step.
//
//   ring    GI_RING_SLOTS entries                                        (binding 0, written)
//   logits  with their scratch: LARGEST and CUTS                         (binding 1)
//   step_state                                                           (binding 2, advanced)
//   counts  GI_MAX_SLOTS grids                                           (binding 3, rewritten, with HAS_COUNTS)
//
// Only if the best of all is in an open bin the last group looks at what is in those: each token is
// compared with each, which tells how many and how heavy are those before it. If they are more than
// the list has room for (one time in forty, with top_p and flat logits; or where many are equal),
// the cuts are looked for digit by digit among all.
#include "lib/common.glsl"
#include "lib/group.glsl"
#include "sample/step.glsl"
#include "sample/best.glsl"
#define LOGITS_SHARED
#include "sample/logits.glsl"
#include "sample/sampler.glsl"
#include "sample/scratch.glsl"
#include "sample/full.glsl"

#define DIGIT_BITS 8u
#define N_LEVEL 8u // digits of a key and of an id

// The list: keys and masses where bins are, and ids.
shared uint list_id[LIST_ROOM];
#define list_key(i) sum_count[i]

// The cuts. Those that only the last group needs are read where they are used, and so are the
// sampler's settings: kept in registers all the way they make V3D, Mali and Intel spill.
uint first_open, end_open, n_open;
#define CUT_COUNT logits[CUTS + 3u]
#define CUT_MASS uvec2(logits[CUTS + 4u], logits[CUTS + 5u])
#define CUT_IS_EXACT (logits[CUTS + 6u] != 0u)
#define CUT_SHARE uvec2(logits[CUTS + 7u], logits[CUTS + 8u])

void read_cuts()
{
    first_open = logits[CUTS];
    end_open = logits[CUTS + 1u];
    n_open = logits[CUTS + 2u];
}

//-- bests -----------------------------------------------------------------------------------------

shared uint found_key[2], found_id[2];

// The best of those that are left, and of those that are open: { score, id }.
struct Bests {
    uvec2 left, open;
};

Bests bests; // this invocation's

void take_better(inout uvec2 best, uvec2 other)
{
    if (is_better(other.x, other.y, best.x, best.y)) {
        best = other;
    }
}

// Returns those of all invocations.
Bests find_bests(Bests own)
{
    barrier();
    if (gl_LocalInvocationIndex < 2u) {
        found_key[gl_LocalInvocationIndex] = 0u;
        found_id[gl_LocalInvocationIndex] = NO_ID;
    }
    barrier();
    atomicMax(found_key[0], own.left.x);
    atomicMax(found_key[1], own.open.x);
    barrier();
    uvec2 largest = uvec2(found_key[0], found_key[1]);
    if (own.left.x == largest.x) {
        atomicMin(found_id[0], own.left.y);
    }
    if (own.open.x == largest.y) {
        atomicMin(found_id[1], own.open.y);
    }
    barrier();
    return Bests(uvec2(largest.x, found_id[0]), uvec2(largest.y, found_id[1]));
}

//-- the group's share -----------------------------------------------------------------------------

void take_token(uint key, uint id)
{
    uint bin = bin_of(key);
    if (bin >= end_open) {
        return;
    }
    uvec2 other = uvec2(score_of(key, id), id);
    if (bin < first_open) {
        take_better(bests.left, other);
        return;
    }
    take_better(bests.open, other);
    if (n_open <= LIST_ROOM) {
        list_token(key, id, LIST_ROOM);
    }
}

void write_bests()
{
    Bests all = find_bests(bests);
    if (gl_LocalInvocationIndex == 0u) {
        uint at = BESTS + 4u * gl_WorkGroupID.x;
        logits[at] = all.left.x;
        logits[at + 1u] = all.left.y;
        logits[at + 2u] = all.open.x;
        logits[at + 3u] = all.open.y;
    }
}

//-- the list --------------------------------------------------------------------------------------

// The last token that a cut leaves: its key upside down, its id; the mass up to it.
shared uint last_key, last_id, last_lo, last_hi;

void set_last(uvec2 place, uvec2 mass)
{
    last_key = place.x;
    last_id = place.y;
    last_lo = mass.x;
    last_hi = mass.y;
}

// Returns true if a token is the last one or before it.
bool is_up_to(uvec2 place, uvec2 last)
{
    return place.x < last.x || (place.x == last.x && place.y <= last.y);
}

void load_list()
{
    barrier();
    for (uint i = gl_LocalInvocationIndex; i < n_open; i += uint(WG_SIZE)) {
        uint key = logits[LIST + 2u * i];
        uvec2 mass = mass_of(key);
        list_key(i) = key;
        list_id[i] = logits[LIST + 2u * i + 1u];
        sum_lo[i] = mass.x;
        sum_hi[i] = mass.y;
    }
    barrier();
}

void find_in_list(bool is_by_mass, uvec2 goal)
{
    for (uint i = gl_LocalInvocationIndex; i < n_open; i += uint(WG_SIZE)) {
        uvec2 place = uvec2(~list_key(i), list_id[i]), mass = CUT_MASS;
        uint count = CUT_COUNT;
        for (uint j = 0u; j < n_open; j++) {
            if (!is_up_to(place, uvec2(~list_key(j), list_id[j]))) {
                count++;
                mass = add_mass(mass, sum_mass(j));
            }
        }
        uvec2 to = add_mass(mass, sum_mass(i));
        if (is_by_mass ? is_below(mass, goal) && !is_below(to, goal) : count + 1u == goal.x) {
            set_last(place, to);
        }
    }
}

//-- all logits ------------------------------------------------------------------------------------

// Counts the tokens that have the digits of the last one before this one by their next.
void count_digits(bool is_id, uint shift)
{
    clear_sums();
    uvec2 place = uvec2(last_key, last_id);
    for (uint i = gl_LocalInvocationIndex; i < params.n_vocab; i += uint(WG_SIZE)) {
        uint key = key_of(logits[i]);
        uint word = is_id ? i : ~key, found = is_id ? place.y : place.x;
        bool is_inside = ((word ^ found) >> shift >> DIGIT_BITS) == 0u;
        if (is_inside && (!is_id || ~key == place.x) && is_allowed(i)) {
            count_key(word >> shift & 0xFFu, key);
        }
    }
    barrier();
    add_up_bins();
}

void find_in_all(bool is_by_mass, uvec2 goal)
{
    if (gl_LocalInvocationIndex == 0u) {
        set_last(uvec2(0u), uvec2(0u));
    }
    for (uint level = 0u; level < bound(N_LEVEL); level++) {
        bool is_id = level >= N_LEVEL / 2u;
        uint shift = 24u - level % (N_LEVEL / 2u) * DIGIT_BITS;
        count_digits(is_id, shift);
        Crossing at = find_crossing(is_by_mass, goal);
        uint digit = min(at.bin, 0xFFu);
        goal = at.rest;
        if (gl_LocalInvocationIndex == 0u) {
            uvec2 mass = add_mass(uvec2(last_lo, last_hi), at.mass);
            mass = level + 1u == N_LEVEL ? add_mass(mass, sum_mass(digit)) : mass;
            set_last(uvec2(last_key | (is_id ? 0u : digit << shift), last_id | (is_id ? digit << shift : 0u)), mass);
        }
    }
}

//-- the end ---------------------------------------------------------------------------------------

// Sets the last token that the cuts leave. A cut by number that ends with a bin is found already.
void find_last(bool is_listed)
{
    read_sampler();
    if (is_listed) {
        load_list();
    }
    for (uint cut = CUT_IS_EXACT ? 1u : 0u; cut < (limits_mass() ? bound(2u) : 1u); cut++) {
        read_sampler(); // anew, or Midgard spills what a cut keeps alive
        bool is_by_mass = cut == 1u;
        uvec2 share = CUT_IS_EXACT ? CUT_SHARE : mass_goal(uvec2(last_lo, last_hi));
        uvec2 goal = is_by_mass ? share : uvec2(top_k, 0u);
        barrier();
        if (is_listed) { // the same in all invocations
            find_in_list(is_by_mass, goal);
        } else {
            find_in_all(is_by_mass, goal);
        }
        barrier();
    }
}

// Returns this invocation's best of what the cuts leave of the open bins: { score, id }.
uvec2 take_open()
{
    bool is_listed = n_open <= LIST_ROOM;
    find_last(is_listed);
    read_sampler();
    uvec2 best = uvec2(0u, NO_ID), last = uvec2(last_key, last_id);
    uint n = is_listed ? n_open : params.n_vocab;
    for (uint i = gl_LocalInvocationIndex; i < n; i += uint(WG_SIZE)) {
        uint key = is_listed ? list_key(min(i, LIST_ROOM - 1u)) : key_of(logits[i]);
        uint id = is_listed ? list_id[min(i, LIST_ROOM - 1u)] : i;
        bool is_open = bin_of(key) >= first_open && is_allowed(id);
        if (is_open && is_up_to(uvec2(~key, id), last)) {
            take_better(best, uvec2(score_of(key, id), id));
        }
    }
    return best;
}

// Returns the token that is sampled: the best of what all groups have found.
uint choose()
{
    bests = Bests(uvec2(0u, NO_ID), uvec2(0u, NO_ID));
    for (uint i = gl_LocalInvocationIndex; i < gl_NumWorkGroups.x; i += uint(WG_SIZE)) {
        uint at = BESTS + 4u * i;
        take_better(bests.left, uvec2(logits[at], logits[at + 1u]));
        take_better(bests.open, uvec2(logits[at + 2u], logits[at + 3u]));
    }
    Bests all = find_bests(bests);
    uvec2 best = all.left;
    if (is_better(all.open.x, all.open.y, best.x, best.y)) { // the same in all invocations
        best = take_open();
        find_best(best.x, best.y);
        take_better(best, uvec2(found_key[0], found_id[0]));
    }
    return best.y;
}

void main()
{
    read_sampler();
    read_cuts();
    uint unused;
    bool is_sound = logits[LARGEST + 1u] != NO_ID;
    max_logit = value_of(logits[LARGEST]);
    take_share(is_sound);
    uint first = share_begin + gl_LocalInvocationIndex;
    uvec4 bits = load_logits(first); // asked for early
    bests = Bests(uvec2(0u, NO_ID), uvec2(0u, NO_ID));
    for (uint i = first; i < share_end; i += N_TOGETHER * uint(WG_SIZE)) {
        for (uint j = 0u; j < bound(N_TOGETHER); j++) {
            uint id = i + j * uint(WG_SIZE);
            if (id < share_end && is_allowed(id)) {
                take_token(key_of(bits[j]), id);
            }
        }
        bits = load_logits(i + N_TOGETHER * uint(WG_SIZE));
    }
    write_bests();
    if (is_last_group(LISTED, unused)) {
        uint token = choose();
        is_sound = is_sound && token < params.n_vocab;
        if (gl_LocalInvocationIndex == 0u) {
            logits[LISTED] = 0u;
        }
        step_advance(is_sound ? token : 0u, is_sound ? STATUS_OK : STATUS_NAN);
    }
}
