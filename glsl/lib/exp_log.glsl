// exp and log to a few units in the last place with plain f32 arithmetic: the built-in ones are as
// coarse as a GPU likes, and differ from GPU to GPU.
#define LN2_HI 0.693145751953125
#define LN2_LO 1.428606765330187e-6

// exp(x) for x <= 0; numbers that are not normal may be 0.
float exp_negative(float x)
{
    float n = floor(max(x, -88.0) * 1.4426950408889634 + 0.5);
    float r = (max(x, -88.0) - n * LN2_HI) - n * LN2_LO;
    float p = 1.0 + r * (1.0 / 7.0);
    p = 1.0 + r * p * (1.0 / 6.0);
    p = 1.0 + r * p * 0.2;
    p = 1.0 + r * p * 0.25;
    p = 1.0 + r * p * (1.0 / 3.0);
    p = 1.0 + r * p * 0.5;
    p = 1.0 + r * p;
    return p * uintBitsToFloat(uint(int(n) + 127) << 23u);
}

// log(1 + f) for -0.3 <= f <= 0.42, from the series of atanh(f / (2 + f)).
float log_near_one(float f)
{
    float s = f / (2.0 + f);
    float z = s * s;
    float p = 1.0 / 7.0 + z * (1.0 / 9.0 + z * (1.0 / 11.0));
    return 2.0 * s * (1.0 + z * (1.0 / 3.0 + z * (0.2 + z * p)));
}

// log(x) for a normal x > 0.
float log_positive(float x)
{
    uint bits = floatBitsToUint(x);
    float n = float(int(bits >> 23u) - 127);
    float m = uintBitsToFloat((bits & 0x007FFFFFu) | 0x3F800000u);
    if (m > 1.4142135) {
        m *= 0.5;
        n += 1.0;
    }
    return n * LN2_HI + (n * LN2_LO + log_near_one(m - 1.0));
}
