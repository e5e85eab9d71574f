// cap * tanh(x / cap), sound for any x: tanh of some drivers overflows. Needs lib/exp_log.glsl.
float soft_cap(float x, float cap)
{
    float e = exp_negative(-2.0 * abs(x / cap));
    return sign(x) * cap * (1.0 - e) / (1.0 + e);
}
