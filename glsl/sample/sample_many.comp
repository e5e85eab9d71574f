// The last stage of a choice among many candidates (sample/many.glsl): the best of the draw that the cuts leave, and the
// end of the step.
//
//   ring    GI_RING_SLOTS entries                                        (binding 0, written)
//   logits  with what the stages before left; SUMS, made 0               (binding 1)
//   step_state                                                           (binding 2, advanced)
//   counts  GI_MAX_SLOTS grids                                           (binding 3, rewritten, with HAS_COUNTS)
//
// One group. Only if the best of all is in an open bin it looks at what is in those: each token is compared with each,
// which tells how many and how heavy are those before it. If they are more than the list has room for (one time in
// forty, with top_p and flat logits; or where many are equal), the cuts are looked for digit by digit among all.
#ifndef WG_SIZE
#error "WG_SIZE: invocations of the work group"
#endif
#ifndef HAS_COUNTS
#error "HAS_COUNTS: 1 if the table is indirect"
#endif
#include "lib/common.glsl"
#include "sample/step.glsl"
#include "sample/best.glsl"
#define LOGITS_WRITTEN
#include "sample/logits.glsl"
#include "lib/exp_log.glsl"
#include "sample/philox.glsl"
#include "sample/mass.glsl"
#include "sample/draw.glsl"
#include "sample/many.glsl"
#include "sample/cuts.glsl"

layout(local_size_x = WG_SIZE) in;

#define DIGIT_BITS 8u
#define N_LEVEL 8u // digits of a key and of an id

// The list: keys and masses where bins are, and ids.
shared uint list_id[LIST_ROOM];
shared uint last_key, last_id, last_lo, last_hi;
#define list_key(i) sum_count[i]

Cuts cuts;
Bests bests; // this invocation's

// Where a cut leaves the last token: its key upside down, its id; and the mass up to that.
struct Place {
    uvec2 at, mass;
};

// Whether a token is the last one or before it.
bool is_up_to(uvec2 place, uvec2 last)
{
    return place.x < last.x || (place.x == last.x && place.y <= last.y);
}

void read_cuts()
{
    uint at = many_at + CUTS;
    cuts = no_cuts();
    cuts.first_open = logits[at + 1u];
    cuts.n_open = logits[at + 2u];
    cuts.count = logits[at + 3u];
    cuts.mass = uvec2(logits[at + 4u], logits[at + 5u]);
    cuts.is_exact = logits[at + 6u] != 0u;
    cuts.share = uvec2(logits[at + 7u], logits[at + 8u]);
}

//-- the list --------------------------------------------------------------------------------------

void load_list()
{
    barrier();
    for (uint i = gl_LocalInvocationIndex; i < cuts.n_open; i += uint(WG_SIZE)) {
        uint at = many_at + LIST + 2u * i, key = logits[at];
        uvec2 mass = mass_of(key);
        list_key(i) = key;
        list_id[i] = logits[at + 1u];
        sum_lo[i] = mass.x;
        sum_hi[i] = mass.y;
    }
    barrier();
}

Place find_in_list(bool is_by_mass, uvec2 goal)
{
    for (uint i = gl_LocalInvocationIndex; i < cuts.n_open; i += uint(WG_SIZE)) {
        uvec2 place = uvec2(~list_key(i), list_id[i]), mass = cuts.mass;
        uint count = cuts.count;
        for (uint j = 0u; j < cuts.n_open; j++) {
            if (!is_up_to(place, uvec2(~list_key(j), list_id[j]))) {
                count++;
                mass = add_mass(mass, sum_mass(j));
            }
        }
        uvec2 to = add_mass(mass, sum_mass(i));
        if (is_by_mass ? is_below(mass, goal) && !is_below(to, goal) : count + 1u == goal.x) {
            last_key = place.x;
            last_id = place.y;
            last_lo = to.x;
            last_hi = to.y;
        }
    }
    barrier();
    Place last = Place(uvec2(last_key, last_id), uvec2(last_lo, last_hi));
    barrier();
    return last;
}

//-- all logits ------------------------------------------------------------------------------------

// Counts the tokens that have the digits of `place` before this one by their next.
void count_digits(uvec2 place, bool is_id, uint shift)
{
    clear_sums();
    for (uint i = gl_LocalInvocationIndex; i < n_vocab; i += uint(WG_SIZE)) {
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

Place find_in_all(bool is_by_mass, uvec2 goal)
{
    Place last = Place(uvec2(0u), uvec2(0u));
    uvec2 own = uvec2(0u);
    for (uint level = 0u; level < bound(N_LEVEL); level++) {
        bool is_id = level >= N_LEVEL / 2u;
        uint shift = 24u - level % (N_LEVEL / 2u) * DIGIT_BITS;
        count_digits(last.at, is_id, shift);
        Crossing at = find_crossing(is_by_mass, goal);
        uint digit = min(at.bin, 0xFFu);
        goal = at.rest;
        last.mass = add_mass(last.mass, at.mass);
        own = sum_mass(digit);
        last.at.x |= is_id ? 0u : digit << shift;
        last.at.y |= is_id ? digit << shift : 0u;
    }
    last.mass = add_mass(last.mass, own);
    return last;
}

//-- the end ---------------------------------------------------------------------------------------

// What sample_draw found.
void take_bests()
{
    for (uint i = gl_LocalInvocationIndex; i < n_many; i += uint(WG_SIZE)) {
        uint at = many_at + BESTS + 4u * i;
        take_better(bests.left, uvec2(logits[at], logits[at + 1u]));
        take_better(bests.open, uvec2(logits[at + 2u], logits[at + 3u]));
    }
}

// Draws from what the cuts leave of the open bins. A cut by number that ends with a bin is found already.
void draw_open()
{
    read_cuts();
    bool is_listed = cuts.n_open <= LIST_ROOM;
    Place last = Place(uvec2(0u), uvec2(0u));
    if (is_listed) {
        load_list();
    }
    for (uint cut = cuts.is_exact ? 1u : 0u; cut < (top_p < 1.0 ? bound(2u) : 1u); cut++) {
        bool is_by_mass = cut == 1u;
        uvec2 share = cuts.is_exact ? cuts.share : mass_share(last.mass, top_p);
        uvec2 goal = is_by_mass ? share : uvec2(top_k, 0u);
        if (is_listed) { // the same in all invocations
            last = find_in_list(is_by_mass, goal);
        } else {
            last = find_in_all(is_by_mass, goal);
        }
    }
    uint n = is_listed ? cuts.n_open : n_vocab;
    for (uint i = gl_LocalInvocationIndex; i < n; i += uint(WG_SIZE)) {
        uint key = is_listed ? list_key(min(i, LIST_ROOM - 1u)) : key_of(logits[i]);
        uint id = is_listed ? list_id[min(i, LIST_ROOM - 1u)] : i;
        bool is_open = bin_of(key) >= cuts.first_open && is_allowed(id);
        if (is_open && is_up_to(uvec2(~key, id), last.at)) {
            uint score = draw_key(draw, value_of(key) - max_logit, lowest, id);
            take_better(bests.left, uvec2(score, id));
        }
    }
    barrier();
}

// The token that is drawn.
uint choose()
{
    bests = no_bests();
    take_bests();
    Bests all = find_bests(bests);
    if (is_better(all.open.x, all.open.y, all.left.x, all.left.y)) { // the same in all invocations
        draw_open();
        all = find_bests(bests);
    }
    return all.left.y;
}

void main()
{
    read_settings();
    bool is_sound = take_largest();
    uint token = choose();
    token = is_drawn() ? token : logits[many_at + LARGEST + 1u];
    is_sound = is_sound && token < n_vocab;
    for (uint i = gl_LocalInvocationIndex; i < LARGEST; i += uint(WG_SIZE)) {
        logits[many_at + i] = 0u;
    }
    step_advance(is_sound ? token : 0u, is_sound ? STATUS_OK : STATUS_NAN);
}
