// cap * tanh(x / cap), sound for any x: tanh of some drivers overflows. Near zero, where 1 - e cancels,
// the series of tanh has a relative error below 4e-7. Needs lib/exp_log.glsl.
float soft_cap(float x, float cap)
{
    float t = abs(x / cap), z = t * t, e = exp_negative(-2.0 * t);
    float small = t * (1.0 - z * (1.0 / 3.0 - z * (2.0 / 15.0 - z * (17.0 / 315.0))));
    return sign(x) * cap * (t < 0.25 ? small : (1.0 - e) / (1.0 + e));
}
