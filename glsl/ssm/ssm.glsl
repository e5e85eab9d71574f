// Shared by the kernels of Mamba-2 (Dao and Gu, Transformers are SSMs, 2024). Each head has a matrix S
// (STATE_DIM, DIM) that a token changes and reads, with its time step dt and its rate of decay, which is
// negative:
//
//   S = exp(rate dt) S + b (dt x)^T,  y = S^T c + skip x,  out = y silu(z)
//
// x, b and c come from a projection by a causal convolution over TAPS tokens with a bias, and silu; dt is
// softplus of the projection with a bias. A row of the projection:
//
//   z (n_head, DIM), then at offsets of their own the channels, which are x (n_head, DIM), b (n_group,
//   STATE_DIM) and c (n_group, STATE_DIM), and for each head the input of its dt
//
// Head h has b and c of group h / (n_head / n_group). The state of a layer, f32:
//
//   ring    (TAPS, n_channel)              row p % TAPS: the projection's channels of position p
//   matrix  (n_head, STATE_DIM, DIM)
//
// At the beginning of a text the state counts as zero, whatever lies in memory, so nobody clears it. All
// data is read by fours; offsets and strides in Params are in floats, multiples of 4 except those of heads.
#include "lib/exp_log.glsl"

#if !defined(DIM) || !defined(STATE_DIM) || !defined(TAPS)
#error "DIM of a head and STATE_DIM, multiples of 16; TAPS: tokens that the convolution sees"
#endif

float softplus(float x)
{
    return max(x, 0.0) + log_positive(1.0 + exp_negative(-abs(x)));
}

vec4 silu(vec4 x)
{
    return x / (1.0 + exp(-x));
}

// Tap t of four channels, whose weights begin at `first`.
vec4 tap_of(uint first, int t)
{
    vec4 tap;
    for (int i = 0; i < 4; i++) {
        int at = i * TAPS + t;
        tap[i] = vectors[first + uint(at / 4)][at % 4];
    }
    return tap;
}
