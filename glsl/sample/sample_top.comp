// token as ops/sample/sample.h has it for a small top_k, by many groups in one dispatch, without log-probabilities.
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
// What one group does here everybody waits for, one instruction after another: step_state is read once and at once, and
// where each is compared with each several invocations share the work. Little text on purpose: a stage of persistent
// programs. On an H200 with 128,256 logits it took 16 us before the work was shared, where sample_few takes 19 and the
// three stages of sample/many.glsl 25.
#ifndef WG_SIZE
#error "WG_SIZE: invocations of the work group, a power of two"
#endif
#ifndef HAS_COUNTS
#error "HAS_COUNTS: 1 if the table is indirect"
#endif
#include "lib/common.glsl"
#include "sample/step.glsl"
#include "sample/best.glsl"
#define LOGITS_SHARED
#include "sample/logits.glsl"
#include "lib/exp_log.glsl"
#include "sample/philox.glsl"
#include "sample/mass.glsl"
#include "sample/draw.glsl"

layout(local_size_x = WG_SIZE) in;

#define COUNT 0u
#define ARRIVED 0x100000u
#define LIST 64u
#define MOST_SLOTS (WG_SIZE < 256 ? WG_SIZE : 256)
#define LIST_ROOM MOST_SLOTS // at most one for an invocation; stages share little memory
#define LOG_MOST_SLOTS uint(findMSB(MOST_SLOTS))
#define LOG_WG_SIZE uint(findMSB(WG_SIZE))
#define SKEW 37u // odd
#define NO_ID 0xFFFFFFFFu
#define INFINITE 0xFF800000u // a key: of a partial result with a NaN or an infinity

shared uint slot_key[MOST_SLOTS]; // then ranks of the list
// Of the group that draws; the first serves as counters of the slots before.
shared uint list_key[LIST_ROOM], list_id[LIST_ROOM];
shared uint mass_low[LIST_ROOM], mass_high[LIST_ROOM]; // parts of a mass, of 24 and of 20 bits
shared uint before_low[LIST_ROOM], before_high[LIST_ROOM];
shared uint threshold_found, largest_found, n_listed, n_found, sum_lo, sum_hi, is_unsound, is_last;

// Equal in all invocations.
bool has_bans; // stop ids are left out
uint top_k;    // as many as there are, at most
// Read once and early: where groups stay each look at step_state is a way to memory and back.
Draw draw;
float top_p, min_p;

bool is_allowed(uint id)
{
    return !has_bans || !is_stop_id(id);
}

//-- the list --------------------------------------------------------------------------------------

// The logarithm of a power of two of at least n.
uint count_bits(uint n)
{
    return n > 1u ? uint(findMSB(n - 1u)) + 1u : 0u;
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
        list_key[i] = 0u;
    }
    if (lane == 0u) {
        is_unsound = 0u;
        threshold_found = 0xFFFFFFFFu;
    }
    barrier();
    atomicMax(slot_key[lane & (n_slot - 1u)], key);
    if (key >= INFINITE) {
        is_unsound = 1u;
    }
    barrier();
}

// The key of a threshold that at least n logits reach; 0 if the parts are too few to say. It is that of the least slot
// with fewer than n larger ones.
uint find_threshold(uint n)
{
    uint bits = min(count_bits(2u * n), LOG_MOST_SLOTS), n_slot = 1u << bits;
    fold_parts(n_slot);
    uint share = LOG_WG_SIZE - bits, slot = gl_LocalInvocationIndex >> share;
    uint key = slot_key[slot], n_larger = 0u;
    for (uint i = gl_LocalInvocationIndex & ((1u << share) - 1u); i < n_slot; i += 1u << share) {
        n_larger += slot_key[i] > key ? 1u : 0u;
    }
    atomicAdd(list_key[slot], n_larger);
    barrier();
    if (gl_LocalInvocationIndex < n_slot && list_key[gl_LocalInvocationIndex] < n) {
        atomicMin(threshold_found, slot_key[gl_LocalInvocationIndex]);
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

// Of the group's share what reaches the threshold; `bits` are the first logits.
void list_share(uint first, uint end, uvec4 bits, uint threshold)
{
    for (uint i = first; i < end;) {
        for (uint j = 0u; j < bound(N_TOGETHER); j++) {
            uint id = i + j * uint(WG_SIZE), key = key_of(bits[j]);
            if (key >= threshold && id < end && is_allowed(id)) {
                list_token(key, id);
            }
        }
        i += N_TOGETHER * uint(WG_SIZE);
        if (i < end) {
            bits = load_logits(i);
        }
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
            list_key[at] = key;
            list_id[at] = i;
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
        list_key[i] = logits[many_at + LIST + 2u * i];
        list_id[i] = logits[many_at + LIST + 2u * i + 1u];
    }
    return n;
}

// Leaves how many tokens come before each of the list, and their masses: all invocations count, several for a token.
void count_before(uint n)
{
    uint share = LOG_WG_SIZE - count_bits(n), i = gl_LocalInvocationIndex >> share;
    uint rank = 0u, low = 0u, high = 0u;
    if (i < n) {
        uint key = list_key[i], id = list_id[i];
        for (uint j = gl_LocalInvocationIndex & ((1u << share) - 1u); j < n; j += 1u << share) {
            bool is_before = is_better(list_key[j], list_id[j], key, id);
            rank += is_before ? 1u : 0u;
            low += is_before ? mass_low[j] : 0u;
            high += is_before ? mass_high[j] : 0u;
        }
        atomicAdd(slot_key[i], rank);
        atomicAdd(before_low[i], low);
        atomicAdd(before_high[i], high);
    }
    barrier();
}

uint draw_listed()
{
    uint n = load_list(), lane = gl_LocalInvocationIndex;
    bool is_listed = lane < n;
    uint key = 0u, id = NO_ID, score = 0u, rank = 0u;
    uvec2 own = uvec2(0u), before = uvec2(0u);
    if (is_listed) {
        key = list_key[lane];
        id = list_id[lane];
        atomicMax(largest_found, key);
        slot_key[lane] = 0u;
        before_low[lane] = 0u;
        before_high[lane] = 0u;
    }
    barrier();
    max_logit = value_of(largest_found);
    if (is_listed) {
        own = mass_of(key);
        mass_low[lane] = own.x & 0xFFFFFFu;
        mass_high[lane] = own.y << 8u | own.x >> 24u;
    }
    barrier();
    count_before(n);
    if (is_listed) {
        rank = slot_key[lane];
        before = add_mass(uvec2(before_high[lane] << 24u, before_high[lane] >> 8u), uvec2(before_low[lane], 0u));
    }
    if (is_listed && rank + 1u == top_k) {
        uvec2 sum = add_mass(before, own);
        sum_lo = sum.x;
        sum_hi = sum.y;
    }
    barrier();
    uvec2 share = mass_share(uvec2(sum_lo, sum_hi), top_p);
    if (is_listed && rank < top_k && (top_p == 1.0 || is_below(before, share))) {
        score = draw_key(draw, value_of(key) - max_logit, lowest_drawn(min_p), id);
        score = is_drawn(draw.temperature) ? score : 0xFFFFFFFFu - rank;
    }
    find_best(score, id);
    return id;
}

void main()
{
    // All of step_state at once, then the logits, which are looked at last.
    draw = read_draw();
    top_p = wanted_top_p();
    min_p = state.min_p;
    uint ban_stop = state.ban_stop, n_stop = state.n_stop, wanted_k = state.top_k;
    uint share = (n_vocab - 1u) / gl_NumWorkGroups.x + 1u, begin = gl_WorkGroupID.x * share;
    uvec4 bits = load_logits(begin + gl_LocalInvocationIndex);
    has_bans = ban_stop != 0u;
    uint n_banned = has_bans ? min(n_stop, n_vocab) : 0u;
    top_k = min(wanted_k, n_vocab - n_banned);
    uint threshold = find_threshold(max(top_k + n_banned, 1u));
    list_share(begin + gl_LocalInvocationIndex, min(begin + share, n_vocab), bits, threshold);
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
