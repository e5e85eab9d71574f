// The sampler: the settings of step_state, which tokens they let pass, and the score of those that
// pass; the token with the largest score is sampled. Kernels find how many tokens come before one
// in the order of logits (larger first, then lower ids first) and how heavy these are
// (sample/mass.glsl). Nothing else knows what a setting means.
//
//   ban_stop     passes ids that are not stop ids
//   top_k        passes the first top_k of those
//   top_p        passes the fewest of the first of those whose mass reaches top_p of that of all of them
//   min_p        passes those that are at least min_p times as heavy as the first
//   temperature  score = (logit - max) / temperature - log(E), E an exponential variate from Philox(seed,
//                { position, id, 0, 0 }), shifted tokens counted: independent of order, chain length and number
//                of candidates; with a temperature of 0 the largest logit has the largest score
//
// Needs sample/best.glsl, sample/logits.glsl, lib/step_state.glsl.
#include "lib/exp_log.glsl"
#include "sample/philox.glsl"
#include "sample/mass.glsl"

// Equal in all invocations. Read once: where step_state is storage each look at it is a way to
// memory and back.
bool has_bans, is_greedy;
uint n_allowed; // tokens that bans leave
uint top_k;     // at most n_allowed
float top_p;    // 1: passes all
float lowest;   // logit - max that min_p lets pass
float temperature;
uvec2 seed;
uint position; // of the token that is sampled, in the cache

void read_sampler()
{
    uint wanted = state.top_k, ban_stop = state.ban_stop, n_stop = state.n_stop;
    float min_p = state.min_p;
    seed = uvec2(state.seed_lo, state.seed_hi);
    position = state.n_past + state.n_tokens;
    temperature = state.temperature;
    top_p = state.top_p;
    has_bans = ban_stop != 0u;
    is_greedy = !(temperature > 1e-30);
    n_allowed = params.n_vocab - (has_bans ? min(n_stop, params.n_vocab) : 0u);
    top_k = wanted > 0u ? min(wanted, n_allowed) : n_allowed;
    top_p = top_p < 1.0 ? max(top_p, 0.0) : 1.0;
    lowest = min_p > 0.0 ? log_positive(clamp(min_p, 1e-37, 1.0)) : -3.4e38;
}

bool is_allowed(uint id)
{
    return !has_bans || !is_stop_id(id);
}

//-- filters by order ------------------------------------------------------------------------------

// Returns true if top_k keeps out any token; greedy sampling needs no filter.
bool limits_number()
{
    return !is_greedy && top_k < n_allowed;
}

bool limits_mass()
{
    return !is_greedy && top_p < 1.0;
}

// The mass that the tokens which pass top_p must reach, of the mass of all that top_k passes.
uvec2 mass_goal(uvec2 mass)
{
    return mass_share(mass, top_p);
}

// Returns true if top_k and top_p pass a token with `rank` tokens before it, whose mass is `before`.
bool passes(uint rank, uvec2 before, uvec2 goal)
{
    return rank < top_k && (top_p == 1.0 || is_below(before, goal));
}

//-- scores ----------------------------------------------------------------------------------------

// -log(U) for a uniform U, fine-grained where it is small.
float exponential(uint word)
{
    float v = min((float(word) + 0.5) * (1.0 / 4294967296.0), 1.0 - 1.0 / 16777216.0);
    return v < 0.25 ? -log_near_one(-v) : -log_positive(1.0 - v);
}

// The score of a token as a key; 0, which comes after all, where min_p keeps it out.
uint score_of(uint key, uint id)
{
    float above = value_of(key) - max_logit;
    if (is_greedy) {
        return key;
    }
    if (above < lowest) {
        return 0u;
    }
    // Looked at here, since one more value that lives through full_sample spills on Mali G31 and G52.
    uint word = philox(seed, uvec4(position + state.n_shifted, id, 0u, 0u), bound(10u)).x;
    return key_of(floatBitsToUint(above / temperature - log_positive(exponential(word))));
}
