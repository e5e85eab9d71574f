// Masses exp(logit - max) and their sums: integers in units of 2^-44, (low word, high word), so
// that the order of a sum does not matter. Needs sample/best.glsl and lib/exp_log.glsl.

float max_logit; // equal in all invocations

uvec2 add_mass(uvec2 a, uvec2 b)
{
    uint low = a.x + b.x;
    return uvec2(low, a.y + b.y + (low < a.x ? 1u : 0u));
}

uvec2 subtract_mass(uvec2 a, uvec2 b)
{
    return uvec2(a.x - b.x, a.y - b.y - (a.x < b.x ? 1u : 0u));
}

bool is_below(uvec2 a, uvec2 b)
{
    return a.y < b.y || (a.y == b.y && a.x < b.x);
}

uvec2 mass_of(uint key)
{
    float words = exp_negative(value_of(key) - max_logit) * 4096.0;
    float high = floor(words);
    return uvec2(uint((words - high) * 4294967296.0), uint(high));
}

// A mass in limbs of 24, 24 and 16 bits, which may be added up 256 times without carries.
uvec3 limbs_of(uvec2 mass)
{
    return uvec3(mass.x & 0xFFFFFFu, mass.x >> 24u | (mass.y & 0xFFFFu) << 8u, mass.y >> 16u);
}

uvec2 join_limbs(uvec3 limbs)
{
    return add_mass(uvec2(limbs.x, limbs.z << 16u), uvec2(limbs.y << 24u, limbs.y >> 8u));
}

// In units of 1.
float mass_value(uvec2 mass)
{
    return float(mass.y) * (1.0 / 4096.0) + float(mass.x) * 5.684341886080802e-14;
}

// A fraction of a mass, at least one unit, at most the mass.
uvec2 mass_share(uvec2 mass, float share)
{
    float words = float(mass.y) * share;
    float high = floor(words);
    float low = (words - high) * 4294967296.0 + float(mass.x) * share;
    float carry = floor(low * (1.0 / 4294967296.0));
    uvec2 part = uvec2(uint(min(low - carry * 4294967296.0, 4294967040.0)), uint(high + carry));
    part = part == uvec2(0u) ? uvec2(1u, 0u) : part;
    return is_below(mass, part) ? mass : part;
}
