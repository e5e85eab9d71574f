// References of the projections of a decode step, in double, written from the formulas. Beside each
// result stands its magnitude, sum |w x| carried through the same steps: what an error in the last
// place of each product could add up to.
#ifndef REF_GEMV_H
#define REF_GEMV_H

#include "tests/ref/ref_batch.h"

#include <stdbool.h>
#include <stddef.h>

struct ref_value {
    double value, magnitude;
};

// y[i] = factor * sum_j w[i][j] x[j] + bias[i];  w (n_rows, n_cols) row-major.
void ref_gemv(struct ref_value *y, const float *w, const float *x, const float *bias, size_t n_rows,
              size_t n_cols, double factor);

// 1 / sqrt(sum / n + eps)
double ref_inv_rms(double sum_of_squares, size_t n, double eps);

// (a, b) turned by the angle whose cosine and sine are given.
void ref_turn(struct ref_value *a, struct ref_value *b, double cosine, double sine);

// scale * (x[i] + y[i] * gamma[i] / rms(y)): a residual that what has a norm of its own is added
// to. x and y are overwritten.
void ref_add_normed(struct ref_value *x, struct ref_value *y, const float *gamma, size_t n,
                    double eps, double scale);

// f(gate) * up (ref_batch.h).
struct ref_value ref_gemv_glu(struct ref_value gate, struct ref_value up,
                              enum ref_activation activation);

#endif
