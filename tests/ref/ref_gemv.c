#include "ref/ref_gemv.h"

#include <math.h>

void ref_gemv(struct ref_value *y, const float *w, const float *x, const float *bias, size_t n_rows,
              size_t n_cols, double factor)
{
    for (size_t i = 0; i < n_rows; i++) {
        double sum = 0, magnitude = 0;
        for (size_t j = 0; j < n_cols; j++) {
            double product = (double)w[i * n_cols + j] * (double)x[j];
            sum += product;
            magnitude += fabs(product);
        }
        y[i].value = factor * sum + (double)bias[i];
        y[i].magnitude = fabs(factor) * magnitude + fabs((double)bias[i]);
    }
}

double ref_inv_rms(double sum_of_squares, size_t n, double eps)
{
    return 1 / sqrt(sum_of_squares / (double)n + eps);
}

void ref_turn(struct ref_value *a, struct ref_value *b, double cosine, double sine)
{
    struct ref_value first = *a, second = *b;
    a->value = first.value * cosine - second.value * sine;
    b->value = first.value * sine + second.value * cosine;
    a->magnitude = first.magnitude * fabs(cosine) + second.magnitude * fabs(sine);
    b->magnitude = first.magnitude * fabs(sine) + second.magnitude * fabs(cosine);
}

struct ref_value ref_gemv_swiglu(struct ref_value gate, struct ref_value up)
{
    double silu = gate.value / (1 + exp(-gate.value));
    // |silu'| is below 1.1; the error of exp grows with its argument.
    double silu_magnitude = 1.1 * gate.magnitude + fabs(silu) * (1 + fabs(gate.value));
    struct ref_value act = {silu * up.value,
                            silu_magnitude * fabs(up.value) + fabs(silu) * up.magnitude};
    return act;
}
