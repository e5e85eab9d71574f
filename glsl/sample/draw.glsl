// The draw of a token: the largest of (logit - max) / temperature - log(E), E an exponential variate
// from Philox(seed, { position, id, 0, 0 }), independent of order, chain length and number of candidates.
//
// Needs sample/best.glsl, lib/exp_log.glsl, sample/logits.glsl, sample/philox.glsl, lib/step_state.glsl.

bool is_drawn(float temperature)
{
    return temperature > 1e-30;
}

bool is_drawn()
{
    return is_drawn(state.temperature);
}

// The filters as they are wanted: 0 and 1 where they let all pass.
uint wanted_top_k(bool has_bans)
{
    uint n_allowed = n_vocab - (has_bans ? min(state.n_stop, n_vocab) : 0u);
    return state.top_k >= n_allowed ? 0u : state.top_k;
}

float wanted_top_p()
{
    float top_p = state.top_p;
    return top_p < 1.0 ? max(top_p, 0.0) : 1.0;
}

// Whether all tokens are drawn from but those that min_p keeps out.
bool draws_from_all(bool has_bans)
{
    return is_drawn() && wanted_top_k(has_bans) == 0u && wanted_top_p() == 1.0;
}

// logit - max that min_p lets pass.
float lowest_drawn(float min_p)
{
    return min_p > 0.0 ? log_positive(clamp(min_p, 1e-37, 1.0)) : -3.4e38;
}

float lowest_drawn()
{
    return lowest_drawn(state.min_p);
}

// -log(U) for a uniform U, fine-grained where it is small.
float exponential(uint word)
{
    float v = min((float(word) + 0.5) * (1.0 / 4294967296.0), 1.0 - 1.0 / 16777216.0);
    return v < 0.25 ? -log_near_one(-v) : -log_positive(1.0 - v);
}

// What a draw takes from step_state, for those who draw so often that they read it once.
struct Draw {
    uvec2 seed;
    uint position;
    float temperature;
};

Draw read_draw()
{
    return Draw(uvec2(state.seed_lo, state.seed_hi), state.n_past + state.n_tokens,
                state.temperature);
}

// The score of a token as a key; 0, which comes after all, of what is too low.
uint draw_key(Draw draw, float above, float lowest, uint id)
{
    if (above < lowest) {
        return 0u;
    }
    uint word = philox(draw.seed, uvec4(draw.position, id, 0u, 0u), bound(10u)).x;
    float score = above / draw.temperature - log_positive(exponential(word));
    return key_of(floatBitsToUint(score));
}

uint draw_key(float above, float lowest, uint id)
{
    return draw_key(read_draw(), above, lowest, id);
}
