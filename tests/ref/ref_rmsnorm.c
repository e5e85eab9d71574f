#include "tests/ref/ref_batch.h"

#include <math.h>

void ref_rmsnorm(const float *x, const float *gamma, size_t width, double eps, double *y)
{
    double sum = 0;
    for (size_t i = 0; i < width; i++) {
        sum += (double)x[i] * x[i];
    }
    for (size_t i = 0; i < width; i++) {
        y[i] = x[i] / sqrt(sum / (double)width + eps) * gamma[i];
    }
}
