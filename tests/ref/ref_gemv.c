#include "tests/ref/ref_gemv.h"

#include "tests/ref/ref_batch.h"

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

void ref_add_normed(struct ref_value *x, struct ref_value *y, const float *gamma, size_t n,
                    double eps, double scale)
{
    double ssq = 0;
    for (size_t i = 0; i < n; i++) {
        ssq += y[i].value * y[i].value;
    }
    for (size_t i = 0; i < n; i++) {
        const double factor = (double)gamma[i] * ref_inv_rms(ssq, n, eps);
        x[i].value = scale * (x[i].value + factor * y[i].value);
        // The error of rms(y) is at most the errors of all of y.
        x[i].magnitude = fabs(scale) * (x[i].magnitude + 2 * fabs(factor) * y[i].magnitude);
    }
}

struct ref_value ref_gemv_glu(struct ref_value gate, struct ref_value up,
                              enum ref_activation activation)
{
    double g = gate.value;
    double value = ref_glu(g, 1, activation);
    double argument = activation == REF_GELU ? 1.6 * g * (1 + 0.044715 * g * g) : g;
    // The slope is below 1.2 but where it is that of a square; the error of exp grows with its
    // argument.
    double slope = activation == REF_RELU_SQUARED ? 2 * fabs(g) + gate.magnitude
                   : activation == REF_XIELU      ? 2 * (1 + fabs(g) + gate.magnitude)
                                                  : 1.2;
    double magnitude = slope * gate.magnitude + fabs(value) * (1 + fabs(argument));
    magnitude += activation == REF_XIELU ? 2 : 0; // of the exponential less 1
    if (activation == REF_CLAMPED) {
        value = ref_glu(g, 0, activation);
        up = (struct ref_value){fmin(fmax(up.value, -7), 7) + 1, up.magnitude + 1};
    }
    struct ref_value act = {value * up.value,
                            magnitude * fabs(up.value) + fabs(value) * up.magnitude};
    return act;
}
