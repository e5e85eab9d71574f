// token as ops/sample.h has it for a small top_k, by many groups in one dispatch, without log-probabilities.
//
//   ring    GI_RING_SLOTS entries                                        (binding 0, written)
//   logits  with their partial results; at word many_at what follows     (binding 1)
//   step_state                                                           (binding 2, advanced)
//   counts  GI_MAX_SLOTS grids                                           (binding 3, rewritten, with HAS_COUNTS)
//
//   COUNT  tokens that groups have listed, and how many groups have, times ARRIVED; zero between steps
//   LIST   key and id of each, LIST_ROOM at most
//
// Where n sets of logits have a largest of at least x each, n logits are no less than x, and few more. So each group
// folds the partial results into the largest of at least 2 n slots and has the n-th largest slot for a threshold. It
// lists those of its share of the logits that reach it, some 1.2 n in all. The last group to do so draws from the list:
// ranks, and the masses before each, come from comparing each with each, so that nothing depends on the order of
// arrival. If the list was too short (hundreds of equal logits) the group looks for the top_k digit by digit.
//
// Little text on purpose: a stage of persistent programs. On an H200 with 128,256 logits it takes 16 us where
// sample_few takes 19 and the three stages of lib/many.glsl 25.
#ifndef WG_SIZE
#error "WG_SIZE: invocations of the work group"
#endif
#ifndef HAS_COUNTS
#error "HAS_COUNTS: 1 if the table is indirect"
#endif
#include "lib/common.glsl"
#include "lib/step.glsl"
#include "lib/best.glsl"
#define LOGITS_SHARED
#include "lib/logits.glsl"
#include "lib/exp_log.glsl"
#include "lib/philox.glsl"
#include "lib/mass.glsl"
#include "lib/draw.glsl"

layout(local_size_x = WG_SIZE) in;

#define COUNT 0u
#define ARRIVED 0x100000u
#define LIST 64u
#define LIST_ROOM (WG_SIZE < 256 ? WG_SIZE : 256) // at most one for an invocation; stages share little memory
#define MOST_SLOTS (WG_SIZE < 256 ? WG_SIZE : 256)
#define SKEW 37u // odd
#define NO_ID 0xFFFFFFFFu
#define INFINITE 0xFF800000u // a key: of a partial result with a NaN or an infinity

shared uint slot_key[MOST_SLOTS];
// Of the group that draws.
shared uvec4 list[LIST_ROOM]; // key, id, mass
shared uint threshold_found, largest_found, n_listed, n_found, sum_lo, sum_hi, is_unsound, is_last;

// Equal in all invocations.
bool has_bans; // stop ids are left out
uint top_k;    // as many as there are, at most
// Read once and early: where groups stay each look at step_state is a way to memory and back.
Draw draw;
float top_p, lowest; // logit - max that min_p lets pass

bool is_allowed(uint id)
{
    return !has_bans || !is_stop_id(id);
}

//-- the list --------------------------------------------------------------------------------------

// A power of two of at least 2 n, and of 8: so many are looked at together.
uint count_slots(uint n)
{
    return min(2u << uint(findMSB(max(2u * n - 1u, 4u))), uint(MOST_SLOTS));
}

// Of four slots from j on those that come before slot i, which has the key.
uint count_ahead(uint j, uint key, uint i)
{
    uint n = is_better(slot_key[j], j, key, i) ? 1u : 0u;
    n += is_better(slot_key[j + 1u], j + 1u, key, i) ? 1u : 0u;
    n += is_better(slot_key[j + 2u], j + 2u, key, i) ? 1u : 0u;
    n += is_better(slot_key[j + 3u], j + 3u, key, i) ? 1u : 0u;
    return n;
}

// Of a turn the partial result that an invocation folds into its slot, 0 past the last. Turns are skewed: logits that
// are alike may come again and again at a distance of many rows, and are not to meet in one slot.
uint load_part(uint turn)
{
    uint lane = (gl_LocalInvocationIndex + turn * SKEW) % uint(WG_SIZE);
    uint i = turn * uint(WG_SIZE) + lane;
    uint key = key_of(logits[partial + 2u * min(i, n_partial - 1u)]);
    return i < n_partial ? key : 0u;
}

uvec4 load_parts(uint turn)
{
    return uvec4(load_part(turn), load_part(turn + 1u), load_part(turn + 2u), load_part(turn + 3u));
}

uint largest_part()
{
    uvec4 keys = uvec4(0u);
    for (uint turn = 0u; turn * uint(WG_SIZE) < n_partial; turn += 8u) {
        keys = max(keys, max(load_parts(turn), load_parts(turn + 4u)));
    }
    return max(max(keys.x, keys.y), max(keys.z, keys.w));
}

void fold_parts(uint n_slot)
{
    uint lane = gl_LocalInvocationIndex, key = largest_part();
    barrier(); // the group may have been another before
    for (uint i = lane; i < n_slot; i += uint(WG_SIZE)) {
        slot_key[i] = 0u;
    }
    if (lane == 0u) {
        is_unsound = 0u;
        threshold_found = 0u;
    }
    barrier();
    atomicMax(slot_key[lane % n_slot], key);
    if (key >= INFINITE) {
        is_unsound = 1u;
    }
    barrier();
}

// The key of a threshold that at least n logits reach; 0 if the parts are too few to say.
uint find_threshold(uint n)
{
    uint n_slot = count_slots(n);
    fold_parts(n_slot);
    for (uint i = gl_LocalInvocationIndex; i < n_slot; i += uint(WG_SIZE)) {
        uint key = slot_key[i], rank = 0u;
        for (uint j = 0u; j < n_slot; j += 8u) {
            rank += count_ahead(j, key, i) + count_ahead(j + 4u, key, i);
        }
        if (rank == n - 1u) {
            threshold_found = key;
        }
    }
    barrier();
    return threshold_found;
}

void list_token(uint key, uint id)
{
    uint at = atomicAdd(logits[many_at + COUNT], 1u) % ARRIVED;
    if (at < uint(LIST_ROOM)) {
        logits[many_at + LIST + 2u * at] = key;
        logits[many_at + LIST + 2u * at + 1u] = id;
    }
}

// Of the group's share what reaches the threshold; `keys` are the first ones.
void list_share(uint first, uint end, uvec4 keys, uint threshold)
{
    for (uint i = first; i < end; i += N_TOGETHER * uint(WG_SIZE)) {
        for (uint j = 0u; j < bound(N_TOGETHER); j++) {
            uint id = i + j * uint(WG_SIZE);
            if (keys[j] >= threshold && id < end && is_allowed(id)) {
                list_token(keys[j], id);
            }
        }
        keys = load_keys(i + N_TOGETHER * uint(WG_SIZE));
    }
}

// True in the last group that comes here, which sees what all have listed.
bool is_last_group()
{
    memoryBarrierBuffer();
    barrier();
    if (gl_LocalInvocationIndex == 0u) {
        uint count = atomicAdd(logits[many_at + COUNT], ARRIVED);
        is_last = count / ARRIVED + 1u == gl_NumWorkGroups.x ? 1u : 0u;
        n_listed = count % ARRIVED;
        largest_found = 0u;
        n_found = 0u;
    }
    barrier();
    memoryBarrierBuffer();
    return is_last != 0u;
}

//-- a list that was too short ---------------------------------------------------------------------

// Whether a token comes with `place` or before it: its key, its id upside down.
bool reaches(uint key, uint id, uvec2 place)
{
    return key > place.x || (key == place.x && ~id >= place.y);
}

uint count_reaching(uvec2 place)
{
    uint n = 0u;
    for (uint i = gl_LocalInvocationIndex; i < n_vocab; i += uint(WG_SIZE)) {
        n += reaches(key_of(logits[i]), i, place) && is_allowed(i) ? 1u : 0u;
    }
    barrier();
    if (gl_LocalInvocationIndex == 0u) {
        n_found = 0u;
    }
    barrier();
    atomicAdd(n_found, n);
    barrier();
    return n_found;
}

// Fills the list of this group with the top_k, whose last one's place it finds bit by bit. Returns how many.
uint search_all()
{
    uint n_bit = uint(findMSB(n_vocab)) + 1u; // of an id
    uvec2 place = uvec2(0u, 0xFFFFFFFFu << n_bit);
    uint n = 0u;
    for (uint i = 0u; i < bound(32u) + n_bit && n != top_k; i++) {
        uvec2 bit = i < 32u ? uvec2(0x80000000u >> i, 0u) : uvec2(0u, 1u << (31u + n_bit - i));
        n = count_reaching(place | bit);
        place |= n >= top_k ? bit : uvec2(0u);
    }
    barrier();
    if (gl_LocalInvocationIndex == 0u) {
        n_found = 0u;
    }
    barrier();
    for (uint i = gl_LocalInvocationIndex; i < n_vocab; i += uint(WG_SIZE)) {
        uint key = key_of(logits[i]);
        if (reaches(key, i, place) && is_allowed(i)) {
            uint at = min(atomicAdd(n_found, 1u), uint(LIST_ROOM - 1));
            list[at].x = key;
            list[at].y = i;
        }
    }
    barrier();
    return min(n_found, uint(LIST_ROOM));
}

//-- the draw --------------------------------------------------------------------------------------

// Returns how many.
uint load_list()
{
    uint n = n_listed, i = gl_LocalInvocationIndex;
    if (n > uint(LIST_ROOM)) { // the same in all invocations
        return search_all();
    }
    if (i < n) {
        list[i].x = logits[many_at + LIST + 2u * i];
        list[i].y = logits[many_at + LIST + 2u * i + 1u];
    }
    return n;
}

// Counts entry j of the list in, if there is one and it comes before a token.
void count_in(uint j, uint n, uint key, uint id, inout uint rank, inout uvec2 mass)
{
    uvec4 entry = list[j]; // there is room for as many as are looked at together
    bool is_ahead = j < n && is_better(entry.x, entry.y, key, id);
    rank += is_ahead ? 1u : 0u;
    mass = add_mass(mass, is_ahead ? entry.zw : uvec2(0u));
}

uint draw_listed()
{
    uint n = load_list(), lane = gl_LocalInvocationIndex;
    bool is_listed = lane < n;
    uint key = 0u, id = NO_ID, score = 0u, rank = 0u;
    uvec2 own = uvec2(0u), before = uvec2(0u);
    if (is_listed) {
        key = list[lane].x;
        id = list[lane].y;
        atomicMax(largest_found, key);
    }
    barrier();
    max_logit = value_of(largest_found);
    if (is_listed) {
        own = mass_of(key);
        list[lane].zw = own;
    }
    barrier();
    for (uint j = 0u; is_listed && j < n; j += 4u) {
        count_in(j, n, key, id, rank, before);
        count_in(j + 1u, n, key, id, rank, before);
        count_in(j + 2u, n, key, id, rank, before);
        count_in(j + 3u, n, key, id, rank, before);
    }
    if (is_listed && rank + 1u == top_k) {
        uvec2 sum = add_mass(before, own);
        sum_lo = sum.x;
        sum_hi = sum.y;
    }
    barrier();
    uvec2 share = mass_share(uvec2(sum_lo, sum_hi), top_p);
    if (is_listed && rank < top_k && (top_p == 1.0 || is_below(before, share))) {
        score = draw_key(draw, value_of(key) - max_logit, lowest, id);
        score = is_drawn(draw.temperature) ? score : 0xFFFFFFFFu - rank;
    }
    find_best(score, id);
    return id;
}

void main()
{
    has_bans = state.ban_stop != 0u;
    uint n_banned = has_bans ? min(state.n_stop, n_vocab) : 0u;
    top_k = min(state.top_k, n_vocab - n_banned);
    draw = read_draw();
    top_p = wanted_top_p();
    lowest = lowest_drawn();
    uint share = (n_vocab - 1u) / gl_NumWorkGroups.x + 1u, begin = gl_WorkGroupID.x * share;
    uvec4 keys = load_keys(begin + gl_LocalInvocationIndex); // asked for ahead
    uint threshold = find_threshold(max(top_k + n_banned, 1u));
    list_share(begin + gl_LocalInvocationIndex, min(begin + share, n_vocab), keys, threshold);
    if (is_last_group()) {
        bool is_sound = is_unsound == 0u;
        uint token = draw_listed();
        is_sound = is_sound && token < n_vocab;
        if (gl_LocalInvocationIndex == 0u) {
            logits[many_at + COUNT] = 0u;
        }
        step_advance(is_sound ? token : 0u, is_sound ? STATUS_OK : STATUS_NAN);
    }
}
