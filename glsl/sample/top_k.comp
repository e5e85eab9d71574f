// The top-k list, by many groups in one dispatch: with PROBS 0 the next token, sampled from the
// top_k largest logits, which ends the step; with PROBS 1 the n_probs largest log-probabilities of
// the whole vocabulary.
//
//   ring    GI_RING_SLOTS entries                                        (binding 0, written)
//   logits  with their partial results and scratch                       (binding 1)
//   step_state                                                           (binding 2, advanced)
//   counts  GI_MAX_SLOTS grids                                           (binding 3, rewritten, with HAS_COUNTS)
//
// If the largest logit of each of n sets is at least x, at least n logits reach x, and few more.
// So each group folds the partial results into the largest of at least 2 n slots and has the n-th
// largest slot for a threshold. It lists those of its share of the logits that reach it, some 1.2 n
// in all. The last group to do so samples from the list: ranks, and the masses before each, come
// from comparing each with each, so that nothing depends on the order of arrival. If the list is
// too short (hundreds of equal logits) the group looks for the top_k digit by digit.
//
// Everybody waits for the last group: step_state is read once and at once, and several invocations
// share the work for an element. Little text on purpose: it may be a stage.
#ifndef PROBS
#error "PROBS: 1 to write log-probabilities, 0 to sample"
#endif
#include "lib/common.glsl"
#include "lib/group.glsl"
#include "sample/step.glsl"
#include "sample/best.glsl"
#define LOGITS_SHARED
#include "sample/logits.glsl"
#include "sample/sampler.glsl"
#include "sample/scratch.glsl"

#define LIST_ROOM 256 // slots and tokens at most: half of it is the largest n
#define LOG_LIST_ROOM 8u
#define LOG_WG_SIZE uint(findMSB(WG_SIZE))
#define N_FOLD uint(WG_SIZE > LIST_ROOM ? WG_SIZE : LIST_ROOM)
#define SKEW 37u // odd
#define INFINITE 0xFF800000u // a key: of a partial result with a NaN or an infinity
#define BANNED 0x007FFFFFu   // a key: of -infinity, which sample/adjust.comp stores

// Arrays of slots, then of the list; for slots the second array holds counters.
shared uint slot_key[LIST_ROOM]; // then ranks
shared uint list_key[LIST_ROOM], list_id[LIST_ROOM];
shared uint mass_low[LIST_ROOM], mass_high[LIST_ROOM]; // limbs
shared uint before_low[LIST_ROOM], before_high[LIST_ROOM];
shared uint threshold_found, largest_found, n_found, sum_lo, sum_hi, is_unsound;

//-- the threshold ---------------------------------------------------------------------------------

// Returns the logarithm of a power of two of at least n.
uint count_bits(uint n)
{
    return n > 1u ? uint(findMSB(n - 1u)) + 1u : 0u;
}

// Returns the logarithm of how many invocations share the work for one of 2^bits elements.
uint count_helper_bits(uint bits)
{
    return LOG_WG_SIZE - min(bits, LOG_WG_SIZE);
}

// Returns the partial result that is folded into a place in a turn, 0 past the last. Turns are
// skewed: logits that are alike may come again and again at a distance of many rows, and are not to
// meet in one slot.
uint load_part(uint place, uint turn)
{
    uint i = turn * N_FOLD + (place + turn * SKEW) % N_FOLD;
    uint key = key_of(logits[params.partial + 2u * min(i, params.n_partial - 1u)]);
    return i < params.n_partial ? key : 0u;
}

uvec4 load_partials(uint place, uint turn)
{
    return uvec4(load_part(place, turn), load_part(place, turn + 1u), load_part(place, turn + 2u),
                 load_part(place, turn + 3u));
}

uint largest_part(uint place)
{
    uvec4 keys = uvec4(0u);
    for (uint turn = 0u; turn * N_FOLD < params.n_partial; turn += 8u) {
        keys = max(keys, max(load_partials(place, turn), load_partials(place, turn + 4u)));
    }
    return max(max(keys.x, keys.y), max(keys.z, keys.w));
}

void fold_partials(uint n_slot)
{
    barrier(); // the group may have been another before
    for (uint i = gl_LocalInvocationIndex; i < n_slot; i += uint(WG_SIZE)) {
        slot_key[i] = 0u;
        list_key[i] = 0u;
    }
    if (gl_LocalInvocationIndex == 0u) {
        is_unsound = 0u;
        threshold_found = 0xFFFFFFFFu;
        largest_found = 0u;
        n_found = 0u;
    }
    barrier();
    for (uint place = gl_LocalInvocationIndex; place < N_FOLD; place += uint(WG_SIZE)) {
        uint key = largest_part(place);
        atomicMax(slot_key[place & (n_slot - 1u)], key);
        if (key >= INFINITE) {
            is_unsound = 1u;
        }
    }
    barrier();
}

// Returns the key of a threshold that at least n logits reach, or all that are not banned; the
// least if the partial results are too few to say. It is that of the least slot with fewer than n
// larger ones.
uint find_threshold(uint n)
{
    uint bits = min(count_bits(2u * n), LOG_LIST_ROOM), n_slot = 1u << bits;
    fold_partials(n_slot);
    uint helpers = count_helper_bits(bits), helper = gl_LocalInvocationIndex & ((1u << helpers) - 1u);
    for (uint slot = gl_LocalInvocationIndex >> helpers; slot < n_slot; slot += uint(WG_SIZE) >> helpers) {
        uint key = slot_key[slot], n_larger = 0u;
        for (uint i = helper; i < n_slot; i += 1u << helpers) {
            n_larger += slot_key[i] > key ? 1u : 0u;
        }
        atomicAdd(list_key[slot], n_larger);
    }
    barrier();
    for (uint slot = gl_LocalInvocationIndex; slot < n_slot; slot += uint(WG_SIZE)) {
        if (list_key[slot] < n) {
            atomicMin(threshold_found, slot_key[slot]);
        }
    }
    barrier();
    return max(threshold_found, BANNED + 1u);
}

//-- the list --------------------------------------------------------------------------------------

// Lists what reaches the threshold of the group's share; `bits` are the first logits.
void list_share(uint first, uint end, uvec4 bits, uint threshold)
{
    for (uint i = first; i < end;) {
        for (uint j = 0u; j < bound(N_TOGETHER); j++) {
            uint id = i + j * uint(WG_SIZE), key = key_of(bits[j]);
            if (key >= threshold && id < end && is_allowed(id)) {
                list_token(key, id, uint(LIST_ROOM));
            }
        }
        i += N_TOGETHER * uint(WG_SIZE);
        if (i < end) {
            bits = load_logits(i);
        }
    }
}

// Counts, by their next digit of 8 bits, the tokens that agree with `last` in those before it.
void count_digits(uvec2 last, bool is_id, uint shift)
{
    barrier();
    for (uint i = gl_LocalInvocationIndex; i < uint(LIST_ROOM); i += uint(WG_SIZE)) {
        slot_key[i] = 0u;
    }
    barrier();
    for (uint i = gl_LocalInvocationIndex; i < params.n_vocab; i += uint(WG_SIZE)) {
        uint place = ~key_of(logits[i]), word = is_id ? i : place;
        bool is_inside = ((word ^ (is_id ? last.y : last.x)) >> shift >> 8u) == 0u;
        if (is_inside && (!is_id || place == last.x) && is_allowed(i)) {
            atomicAdd(slot_key[word >> shift & 0xFFu], 1u);
        }
    }
    barrier();
}

// Fills the list of this group with the top_k, of whose last it finds the key, upside down, and the
// id. Returns how many there are.
uint search_all()
{
    uvec2 last = uvec2(0u);
    uint rest = top_k;
    for (uint level = 0u; level < bound(8u); level++) {
        bool is_id = level >= 4u;
        uint shift = 24u - level % 4u * 8u, digit = 0u;
        count_digits(last, is_id, shift);
        for (; digit < 255u && slot_key[digit] < rest; digit++) {
            rest -= slot_key[digit];
        }
        last |= is_id ? uvec2(0u, digit << shift) : uvec2(digit << shift, 0u);
    }
    for (uint i = gl_LocalInvocationIndex; i < params.n_vocab; i += uint(WG_SIZE)) {
        uint key = key_of(logits[i]);
        bool is_listed = ~key < last.x || (~key == last.x && i <= last.y);
        if (is_listed && is_allowed(i)) {
            uint at = min(atomicAdd(n_found, 1u), uint(LIST_ROOM - 1));
            list_key[at] = key;
            list_id[at] = i;
        }
    }
    barrier();
    return min(n_found, uint(LIST_ROOM));
}

// Returns how many there are.
uint load_list(uint n_listed)
{
    if (n_listed > uint(LIST_ROOM)) { // the same in all invocations
        return search_all();
    }
    for (uint i = gl_LocalInvocationIndex; i < n_listed; i += uint(WG_SIZE)) {
        list_key[i] = logits[LIST + 2u * i];
        list_id[i] = logits[LIST + 2u * i + 1u];
    }
    return n_listed;
}

// Loads the list, and counts how many tokens come before each, and how heavy those are. Returns how
// many there are.
uint rank_list(uint n_listed)
{
    uint n = load_list(n_listed), helpers = count_helper_bits(count_bits(n));
    for (uint i = gl_LocalInvocationIndex; i < n; i += uint(WG_SIZE)) {
        atomicMax(largest_found, list_key[i]);
        slot_key[i] = 0u;
        before_low[i] = 0u;
        before_high[i] = 0u;
    }
    barrier();
    max_logit = value_of(largest_found);
    for (uint i = gl_LocalInvocationIndex; i < n; i += uint(WG_SIZE)) {
        uvec3 limbs = limbs_of(mass_of(list_key[i]));
        mass_low[i] = limbs.x;
        mass_high[i] = limbs.y;
    }
    barrier();
    for (uint i = gl_LocalInvocationIndex >> helpers; i < n; i += uint(WG_SIZE) >> helpers) {
        uint key = list_key[i], id = list_id[i], rank = 0u, low = 0u, high = 0u;
        for (uint j = gl_LocalInvocationIndex & ((1u << helpers) - 1u); j < n; j += 1u << helpers) {
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
    return n;
}

uvec2 mass_before(uint i)
{
    return join_limbs(uvec3(before_low[i], before_high[i], 0u));
}

#if PROBS
//-- log-probabilities -----------------------------------------------------------------------------

// Adds the mass of the group's share to that of all.
void add_masses(uint first, uint end)
{
    uvec2 mass = uvec2(0u);
    for (uint i = first; i < end; i += uint(WG_SIZE)) {
        mass = add_mass(mass, mass_of(key_of(logits[i])));
    }
    if (gl_LocalInvocationIndex == 0u) {
        sum_lo = 0u;
        sum_hi = 0u;
    }
    barrier();
    uint old = atomicAdd(sum_lo, mass.x);
    atomicAdd(sum_hi, mass.y + (old + mass.x < old ? 1u : 0u));
    barrier();
    if (gl_LocalInvocationIndex < 3u) {
        uvec3 limbs = limbs_of(uvec2(sum_lo, sum_hi));
        atomicAdd(logits[MASS + gl_LocalInvocationIndex], limbs[gl_LocalInvocationIndex]);
    }
}

void write_probs(uint n_listed)
{
    uvec2 mass = join_limbs(uvec3(logits[MASS], logits[MASS + 1u], logits[MASS + 2u]));
    float log_mass = log_positive(mass_value(mass));
    uint n = rank_list(n_listed);
    for (uint i = gl_LocalInvocationIndex; i < n; i += uint(WG_SIZE)) {
        if (slot_key[i] < top_k) {
            float logprob = (value_of(list_key[i]) - max_logit) - log_mass;
            ring[state.step % RING_SLOTS].probs[slot_key[i]] = uvec2(list_id[i], floatBitsToUint(logprob));
        }
    }
    if (gl_LocalInvocationIndex < 3u) {
        logits[MASS + gl_LocalInvocationIndex] = 0u;
    }
}
#else
//-- the end of the step ---------------------------------------------------------------------------

uint sample_list(uint n_listed)
{
    uint n = rank_list(n_listed), score = 0u, token = NO_ID;
    for (uint i = gl_LocalInvocationIndex; i < n; i += uint(WG_SIZE)) {
        if (slot_key[i] + 1u == min(top_k, n)) {
            uvec2 sum = add_mass(mass_before(i), mass_of(list_key[i]));
            sum_lo = sum.x;
            sum_hi = sum.y;
        }
    }
    barrier();
    uvec2 goal = mass_goal(uvec2(sum_lo, sum_hi));
    for (uint i = gl_LocalInvocationIndex; i < n; i += uint(WG_SIZE)) {
        if (passes(slot_key[i], mass_before(i), goal)) {
            uint id = list_id[i], other = score_of(list_key[i], id);
            if (is_better(other, id, score, token)) {
                score = other;
                token = id;
            }
        }
    }
    find_best(score, token);
    return token;
}
#endif

void main()
{
    // All of step_state at once, then the logits, which are looked at last.
    read_sampler();
#if PROBS
    has_bans = false;
    n_allowed = params.n_vocab;
    top_k = min(min(state.n_probs, MAX_PROBS), params.n_vocab);
    uint largest, id;
    find_largest(false, largest, id);
    max_logit = value_of(largest);
#endif
    uint share = (params.n_vocab - 1u) / gl_NumWorkGroups.x + 1u, begin = gl_WorkGroupID.x * share;
    uint first = begin + gl_LocalInvocationIndex, end = min(begin + share, params.n_vocab), n_listed;
    uvec4 bits = load_logits(first);
    uint threshold = find_threshold(max(top_k + params.n_vocab - n_allowed, 1u));
    list_share(first, end, bits, threshold);
#if PROBS
    add_masses(first, end);
#endif
    if (is_last_group(LISTED, n_listed)) {
        if (gl_LocalInvocationIndex == 0u) {
            logits[LISTED] = 0u;
        }
#if PROBS
        write_probs(n_listed);
#else
        uint token = sample_list(n_listed);
        bool is_sound = is_unsound == 0u && token < params.n_vocab;
        step_advance(is_sound ? token : 0u, is_sound ? STATUS_OK : STATUS_NAN);
#endif
    }
}
