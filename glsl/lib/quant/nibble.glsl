// Blocks of 32 nibbles in one quad: bits 4 i .. 4 i + 3 of word w hold element 8 w + i, 0..15.

// The nibbles of half a word where they lie, that is, times 1, 16, 256, 4096: an and, a conversion
// and a multiply-add a weight, and no shift. The powers of two are taken out at the end, exactly.
vec4 nibbles_in_place(uint w)
{
    return vec4(ivec4(uvec4(w) & uvec4(0xFu, 0xF0u, 0xF00u, 0xF000u)));
}

const vec4 nibble_weight = vec4(1.0, 1.0 / 16.0, 1.0 / 256.0, 1.0 / 4096.0);

// Sum of nibble * x.
float nibble_dot(uvec4 w, vec4 x[8])
{
    vec4 p = nibbles_in_place(w.x) * x[0];
    p += nibbles_in_place(w.x >> 16u) * x[1];
    p += nibbles_in_place(w.y) * x[2];
    p += nibbles_in_place(w.y >> 16u) * x[3];
    p += nibbles_in_place(w.z) * x[4];
    p += nibbles_in_place(w.z >> 16u) * x[5];
    p += nibbles_in_place(w.w) * x[6];
    p += nibbles_in_place(w.w >> 16u) * x[7];
    p *= nibble_weight;
    return (p.x + p.y) + (p.z + p.w);
}

// scale.x * nibble + scale.y of all 32.
void nibble_unpack(uvec4 w, vec2 scale, out vec4 v[8])
{
    vec4 d = scale.x * nibble_weight;
    v[0] = nibbles_in_place(w.x) * d + scale.y;
    v[1] = nibbles_in_place(w.x >> 16u) * d + scale.y;
    v[2] = nibbles_in_place(w.y) * d + scale.y;
    v[3] = nibbles_in_place(w.y >> 16u) * d + scale.y;
    v[4] = nibbles_in_place(w.z) * d + scale.y;
    v[5] = nibbles_in_place(w.z >> 16u) * d + scale.y;
    v[6] = nibbles_in_place(w.w) * d + scale.y;
    v[7] = nibbles_in_place(w.w >> 16u) * d + scale.y;
}
