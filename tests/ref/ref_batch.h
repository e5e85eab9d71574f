// The operations of embedding, prompt batches and attention in double, from their formulas. Each
// also gives the sum of the magnitudes that went into a result, from which a case takes its
// tolerance. Matrices are row-major without padding.
#ifndef REF_BATCH_H
#define REF_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// x = scale * row of W, and norm = x * gamma; returns the sum of squares of x.
double ref_embed(const float *row, const float *gamma, size_t n_embd, double scale, double *x,
                 double *norm);

// y (n_tokens, n_rows) = x (n_tokens, n_cols) W^T + bias; magnitude the sums of |w x| + |bias|.
struct ref_gemm {
    const float *x, *weight, *bias; // weight (n_rows, n_cols)
    size_t n_tokens, n_rows, n_cols;
};
void ref_gemm(const struct ref_gemm *gemm, double *y, double *magnitude);

// f(gate) * up: silu(g) = g / (1 + exp(-g)), gelu 0.5 g (1 + tanh(sqrt(2 / pi) (g + 0.044715
// g^3))), or max(g, 0)^2.
enum ref_activation {
    REF_SILU,
    REF_GELU,
    REF_RELU_SQUARED,
    REF_CLAMPED, // h / (1 + exp(-1.702 h)) (k + 1), h = min(g, 7), k = up between -7 and 7
    REF_RELU,    // max(g, 0)
    REF_XIELU,   // a g^2 + b g of g over 0, else c (exp(min(g, e)) - 1 - g) + b g
};
static const double ref_xielu[] = {0.8, 0.5, 1.3, -1e-6}; // a, b, c, e
double ref_glu(double gate, double up, enum ref_activation activation);

// How a router weighs experts: by the softmax of the chosen logits, of all, or 1 / (1 +
// exp(-logit)); of the last two scale times that, divided by the sum of the chosen with
// is_normalised. With bias, of n_expert, those are chosen whose weight, before scale, plus the bias
// is largest.
enum ref_gating {
    REF_GATING_CHOSEN,
    REF_GATING_ALL,
    REF_GATING_SIGMOID,
};
struct ref_router {
    enum ref_gating gating;
    bool is_normalised;
    double scale;
    const float *bias; // NULL: none
    uint32_t n_shared; // of n_used: the last experts, which are always taken
    const float *gate; // a logit whose 1 / (1 + exp(-logit)) is their share; NULL: 1
};
// The largest logits, the lowest expert on ties, and their shares; then the shared ones.
void ref_route(const float *logits, const struct ref_router *router, uint32_t n_expert,
               uint32_t n_used, uint32_t *experts, double *shares);

#endif
