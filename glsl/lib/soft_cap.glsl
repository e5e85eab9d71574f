// cap * tanh(x / cap), sound for any x: tanh of some drivers overflows. Near zero, where 1 - e cancels,
// a convergent of the continued fraction of tanh has a relative error below 1e-10. Needs lib/exp_log.glsl.
float soft_cap(float x, float cap)
{
    float t = abs(x / cap), z = min(t * t, 1.0), e = exp_negative(-2.0 * t);
    float small = t * (945.0 + z * (105.0 + z)) / (945.0 + z * (420.0 + 15.0 * z));
    return sign(x) * cap * (t < 0.5 ? small : (1.0 - e) / (1.0 + e));
}
