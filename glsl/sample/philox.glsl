// Philox4x32-10, the twin of gi_philox.
//   Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3 (SC 2011).
//
// n_round is 10, in a way that the compiler cannot know: V3D's takes 5 s for the rounds one after
// the other.
uvec4 philox(uvec2 key, uvec4 counter, uint n_round)
{
    for (uint i = 0u; i < n_round; i++) {
        uint a_hi, a_lo, b_hi, b_lo;
        umulExtended(0xD2511F53u, counter.x, a_hi, a_lo);
        umulExtended(0xCD9E8D57u, counter.z, b_hi, b_lo);
        counter = uvec4(b_hi ^ counter.y ^ key.x, b_lo, a_hi ^ counter.w ^ key.y, a_lo);
        key += uvec2(0x9E3779B9u, 0xBB67AE85u);
    }
    return counter;
}
