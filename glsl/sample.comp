// token drawn from the logits under the settings in step_state (see ops/sample.h), and the n_probs
// largest log-probabilities.
//
//   ring    GI_RING_SLOTS entries                 (binding 0, written)
//   logits  (n_vocab) f32, then (n_partial) of { f32 value, uint id } at word `partial`  (binding 1)
//   step_state                                    (binding 2, advanced)
//   counts  GI_MAX_SLOTS grids                    (binding 3, rewritten, with HAS_COUNTS)
//
// One group. The logits are read once for a histogram of their distance from the maximum and once
// more to gather those that can matter into shared memory, where the filters are then applied
// exactly; only where more than 1,024 can matter are they read again for each step of a selection.
// The draw is the largest of (logit - max) / temperature - log(E), E an exponential variate from
// Philox(seed, { position, id, 0, 0 }): independent of order, chain length and number of candidates.
#ifndef WG_SIZE
#error "WG_SIZE: invocations of the work group"
#endif
#ifndef HAS_COUNTS
#error "HAS_COUNTS: 1 if the table is indirect"
#endif
#include "lib/common.glsl"
#include "lib/step.glsl"
#include "lib/best.glsl"
#include "lib/logits.glsl"
#include "lib/exp_log.glsl"
#include "lib/philox.glsl"
#include "lib/select.glsl"

layout(local_size_x = WG_SIZE) in;

bool is_greedy()
{
    return !(state.temperature > 1e-30);
}

// What is wanted of the filters; 0 and 1 mean off.
uint wanted_top_k()
{
    uint n_banned = state.ban_stop != 0u ? state.n_stop : 0u;
    return is_greedy() || state.top_k >= n_vocab - min(n_banned, n_vocab) ? 0u : state.top_k;
}

float wanted_top_p()
{
    return is_greedy() || !(state.top_p < 1.0) ? 1.0 : max(state.top_p, 0.0);
}

uint wanted_probs()
{
    return min(min(state.n_probs, MAX_PROBS), n_vocab);
}

// Gathers what the filters and the log-probabilities can need, if it fits; true if the draw then
// needs no more than the list.
bool try_list(uint top_k, float top_p, uint n_probs, uvec2 mass)
{
    bool has_filter = is_greedy() || top_k > 0u || top_p < 1.0;
    uint number = max(top_k, n_probs);
    Crossing at = Crossing(0u, 0u, 0u, uvec2(0u));
    if (number > 0u) {
        at = find_crossing(false, uvec2(number, 0u));
    }
    if (top_k == 0u && top_p < 1.0) {
        Crossing other = find_crossing(true, mass_share(mass, top_p));
        if (number == 0u || other.bin > at.bin) {
            at = other;
        }
    }
    uint size = at.before + at.count;
    if (size > N_LIST) {
        return false;
    }
    gather_list(at.bin, size);
    return has_filter;
}

// Ranks the elements up to the cut, n of them, and writes their log-probabilities.
void write_ranked(uint n, float log_mass)
{
    barrier();
    if (gl_LocalInvocationIndex == 0u) {
        chunk_count[0] = 0u;
    }
    barrier();
    for (uint i = gl_LocalInvocationIndex; 4u * i < n_element; i += uint(WG_SIZE)) {
        uvec4 keys, ids;
        load_quad(i, keys, ids);
        for (int c = 0; c < 4; c++) {
            if (ids[c] != NO_ID && is_kept(bin_of(keys[c]), keys[c], ids[c])) {
                uint at = min(atomicAdd(chunk_count[0], 1u), N_BIN - 1u);
                bin_count[at] = keys[c];
                bin_mass_lo[at] = ids[c];
            }
        }
    }
    barrier();
    for (uint i = gl_LocalInvocationIndex; i < n; i += uint(WG_SIZE)) {
        uint rank = 0u;
        for (uint j = 0u; j < n; j++) {
            if (is_better(bin_count[j], bin_mass_lo[j], bin_count[i], bin_mass_lo[i])) {
                rank++;
            }
        }
        float logprob = (value_of(bin_count[i]) - max_logit) - log_mass;
        ring[state.step % RING_SLOTS].probs[min(rank, MAX_PROBS - 1u)] =
            uvec2(bin_mass_lo[i], floatBitsToUint(logprob));
    }
}

void write_probs(uint n, uvec2 mass)
{
    count_bins(false);
    select_counted(false, uvec2(n, 0u));
    write_ranked(n, log_positive(mass_value(mass)));
    cut_bin = N_BIN - 1u;
    cut_key = 0u;
    cut_id = NO_ID;
}

// Moves the cut to where top_k, then top_p ends; mass is that of the whole vocabulary.
void apply_filters(uint top_k, float top_p, uvec2 mass)
{
    if (top_k > 0u) {
        count_bins(false);
        select_counted(false, uvec2(top_k, 0u));
    }
    if (top_p < 1.0) {
        count_bins(true);
        select_counted(true, mass_share(top_k > 0u ? total_mass() : mass, top_p));
    }
}

// -log(U) for a uniform U, fine-grained where it is small.
float exponential(uint word)
{
    float v = min((float(word) + 0.5) * (1.0 / 4294967296.0), 1.0 - 1.0 / 16777216.0);
    return v < 0.25 ? -log_near_one(-v) : -log_positive(1.0 - v);
}

uint draw()
{
    uvec2 seed = uvec2(state.seed_lo, state.seed_hi);
    uint position = state.n_past + state.n_tokens;
    float limit = state.min_p > 0.0 ? log_positive(min(max(state.min_p, 1e-37), 1.0)) : -3.4e38;
    uint best = 0u, best_id = NO_ID;
    for (uint i = gl_LocalInvocationIndex; 4u * i < n_element; i += uint(WG_SIZE)) {
        uvec4 keys, ids;
        load_quad(i, keys, ids);
        for (int c = 0; c < 4; c++) {
            float above = value_of(keys[c]) - max_logit;
            if (ids[c] == NO_ID || above < limit || !is_kept(bin_of(keys[c]), keys[c], ids[c])) {
                continue;
            }
            uint word = philox(seed, uvec4(position, ids[c], 0u, 0u)).x;
            float score = above / state.temperature - log_positive(exponential(word));
            uint key = key_of(floatBitsToUint(score));
            if (is_better(key, ids[c], best, best_id)) {
                best = key;
                best_id = ids[c];
            }
        }
    }
    find_best(best, best_id);
    return best_id;
}

// Writes the log-probabilities and returns the token, both of the elements that are not left out.
uint sample_token(uint largest_id, uint n_probs)
{
    uint top_k = wanted_top_k();
    float top_p = wanted_top_p();
    bool needs_mass = n_probs > 0u || (top_p < 1.0 && top_k == 0u);
    uvec2 mass = uvec2(0u);
    bool is_draw_listed = false;
    if (needs_mass || top_k > 0u) {
        count_bins(needs_mass);
        mass = total_mass();
        is_draw_listed = try_list(top_k, top_p, n_probs, mass);
    }
    if (n_probs > 0u) {
        write_probs(n_probs, mass);
    }
    if (is_greedy()) {
        return largest_id;
    }
    if (!is_draw_listed) {
        is_listed = false;
        n_element = n_vocab;
    }
    apply_filters(top_k, top_p, mass);
    return draw();
}

void select_from(uint largest_key, bool leaves_out)
{
    max_logit = value_of(largest_key);
    n_element = n_vocab;
    is_listed = false;
    has_bans = leaves_out;
}

// With ban_stop the log-probabilities are still those of all, the token is chosen among the others.
bool choose_token(inout uint key, inout uint id)
{
    uint n_probs = wanted_probs();
    select_from(key, false);
    if (state.ban_stop == 0u) {
        id = sample_token(id, n_probs);
        return true;
    }
    if (n_probs > 0u) {
        count_bins(true);
        uvec2 mass = total_mass();
        try_list(0u, 1.0, n_probs, mass);
        write_probs(n_probs, mass);
    }
    if (!find_largest_allowed(key, id)) {
        return false;
    }
    select_from(key, true);
    id = sample_token(id, 0u);
    return true;
}

void main()
{
    uint key, id;
    bool is_sound = find_largest(key, id);
    if (is_sound) { // the same in all invocations
        is_sound = choose_token(key, id);
    }
    step_advance(is_sound ? id : 0u, is_sound ? STATUS_OK : STATUS_NAN);
}
