// token and log-probabilities as ops/sample/sample.h has them, where few logits matter: for a small top_k, and behind
// sample_scan. What it cannot choose so it leaves to sample.comp.
//
//   ring    log-probabilities are written into the step's entry                     (binding 0)
//   logits  (n_vocab) f32, (n_partial) of { f32 value, uint id } at word `partial`,
//           (n_scan) of what sample_scan writes at word `scan`                      (binding 1)
//   step_state                                                                      (binding 2)
//   choice  (1) the token, or NO_ID                                                 (binding 3, written)
//
// One group, which reads only those logits whose group of gemv_vocab has a largest that says that they matter.
// Where n sets of logits have a largest of at least x each, n logits are no less than x, and few more. So
// the groups' largest are folded into the largest of at least 2 n slots; the n-th largest slot is a
// threshold; what reaches it is gathered from the groups whose largest does: some 1.4 n logits. Ranks and the
// masses before each come from comparing each with each: nothing depends on the order of arrival.
//
// With the default settings and 49,152 logits a token of an H200 takes 10 us more than a greedy one; reading
// all in sample.comp it was 117. The two are apart because V3D's compiler took 30 s for them in one, and takes
// 10 for both.
#ifndef WG_SIZE
#error "WG_SIZE: invocations of the work group"
#endif
#include "lib/common.glsl"
#define STEP_STATE_WRITTEN // as storage: persistent programs have all of it only so
#include "lib/step_state.glsl"
#include "sample/stop_id.glsl"
#include "sample/ring.glsl"
#include "sample/best.glsl"
#include "sample/logits.glsl"
#include "lib/exp_log.glsl"
#include "sample/philox.glsl"
#include "sample/mass.glsl"
#include "sample/draw.glsl"

layout(local_size_x = WG_SIZE) in;

layout(std430, binding = 3) restrict writeonly buffer Choice { uint choice[]; };

#define NO_ID 0xFFFFFFFFu
#define N_FEW 512u
#define FIRST_FEW 48u // that top_p is looked for among at first
#define N_COMPARE 16u // by an invocation at a time

// A persistent program has one of each with what sample/select.glsl calls so. The first half of the list holds
// elements, the second at first the largest of slots and the first rows of groups, then the masses before
// each element; bins hold ranks and masses of elements.
shared uint list_key[2u * N_FEW], list_id[2u * N_FEW];
shared uint bin_count[N_FEW], bin_mass_lo[N_FEW], bin_mass_hi[N_FEW];
#define few_key(i) list_key[i]
#define few_id(i) list_id[i]
#define few_rank(i) bin_count[i]
#define own_lo(i) bin_mass_lo[i]
#define own_hi(i) bin_mass_hi[i]
#define before_lo(i) list_key[N_FEW + (i)]
#define before_hi(i) list_id[N_FEW + (i)]
#define slot_key(i) list_key[N_FEW + (i)]
#define group_row(i) list_id[N_FEW + (i)]
shared uint n_groups_found, n_found, threshold_found, sum_lo, sum_hi;

// Equal in all invocations; of a round.
uint n_probs, top_k; // 0: not wanted
float top_p;         // 1: not wanted
bool is_greedy, has_bans, is_scanned;
uvec2 mass;    // of all logits, if is_scanned
bool is_close; // the few had half of the mass that is wanted

float lowest; // logit - max that min_p lets pass
uint best_drawn = 0u, id_drawn = NO_ID; // this invocation's

//-- the few ---------------------------------------------------------------------------------------

uint n_banned()
{
    return has_bans ? state.n_stop : 0u;
}

// The largest n for which there can be slots enough that few more than n logits reach the n-th largest.
uint most_few()
{
    uint most = min(uint(WG_SIZE) / 4u * 3u, N_FEW / 2u);
    return max(most, n_banned()) - n_banned();
}

// A power of two that is at least 2 n, or as many as there are invocations.
uint count_slots(uint n)
{
    return clamp(2u << uint(findMSB(2u * n - 1u)), 64u, min(uint(WG_SIZE), N_FEW));
}

void fold_parts(uint n_slot)
{
    uint lane = gl_LocalInvocationIndex, key = 0u;
    barrier();
    for (uint i = lane; i < n_slot; i += uint(WG_SIZE)) {
        slot_key(i) = 0u;
        few_rank(i) = 0u;
    }
    for (uint i = lane; i < n_partial; i += uint(WG_SIZE)) {
        key = max(key, key_of(logits[partial + 2u * i]));
    }
    barrier();
    atomicMax(slot_key(lane % n_slot), key);
    barrier();
}

// The key of a threshold that at least n logits reach; 0 if the parts are too few to say.
uint find_threshold(uint n)
{
    uint n_slot = count_slots(n);
    fold_parts(n_slot);
    for (uint i = gl_LocalInvocationIndex; i < n_slot * (n_slot / N_COMPARE); i += uint(WG_SIZE)) {
        uint slot = i % n_slot, first = i / n_slot * N_COMPARE, rank = 0u;
        for (uint j = first; j < bound(first + N_COMPARE); j++) {
            rank += is_better(slot_key(j), j, slot_key(slot), slot) ? 1u : 0u;
        }
        atomicAdd(few_rank(slot), rank);
    }
    barrier();
    for (uint i = gl_LocalInvocationIndex; i < n_slot; i += uint(WG_SIZE)) {
        if (few_rank(i) == n - 1u) {
            threshold_found = slot_key(i);
        }
    }
    barrier();
    return threshold_found;
}

// The groups whose largest reaches the threshold: the first row that each owns.
void find_groups(uint threshold)
{
    if (gl_LocalInvocationIndex == 0u) {
        n_groups_found = 0u;
        n_found = 0u;
    }
    barrier();
    for (uint i = gl_LocalInvocationIndex; i < n_partial; i += uint(WG_SIZE)) {
        uint id = logits[partial + 2u * i + 1u];
        if (key_of(logits[partial + 2u * i]) >= threshold && id < n_vocab) {
            uint row = id % part_rows;
            uint at = min(atomicAdd(n_groups_found, 1u), N_FEW - 1u);
            group_row(at) = id - row % block_rows + row % row_step;
        }
    }
    barrier();
}

// The logits of those groups that reach it, but no banned ones. Returns how many, more than N_FEW if they are not
// all there.
uint gather_few(uint threshold)
{
    find_groups(threshold);
    uint n_row = block_rows / row_step, n_group = min(n_groups_found, N_FEW);
    uint group = gl_LocalInvocationIndex / n_row, row = gl_LocalInvocationIndex % n_row;
    while (group < n_group) {
        uint begin = group_row(group), id = begin + row * row_step;
        uint end = min(n_vocab, begin - begin % part_rows + part_rows);
        uint key = id < end ? key_of(logits[min(id, n_vocab - 1u)]) : 0u;
        if (key >= threshold && key > 0u && !(has_bans && is_stop_id(id))) {
            uint at = min(atomicAdd(n_found, 1u), N_FEW - 1u);
            few_key(at) = key;
            few_id(at) = id;
        }
        row += uint(WG_SIZE) % n_row;
        group += uint(WG_SIZE) / n_row + (row >= n_row ? 1u : 0u);
        row -= row >= n_row ? n_row : 0u;
    }
    barrier();
    return n_groups_found <= N_FEW ? n_found : N_FEW + 1u;
}

void add_before(uint at, uvec2 before)
{
    uint old = atomicAdd(before_lo(at), before.x);
    atomicAdd(before_hi(at), before.y + (old + before.x < old ? 1u : 0u));
}

// Ranks n elements, with has_mass by the mass of those before each too.
void rank_few(uint n, bool has_mass)
{
    for (uint i = gl_LocalInvocationIndex; i < n; i += uint(WG_SIZE)) {
        uvec2 own = has_mass ? mass_of(few_key(i)) : uvec2(0u);
        own_lo(i) = own.x;
        own_hi(i) = own.y;
        before_lo(i) = 0u;
        before_hi(i) = 0u;
        few_rank(i) = 0u;
    }
    barrier();
    uint n_chunk = (n + N_COMPARE - 1u) / N_COMPARE;
    for (uint i = gl_LocalInvocationIndex; i < n * n_chunk; i += uint(WG_SIZE)) {
        uint at = i % n, first = i / n * N_COMPARE, rank = 0u;
        uvec2 before = uvec2(0u);
        for (uint j = first; j < min(first + N_COMPARE, n); j++) {
            if (is_better(few_key(j), few_id(j), few_key(at), few_id(at))) {
                rank++;
                before = add_mass(before, uvec2(own_lo(j), own_hi(j)));
            }
        }
        atomicAdd(few_rank(at), rank);
        add_before(at, before);
    }
    barrier();
}

// The mass of the first n_first of n ranked elements.
uvec2 mass_of_first(uint n, uint n_first)
{
    for (uint i = gl_LocalInvocationIndex; i < n; i += uint(WG_SIZE)) {
        if (few_rank(i) == n_first - 1u) {
            uvec2 sum = add_mass(uvec2(before_lo(i), before_hi(i)), uvec2(own_lo(i), own_hi(i)));
            sum_lo = sum.x;
            sum_hi = sum.y;
        }
    }
    barrier();
    return uvec2(sum_lo, sum_hi);
}

//-- what sample_scan found ------------------------------------------------------------------------

uvec2 scanned_mass()
{
    barrier();
    if (gl_LocalInvocationIndex == 0u) {
        sum_lo = 0u;
        sum_hi = 0u;
    }
    barrier();
    for (uint i = gl_LocalInvocationIndex; i < n_scan; i += uint(WG_SIZE)) {
        uint low = logits[scan + 4u * i], old = atomicAdd(sum_lo, low);
        atomicAdd(sum_hi, logits[scan + 4u * i + 1u] + (old + low < old ? 1u : 0u));
    }
    barrier();
    return uvec2(sum_lo, sum_hi);
}

void take_best(uint score, uint id)
{
    if (is_better(score, id, best_drawn, id_drawn)) {
        best_drawn = score;
        id_drawn = id;
    }
}

void draw_scanned()
{
    for (uint i = gl_LocalInvocationIndex; i < n_scan; i += uint(WG_SIZE)) {
        take_best(logits[scan + 4u * i + 2u], logits[scan + 4u * i + 3u]);
    }
}

//-- a round ---------------------------------------------------------------------------------------

// Writes log-probabilities and draws from n ranked elements. share: of the mass, if that is limited.
void use_few(uint n, uvec2 share)
{
    float log_mass = log_positive(mass_value(mass));
    for (uint i = gl_LocalInvocationIndex; i < n; i += uint(WG_SIZE)) {
        uint rank = few_rank(i), id = few_id(i);
        float above = value_of(few_key(i)) - max_logit;
        if (rank < n_probs) {
            ring[state.step % RING_SLOTS].probs[rank] =
                uvec2(id, floatBitsToUint(above - log_mass));
        }
        if (!is_greedy && (top_k == 0u || rank < top_k) &&
            (top_p == 1.0 || is_below(uvec2(before_lo(i), before_hi(i)), share))) {
            take_best(draw_key(above, lowest, id), id);
        }
    }
}

// Does all that a round wants with n of the largest and few more. False, in all invocations alike, if they are
// not few, or if more matter.
bool try_few(uint n)
{
    uint found = gather_few(find_threshold(n + n_banned()));
    bool is_enough = found >= max(max(top_k, n_probs), 1u) && found <= N_FEW;
    is_close = false;
    if (is_enough) {
        uvec2 share = uvec2(0u);
        rank_few(found, top_p < 1.0);
        if (top_p < 1.0) {
            uvec2 first = mass_of_first(found, top_k > 0u ? top_k : found);
            share = mass_share(top_k > 0u ? first : mass, top_p);
            is_enough = !is_below(first, share);
            is_close = !is_below(add_mass(first, first), share);
        }
        if (is_enough) {
            use_few(found, share);
        }
    }
    return is_enough;
}

// What is wanted of a round. With bans and log-probabilities the first has these, the second the rest.
void read_settings(uint round, bool is_last)
{
    has_bans = state.ban_stop != 0u && is_last;
    is_greedy = !is_last || !is_drawn();
    n_probs = round > 0u ? 0u : min(min(state.n_probs, MAX_PROBS), n_vocab);
    top_k = is_greedy ? 0u : wanted_top_k(has_bans);
    top_p = is_greedy ? 1.0 : wanted_top_p();
    is_scanned = n_scan > 0u && round == 0u;
}

// Whether the settings allow it at all.
bool is_possible()
{
    bool needs_scan = n_probs > 0u || (!is_greedy && top_k == 0u);
    return block_rows > 0u && max(top_k, n_probs) <= most_few() && (is_scanned || !needs_scan);
}

// What reaches top_p is looked for among a few first, then among as many as there may be.
bool run_round()
{
    bool is_nucleus = top_k == 0u && top_p < 1.0;
    if (is_scanned) {
        mass = scanned_mass();
        if (!is_greedy) {
            draw_scanned();
        }
    }
    uint n = max(max(top_k, n_probs), is_nucleus ? min(FIRST_FEW, most_few()) : 0u);
    bool is_done = n == 0u;
    for (uint i = 0u; i < bound(2u) && !is_done && n > 0u; i++) {
        is_done = try_few(n);
        n = is_nucleus && is_close && n < most_few() ? most_few() : 0u;
    }
    return is_done;
}

void main()
{
    uint key = 0u, id = NO_ID, n_round = state.ban_stop != 0u && state.n_probs > 0u ? 2u : 1u;
    bool is_made = true;
    for (uint round = 0u; round < n_round && is_made; round++) { // the same in all invocations
        read_settings(round, round + 1u == n_round);
        is_made = is_possible();
        if (is_made && round == 0u) {
            is_made = find_largest(key, id);
        }
        if (is_made && has_bans && is_stop_id(id)) {
            is_made = find_largest_allowed(key, id);
        }
        max_logit = value_of(key);
        lowest = lowest_drawn();
        if (is_made) {
            is_made = run_round();
        }
    }
    find_best(best_drawn, id_drawn);
    if (gl_LocalInvocationIndex == 0u) {
        choice[0u] = is_made ? (is_drawn() ? id_drawn : id) : NO_ID;
    }
}
