// Windows and caps the scores of attention as a family does. Needs lib/exp_log.glsl, and in Params
// window and softcap.
//   WINDOW   1: a token sees the last params.window keys only, its own included
//   SOFTCAP  1: scores s become softcap * tanh(s / softcap)
#if !defined(WINDOW) || !defined(SOFTCAP)
#error "WINDOW, SOFTCAP: 1 if scores have a window, a cap"
#endif

#include "lib/soft_cap.glsl"

// The first key that a token sees, n_seen being the keys up to its own.
uint first_seen(uint n_seen)
{
#if WINDOW
    return n_seen - min(n_seen, params.window);
#else
    return 0u;
#endif
}

float cap_score(float score)
{
#if SOFTCAP
    return soft_cap(score, params.softcap);
#else
    return score;
#endif
}
