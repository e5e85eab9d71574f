// AltUp and LAuReL in double, from their formulas (glsl/altup has them too): four streams of the
// residual, and a low-rank branch beside attention. Streams are (4, n) each, row-major, of one
// token. magnitude: the sums of the magnitudes that went into a result, of as many elements.
#ifndef REF_ALTUP_H
#define REF_ALTUP_H

#include <stddef.h>

enum { REF_STREAMS = 4 };

// The router of a layer: gamma (n) of its norm, matrix (4, n), coefs (16, 4) or (4, 4).
struct ref_altup_router {
    const float *gamma, *matrix, *coefs;
    double eps;
};

// streams = x, and rows y (3, n), each as long as x.
void ref_altup_embed(const float *x, const float *y, size_t n, double *streams);
// predicted_b = c_b + sum_a c_a (coefs m)_(4 b + a), c being streams with norm(y) added to all but
// the first (y NULL: nothing), m = tanh(matrix norm(c_0) / n).
void ref_altup_predict(const float *streams, const struct ref_altup_router *router, const float *y,
                       const float *y_gamma, size_t n, double *predicted, double *magnitude);
// z = ((x + norm(y)) + (norm(x) + norm(branch))) / sqrt(2), gammas in that order.
struct ref_laurel {
    const float *x, *y, *branch;
    const float *y_gamma, *x_gamma, *branch_gamma;
    double eps;
};
void ref_laurel_join(const struct ref_laurel *laurel, size_t n, double *z, double *magnitude);
// corrected_s = p_s + (a - p_0) (1 + (coefs m)_s), a = z + norm(y), m = tanh(matrix norm(a) / n).
void ref_altup_correct(const float *predicted, const struct ref_altup_router *router,
                       const float *z, const float *y, const float *y_gamma, size_t n,
                       double *corrected, double *magnitude);
// The mean of the first of streams and of u (3, n), each as long as the first.
void ref_altup_merge(const float *first, const float *u, size_t n, double *merged,
                     double *magnitude);

// act = gelu(max(g - cutoff, 0)) u, cutoff = mean(g) + deviations * sqrt(sum (g - mean)^2 / (n -
// 1)).
void ref_sparse_glu(const float *g, const float *u, size_t n, double deviations, double *act,
                    double *cutoff);

#endif
