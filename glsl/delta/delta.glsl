// Shared by the kernels of the gated delta rule (Yang et al., Gated Delta Networks, 2024). Each head
// has a matrix S (DIM, DIM) that a token changes and reads, with its decay a and its rate b:
//
//   S' = a S,  d = b (v - S'^T k),  S = S' + k d^T,  o = S^T q
//
// q, k and v come from a projection by a causal convolution over TAPS tokens and silu; q and k have
// length 1 then, and q a scale. A row of the projection, n_channel = 2 n_k_head DIM + n_head DIM:
//
//   q (n_k_head, DIM), k (n_k_head, DIM), v (n_head, DIM), then at offsets of their own the gate z
//   (n_head, DIM), and for each head what its rate and its decay come from
//
// Head h has q and k of a head that delta/keys.glsl finds. The state of a layer, f32:
//
//   ring    (TAPS, n_channel)    row p % TAPS: the projection's row of position p
//   matrix  (n_head, DIM, DIM)   row i: of element i of k
//
// At the beginning of a text the state counts as zero, whatever lies in memory, so nobody clears it.
#include "lib/exp_log.glsl"

#if !defined(DIM) || !defined(TAPS)
#error "DIM of a head, a multiple of 16; TAPS: tokens that the convolution sees"
#endif

float silu(float x)
{
    return x / (1.0 + exp(-x));
}

// log(1 + exp(x)).
float softplus(float x)
{
    return max(x, 0.0) + log_positive(1.0 + exp_negative(-abs(x)));
}

// The decay of a head, from what the projection has, its bias and its rate of decay, which is
// negative.
float decay_of(float x, float bias, float rate)
{
    return exp_negative(rate * softplus(x + bias));
}

float rate_of(float x)
{
    return 1.0 / (1.0 + exp(-x));
}

// Factor that gives a row of that sum of squares length 1.
float unit_scale(float sum)
{
    return 1.0 / max(sqrt(sum), params.eps);
}
