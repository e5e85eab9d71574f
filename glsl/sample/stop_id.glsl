// Returns true if a token ends the answer. Needs lib/step_state.glsl.
bool is_stop_id(uint token)
{
    uvec4 hits = uvec4(0u);
    for (uint i = 0u; i < 4u; i++) {
        uvec4 is_used = uvec4(lessThan(4u * i + uvec4(0u, 1u, 2u, 3u), uvec4(state.n_stop)));
        hits |= is_used & uvec4(equal(state.stop[i], uvec4(token)));
    }
    return hits != uvec4(0u);
}
